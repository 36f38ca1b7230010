package hoststate

import (
	"slices"
	"testing"

	"holdfast/engine"
	"holdfast/modules/moduletest"
)

// Programs that block a shutdown are facts; those that only delay it, or that block only
// another event, are not.
func TestProgramsThatBlockAShutdown(t *testing.T) {
	const list = "NetworkManager 0 root 812 NetworkManager sleep NetworkManager needs to turn off networks delay\n" +
		"flasher 0 root 990 systemd-inhibit shutdown:sleep firmware of the FPGA block\n" +
		"kubelet 0 root 991 kubelet shutdown Kubelet needs time to handle node shutdown delay"
	const delays = "kubelet 0 root 991 kubelet shutdown Kubelet needs time to handle node shutdown delay"
	flasher := []string{"flasher 0 root 990 systemd-inhibit shutdown:sleep firmware of the FPGA block"}
	for name, c := range map[string]struct {
		entry, blocks string
		fails         []string // files that make tools fail
		want          []string
	}{
		"none":                         {"", list, nil, nil},
		"only delays":                  {"1", delays, nil, nil},
		"one blocks":                   {"1", list, nil, flasher},
		"logind is slow once":          {"1", list, []string{"fail-busctl"}, flasher},
		"its list is not read":         {"1", list, []string{"fail-inhibit"}, []string{"one that systemd-inhibit does not list"}},
		"delays, its list is not read": {"1", delays, []string{"fail-inhibit"}, nil},
		"logind is silent":             {"1", delays, []string{"fail-busctl", "fail-inhibit", "units/systemd-logind.service"}, []string{"perhaps: systemd-logind does not answer"}},
		"no logind":                    {"1", delays, []string{"fail-busctl", "fail-inhibit"}, nil},
		"silent without an inhibitor":  {"", delays, []string{"fail-busctl", "fail-inhibit", "units/systemd-logind.service"}, nil},
	} {
		b := moduletest.NewBox(t)
		if c.entry != "" {
			b.Write("run/systemd/inhibit/"+c.entry, "")
		}
		b.Write("blocks", c.blocks)
		for _, file := range c.fails {
			b.Write(file, "active")
		}
		out := b.Run(inhibitorsScript)
		f := observer{}.Read(engine.Desired{}, engine.Outputs{"inhibitors": out}, engine.Facts{})
		if out.Code != 0 || !slices.Equal(f.Inhibitors, c.want) {
			t.Errorf("%s: exit status %d, %q, %q", name, out.Code, f.Inhibitors, out.Stderr)
		}
	}
}

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
	noList, noLogind := []string{"fail-inhibit"}, []string{"fail-busctl", "fail-inhibit"}
	for name, c := range map[string]struct {
		entry, blocks string
		fails         []string // files that make tools fail
		logind        string   // state of logind; "": inactive
		want          []string
	}{
		"none":                         {"", list, nil, "active", nil},
		"only delays":                  {"1", delays, nil, "active", nil},
		"one blocks":                   {"1", list, nil, "active", flasher},
		"logind is slow once":          {"1", list, []string{"fail-busctl"}, "active", flasher},
		"its list is not read":         {"1", list, noList, "active", []string{"one that systemd-inhibit does not list"}},
		"delays, its list is not read": {"1", delays, noList, "active", nil},
		"logind is silent":             {"1", delays, noLogind, "active", []string{engine.SilentLogind}},
		"logind starts":                {"1", delays, noLogind, "activating", []string{engine.SilentLogind}},
		"logind has failed":            {"1", delays, noLogind, "failed", nil},
		"systemd is silent, too":       {"1", delays, append(noLogind, "fail-show"), "active", []string{engine.SilentLogind}},
		"no logind":                    {"1", delays, noLogind, "", nil},
		"silent without an inhibitor":  {"", delays, noLogind, "active", nil},
	} {
		b := moduletest.NewBox(t)
		if c.entry != "" {
			b.Write("run/systemd/inhibit/"+c.entry, "")
		}
		b.Write("blocks", c.blocks)
		for _, file := range c.fails {
			b.Write(file, "")
		}
		if c.logind != "" {
			b.Write("units/systemd-logind.service", c.logind)
		}
		out := b.Run(inhibitorsScript)
		f := observer{}.Read(engine.Desired{}, engine.Outputs{"inhibitors": out}, engine.Facts{})
		if out.Code != 0 || !slices.Equal(f.Inhibitors, c.want) {
			t.Errorf("%s: exit status %d, %q, %q", name, out.Code, f.Inhibitors, out.Stderr)
		}
	}
}

package hoststate

import (
	"os"
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
		"kubelet 0 root 991 kubelet shutdown Kubelet needs time to handle node shutdown delay\n"
	for name, c := range map[string]struct {
		entry   bool
		blocked string
		want    []string
	}{
		"none":        {false, "shutdown", nil},
		"only delays": {true, "handle-power-key", nil},
		"one blocks":  {true, "shutdown:sleep", []string{"flasher 0 root 990 systemd-inhibit shutdown:sleep firmware of the FPGA block"}},
		"no logind":   {true, "", nil},
	} {
		b := moduletest.NewBox(t)
		if c.entry {
			b.Write("run/systemd/inhibit/1", "")
		}
		b.Mkdir("home/bin")
		for tool, text := range map[string]string{"busctl": "[ -n '" + c.blocked + "' ] || exit 1\necho 's \"" + c.blocked + "\"'", "systemd-inhibit": "cat <<'END'\n" + list + "END"} {
			b.Write("home/bin/"+tool, "#!/bin/sh\n"+text)
			b.Check(os.Chmod(b.Root+"/home/bin/"+tool, 0o755))
		}
		out := b.Run("PATH=" + b.Root + "/home/bin:$PATH\n" + inhibitorsScript)
		f := observer{}.Read(engine.Desired{}, engine.Outputs{"inhibitors": out}, engine.Facts{})
		if out.Code != 0 || !slices.Equal(f.Inhibitors, c.want) {
			t.Errorf("%s: exit status %d, %q, %q", name, out.Code, f.Inhibitors, out.Stderr)
		}
	}
}

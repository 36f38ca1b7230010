package hostconfig

import (
	"os/exec"
	"strings"
	"testing"

	"holdfast/engine/pathtest"
)

// TestPeerOfTheConnection: sshd is asked about the addresses of the connection, which may be link-local ones with a zone.
func TestPeerOfTheConnection(t *testing.T) {
	t.Parallel()
	for connection, want := range map[string]string{
		"10.0.0.9 50000 10.0.0.1 2222":                         "10.0.0.9 10.0.0.1 2222",
		"fd00::9 50000 fd00::1 22":                             "fd00::9 fd00::1 22",
		"fe80::9%eth0 50000 fe80::1%eth0 22":                   "fe80::9%eth0 fe80::1%eth0 22",
		"fe80::9%bond_a-b.100 50000 fe80::1%bond_a-b.100 2222": "fe80::9%bond_a-b.100 fe80::1%bond_a-b.100 2222",
		"10.0.0.9,user=root 50000 10.0.0.1 2222":               "", // that of a process above, or the loopback
		"* 50000 10.0.0.1 2222":                                "",
	} {
		cmd := exec.Command(pathtest.Shell(), "-c", wayInScript+`
find_peer
printf '%s %s %s' "$peer" "$own" "$port"`)
		cmd.Env = []string{"PATH=" + pathtest.Tools(), "SSH_CONNECTION=" + connection}
		if out, err := cmd.Output(); err != nil || want != "" && string(out) != want || strings.Contains(string(out), "10.0.0.1 2222") != strings.HasSuffix(want, "10.0.0.1 2222") {
			t.Errorf("%s: %s, %v", connection, out, err)
		}
	}
}

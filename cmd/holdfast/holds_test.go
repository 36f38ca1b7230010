package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/remote/sshtest"
	"holdfast/engine/textutil"
)

// TestHoldsQuotesJumpHosts checks that holds prints the refusal of a jump host on one line that is safe for a terminal, without sensitive values.
func TestHoldsQuotesJumpHosts(t *testing.T) {
	t.Parallel()
	jump := sshtest.Start(t, sshtest.Config{Connect: func(string) (net.Conn, error) {
		return nil, errors.New("\x1b]0;x\a\nw-9: free; hunter2")
	}})
	home := t.TempDir()
	site := filepath.Join(home, "inventory.hcl")
	text := fmt.Sprintf(`
variable "token" {
  default   = "hunter2"
  sensitive = true
}
site "test" {
  ssh {
    user        = "core"
    ssh_config  = "none"
    become      = "sudo"
    identity    = %q
    known_hosts = %q
    proxy_jump  = "core@%s"
  }
}
pool "worker" {}
host "w-1" {
  address = "192.0.2.1"
  pool    = "worker"
}
`, jump.Identity, jump.KnownHosts, jump.Addr())
	if err := os.WriteFile(site, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"holds"}, {"holds", "--json"}} {
		var stderr strings.Builder
		p := exec.Command(os.Args[0])
		p.Args = append([]string{"holdfast"}, append(args, "-i", site)...) // with this first argument, the test binary is the program
		p.Env = append(os.Environ(), "SSH_AUTH_SOCK=", "HOME="+home, "XDG_STATE_HOME="+home)
		p.Stderr = &stderr
		_ = p.Run() // the exit code is checked below
		said := stderr.String()
		if got := p.ProcessState.ExitCode(); got != int(engine.ExitUnreachable) || !strings.HasPrefix(said, "w-1: unreachable: ") {
			t.Fatalf("%q: exit status %d: %q", args, got, said)
		}
		if said != textutil.Printable(said) || strings.Count(said, "\n") != 1 || !strings.Contains(said, "w-9: free") || strings.Contains(said, "hunter2") {
			t.Errorf("%q: %q", args, said)
		}
	}
}

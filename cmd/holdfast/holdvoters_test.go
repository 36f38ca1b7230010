package main

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"holdfast/engine/etcd/etcdtest"
	"holdfast/engine/remote/sshtest"
)

// TestHoldOfASecondVoter checks that hold looks at the holds of the other
// members of a real cluster: of three voters it holds one with a warning, and no
// second one without --force.
func TestHoldOfASecondVoter(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 3, etcdtest.Options{TLS: true}) // without TLS, the hosts of the test cannot prove that etcd answers
	site := etcdSiteWith(t, cluster, func(c sshtest.Config) *sshtest.Server {
		h := &testHost{box: t.TempDir()}
		if err := h.start(c); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.server.Close)
		return h.server
	})
	home := t.TempDir()
	run := func(code int, pattern string, args ...string) {
		t.Helper()
		p := exec.Command(os.Args[0])
		p.Args = append([]string{"holdfast"}, append(args, "-i", site)...) // with this first argument, the test binary is the program
		p.Env = append(os.Environ(), "SSH_AUTH_SOCK=", "HOME="+home, "XDG_STATE_HOME="+home)
		text, _ := p.CombinedOutput() // the exit code is checked below
		if got := p.ProcessState.ExitCode(); got != code || !regexp.MustCompile(pattern).Match(text) {
			t.Fatalf("%q: exit status %d, want %d with %q: %s", args, got, code, pattern, text)
		}
	}

	run(4, `refused: etcd cluster main: 1 of 3 voters would be left without etcd-0, etcd-1, the quorum is 2; nothing was held`, "hold", "etcd-0", "etcd-1", "--reason", "fans")
	run(0, `(?s)^no host is held`, "holds")
	run(0, `(?s)warning: etcd cluster main: 2 of 3 voters would be left without etcd-0, the quorum is 2\n.*etcd-0: held`, "hold", "etcd-0", "--reason", "DIMM swap")
	run(4, `refused: etcd cluster main: 1 of 3 voters would be left without etcd-1, the quorum is 2 \(etcd-0 is held by .* for "DIMM swap"\); nothing was held`, "hold", "etcd-1", "--reason", "fans")
	run(0, `(?s)warning: etcd cluster main: 1 of 3 voters would be left without etcd-1, .*etcd-1: held`, "hold", "etcd-1", "--reason", "fans", "--force")
	run(0, `etcd-1: released`, "release", "etcd-0", "etcd-1")

	cluster.Members[2].Stop()
	run(4, `refused: etcd cluster main: 1 of 3 voters would be left without etcd-1, the quorum is 2 \(etcd-2 .*\); nothing was held`, "hold", "etcd-1", "--reason", "fans")
}

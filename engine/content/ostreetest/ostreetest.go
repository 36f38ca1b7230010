// Package ostreetest runs the ostree tool on repositories of tests. Without the tool it skips the test.
package ostreetest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Run runs the tool on a repository, and returns its standard output; after an error it returns all output.
func Run(t *testing.T, repo string, args ...string) (string, error) {
	t.Helper()
	tool, err := exec.LookPath("ostree")
	if err != nil {
		t.Skip("there is no ostree here")
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), tool, append([]string{"--repo=" + repo}, args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return strings.TrimSpace(stdout.String() + stderr.String()), err
	}
	return strings.TrimSpace(stdout.String()), nil
}

// MustRun is Run for commands that must succeed.
func MustRun(t *testing.T, repo string, args ...string) string {
	t.Helper()
	out, err := Run(t, repo, args...)
	if err != nil {
		t.Fatalf("ostree %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

// SignCommit signs a commit with a new GPG key, and returns the file of the public key. Without gpg it skips the test.
func SignCommit(t *testing.T, repo, commit string) (key string) {
	t.Helper()
	if _, err := exec.LookPath("gpg"); err != nil {
		t.Skip("there is no gpg here")
	}
	home, key := filepath.Join(t.TempDir(), "gpg"), filepath.Join(t.TempDir(), "key")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	gpg := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), "gpg", append([]string{"--homedir", home, "--batch", "--quiet", "--passphrase", ""}, args...)...).CombinedOutput(); err != nil {
			t.Skipf("gpg %v: %v: %s", args, err, out)
		}
	}
	gpg("--quick-generate-key", "lab@example.org", "ed25519", "sign", "never")
	gpg("--output", key, "--export", "lab@example.org")
	t.Cleanup(func() { _ = exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run() }) // gpg-agent also ends when its folder is removed
	MustRun(t, repo, "gpg-sign", "--gpg-homedir="+home, commit, "lab@example.org")
	return key
}

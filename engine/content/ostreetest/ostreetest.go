// Package ostreetest runs the ostree tool on repositories of tests. Without the tool it skips the test.
package ostreetest

import (
	"bytes"
	"os/exec"
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

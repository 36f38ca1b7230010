package scenario

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/cmd/holdfast-lab/internal/lab"
)

// TestEndedRunEndsCommands checks that the end of a run, as after a signal, ends the command that a scenario waits for, with its
// children, and the later ones of the scenario. A scenario that runs at the same time goes on.
func TestEndedRunEndsCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := lab.Open(filepath.Join(dir, "lab"), nil)
	if err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		// The shell has another environment, its child another folder, and both ignore gentle signals.
		"ended": "! exec env -i sh -c 'trap \"\" INT TERM QUIT; (cd /; exec sleep 1000) & echo $! >" + pipe + "; wait'\n! exec sleep 1000\nexec sleep 1000\n",
		"other": "exec sleep 0.2\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name+".txtar"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(ctx context.Context, name string) *trial {
		none := func() (string, error) { return "", nil } // the scenarios do not start holdfast
		return (&lane{Runner: &Runner{Hasty: none}, Lab: l}).runFile(ctx, script{name: name}, filepath.Join(dir, name+".txtar"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan *trial)
	go func() { ended <- run(ctx, "ended") }()
	pid, err := os.ReadFile(pipe)
	if err != nil {
		t.Fatal(err)
	}
	other := make(chan *trial)
	go func() { other <- run(t.Context(), "other") }()
	cancel()
	if got := <-ended; !got.failed || !strings.Contains(got.log.String(), "[signal: killed]") {
		t.Errorf("failed %v: %s", got.failed, got.log.String())
	}
	for gone := false; !gone; time.Sleep(5 * time.Millisecond) { // there is no event to wait for
		status, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/status")
		gone = err != nil || strings.Contains(string(status), "State:\tZ")
	}
	if got := <-other; got.failed {
		t.Errorf("the other scenario: %s", got.log.String())
	}
}

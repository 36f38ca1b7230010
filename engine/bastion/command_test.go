package bastion

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBastionCommandLeavesAnotherRunning checks that a successful command does
// not wait for processes it leaves behind.
func TestBastionCommandLeavesAnotherRunning(t *testing.T) {
	b := Commands{Dir: t.TempDir(), grace: 50 * time.Millisecond}
	for command, want := range map[string]int{"sleep 20 & echo done": 0, "sleep 20 & echo done; exit 3": 3} {
		began := time.Now()
		reply, err := b.Run(t.Context(), command, nil)
		if err != nil || reply.Code != want || reply.Stdout != "done\n" {
			t.Errorf("%s: %+v, %v", command, reply, err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: it took %s", command, took)
		}
	}
}

// TestBastionCommandIsEndedWhole checks that a timeout ends a command with all
// its processes, even if they ignore SIGTERM.
func TestBastionCommandIsEndedWhole(t *testing.T) {
	for name, command := range map[string]string{
		"obedient":        `sleep 60 & echo $! >pid; wait`,
		"stubborn":        `trap '' TERM; sleep 60 & echo $! >pid; wait; sleep 60`,
		"stubborn, quiet": `(trap '' TERM; exec sleep 60) >/dev/null 2>&1 & echo $! >pid; wait`,
	} {
		t.Run(name, func(t *testing.T) {
			b := Commands{Dir: t.TempDir(), grace: 300 * time.Millisecond}
			ctx, timeOut := context.WithCancelCause(t.Context())
			ended := make(chan error)
			go func() {
				_, err := b.Run(ctx, command, nil)
				ended <- err
			}()
			pid := ""
			waitUntil(t, "it has started nothing", func() bool {
				text, _ := os.ReadFile(filepath.Join(b.Dir, "pid")) // until the file is there
				pid = strings.TrimSpace(string(text))
				return pid != ""
			})
			timeOut(context.DeadlineExceeded)
			if err := <-ended; err == nil {
				t.Error("it ended well")
			}
			waitUntil(t, "what it has started goes on", func() bool { return !isProcessRunning(pid) })
		})
	}
}

// waitUntil waits until a condition is met, for which there is no event.
func waitUntil(t *testing.T, otherwise string, isMet func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !isMet(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal(otherwise)
		}
	}
}

// isProcessRunning reports whether a process runs. A zombie does not.
func isProcessRunning(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}

// TestBastionCommandOutputIsBounded checks that only the beginning of each stream of a command is kept, and that the
// command still ends well.
func TestBastionCommandOutputIsBounded(t *testing.T) {
	reply, err := Commands{Dir: t.TempDir()}.Run(t.Context(), "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2", nil)
	if err != nil || reply.Code != 0 || len(reply.Stdout) != maxOutput || len(reply.Stderr) != maxOutput {
		t.Errorf("%d and %d bytes, exit status %d, %v", len(reply.Stdout), len(reply.Stderr), reply.Code, err)
	}
}

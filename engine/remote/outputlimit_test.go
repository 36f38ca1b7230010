package remote_test

import (
	"context"
	"io"
	"testing"
	"time"

	"holdfast/engine/remote"
	"holdfast/engine/remote/sshtest"
)

// floodingExec returns scripts that print without end on stream. If stream is "before", a login shell prints, and the scripts
// never start.
func floodingExec(stream string) sshtest.Exec {
	block := make([]byte, 32<<10)
	return func(_ string, _ io.Reader, stdout, stderr io.Writer) int {
		if stream != "before" {
			_, _ = io.WriteString(stdout, "holdfast-ready\n")
			_, _ = io.WriteString(stderr, "holdfast-ready\n")
		}
		to := stdout
		if stream == "stderr" {
			to = stderr
		}
		for {
			if _, err := to.Write(block); err != nil {
				return 1
			}
		}
	}
}

// TestFlood checks that a script that prints without end is stopped at the limit, and that the error names the host and
// the limit.
func TestFlood(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ stream, words string }{
		{"stdout", "printed more than 3.0 MiB"},
		{"stderr", "printed more than 3.0 MiB"},
		{"before", "more than 1.0 MiB before the script started"},
	} {
		t.Run(c.stream, func(t *testing.T) {
			t.Parallel()
			h := connect(t, sshtest.Start(t, sshtest.Config{Exec: floodingExec(c.stream)}))
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			r, err := h.Run(ctx, remote.Command{Script: "yes", Become: true, MaxOutput: 3 << 20, Timeout: time.Minute})
			checkError(t, err, remote.TooMuch, "h1: run a script: ", c.words)
			if len(r.Stdout)+len(r.Stderr) > 0 {
				t.Errorf("%d and %d bytes are kept", len(r.Stdout), len(r.Stderr))
			}
		})
	}
}

// TestFloodSpares checks that other scripts on the connection continue, and that a script may print up to the limit.
func TestFloodSpares(t *testing.T) {
	t.Parallel()
	h := connect(t, sshtest.Start(t, sshtest.Config{}))
	const script = "head -c 2000000 /dev/zero"
	if r := mustRun(t, h, remote.Command{Script: script, MaxOutput: 2_000_000}); len(r.Stdout) != 2_000_000 {
		t.Errorf("%d bytes", len(r.Stdout))
	}
	_, err := h.Run(t.Context(), remote.Command{Script: script, MaxOutput: 1_999_999})
	checkError(t, err, remote.TooMuch)
	if r := mustRun(t, h, remote.Command{Script: "echo well"}); r.Stdout != "well\n" {
		t.Errorf("%q", r.Stdout)
	}
}

// TestOutputBudget checks that long outputs share a budget and wait for each other, that short outputs do not wait, and
// that a waiting script ends with its Timeout.
func TestOutputBudget(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	d := newDialer(t, remote.Options{OutputBudget: 6 << 20})
	h := dialTarget(t, d, targetOf(s))
	long := remote.Command{Script: "head -c 4000000 /dev/zero; read -r x", MaxOutput: 9 << 20}
	in, out := io.Pipe()
	long.Stdin = in
	seen := make(chan struct{})
	total := 0
	long.Stdout = func(p []byte) {
		if total += len(p); total == 4_000_000 {
			close(seen)
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := h.Run(context.Background(), long)
		ended <- err
	}()
	<-seen // the script has all of the budget now
	mustRun(t, h, remote.Command{Script: "head -c 200000 /dev/zero"})
	waiting := remote.Command{Script: "head -c 4000000 /dev/zero", MaxOutput: 9 << 20}
	late := waiting
	late.Timeout = 200 * time.Millisecond
	_, err := h.Run(t.Context(), late)
	checkError(t, err, remote.Timeout)
	_ = out.Close()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if r := mustRun(t, h, waiting); len(r.Stdout) != 4_000_000 {
		t.Errorf("%d bytes", len(r.Stdout))
	}
}

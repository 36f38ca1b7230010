package main

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// TestSignalsEndTheCommand: a lost terminal, too, must not leave hosts that go on.
func TestSignalsEndTheCommand(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(s) {
			continue // the tests run under nohup
		}
		ctx, stop := catchSignals(t.Context())
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
			t.Errorf("%s does not end the command", s)
		}
		stop()
	}
}

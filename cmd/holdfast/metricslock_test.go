package main

import (
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLockOfAPipe: another account has replaced the folder of the metrics by a pipe during the run. The run ends nevertheless.
func TestLockOfAPipe(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "metrics")
	if err := unix.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	left := make(chan struct{})
	go func() {
		lockFolder(pipe)()
		close(left)
	}()
	select {
	case <-left:
	case <-time.After(30 * time.Second):
		t.Error("waits for somebody who writes to the pipe")
	}
}

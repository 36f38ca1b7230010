package main

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestPipeForMetrics: another account has replaced the folder of the metrics by a pipe during the run. The run ends nevertheless.
func TestPipeForMetrics(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "metrics")
	if err := unix.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	read := make(chan error)
	go func() {
		lockFolder(pipe)()
		_, err := readMetrics(filepath.Join(pipe, "site.prom"))
		read <- err
	}()
	select {
	case err := <-read:
		if !errors.Is(err, unix.ENOTDIR) {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("waits for somebody who writes to the pipe")
	}
}

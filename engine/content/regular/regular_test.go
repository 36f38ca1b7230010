package regular_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/engine/content/regular"
)

// TestOpenFolder: a folder is opened, and a pipe in its place is an error, not a wait for a writer.
func TestOpenFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	root, err := regular.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := root.Lstat("pipe"); err != nil {
		t.Error(err)
	}
	if _, err := regular.OpenFolder(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) || strings.HasSuffix(err.Error(), "/.: no such file or directory") {
		t.Error(err)
	}
	opened := make(chan error)
	go func() {
		_, err := regular.OpenFolder(pipe)
		opened <- err
	}()
	select {
	case err := <-opened:
		if !errors.Is(err, unix.ENOTDIR) {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("waits for somebody who writes to the pipe")
	}
}

package journal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/engine"
)

// TestObservingLeavesNoTrace: a command that only reads leaves no lock, no owner of one, and no new file.
func TestObservingLeavesNoTrace(t *testing.T) {
	dir := t.TempDir()
	if _, err := ObserveSite(dir, "berlin", engine.HoldOwner{}); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("files afterwards: %v, %v", files, err)
	}
	unlock, err := LockSite(dir, "berlin", LockInfo{Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	var busy *BusyError
	if _, err := ObserveSite(dir, "berlin", engine.HoldOwner{}); !errors.As(err, &busy) || busy.By.Run != "r1" {
		t.Errorf("while r1 has the lock: %v", err)
	}
	unlock()
	if _, err := ObserveSite(dir, "berlin", engine.HoldOwner{}); err != nil {
		t.Errorf("after r1: %v", err)
	}
	f, err := os.Open(filepath.Join(dir, "berlin.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if by := readOwner(f); by.Run != "r1" {
		t.Errorf("the last owner is %q after a look, want r1", by.Run)
	}
	if unlock, err = LockSite(dir, "berlin", LockInfo{Run: "r2"}); err != nil {
		t.Fatal(err)
	}
	unlock()
}

// TestARunOutwaitsACommandThatReads: a run begins although a command that only reads has the lock for an instant.
func TestARunOutwaitsACommandThatReads(t *testing.T) {
	name := filepath.Join(t.TempDir(), "berlin.lock")
	open := func() *os.File {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	reader, run := open(), open()
	if err := unix.Flock(int(reader.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	pauses := 0
	endOfLook := func() {
		if pauses++; pauses == 2 {
			_ = unix.Flock(int(reader.Fd()), unix.LOCK_UN)
		}
	}
	if err := lockExclusively(run, lockTries, endOfLook); err != nil || pauses != 2 {
		t.Errorf("a look of two pauses: %v after %d pauses", err, pauses)
	}
	if err := lockExclusively(open(), lockTries, func() {}); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("while a run has the lock: %v", err)
	}
}

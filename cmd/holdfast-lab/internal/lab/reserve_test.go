package lab

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestALabIsUsedOnce checks that a second command is refused, with the name of the first, until the first ends.
func TestALabIsUsedOnce(t *testing.T) {
	t.Parallel()
	dir := makeFolder(t)
	release, err := labIn(t, dir).Reserve("test")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := labIn(t, dir).Reserve("demo"); err == nil || !strings.Contains(err.Error(), "in use by holdfast-lab test (process ") {
			t.Errorf("a second command: %v", err)
		}
	}
	release()
	if release, err = labIn(t, dir).Reserve("demo"); err != nil {
		t.Fatal(err)
	}
	release()
	if err := checkOwnFolder(dir); err != nil {
		t.Error(err)
	}
}

// TestALabFollowsNoLinks checks that a link in place of a lock does not make root change the file behind it, and that the text
// of another process is printable.
func TestALabFollowsNoLinks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{useName, lockName, serveName} {
		dir, file := makeFolder(t), filepath.Join(t.TempDir(), "other")
		_ = os.Remove(filepath.Join(dir, name)) // it may be missing
		if err := errors.Join(os.WriteFile(file, []byte("kept"), 0o600), os.Symlink(file, filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
		l := labIn(t, dir)
		_, err := l.claimFile(name, "text")
		if _, reserveErr := l.Reserve("test"); name != serveName && reserveErr == nil {
			t.Errorf("%s: reserved", name)
		}
		if kept, readErr := os.ReadFile(file); !errors.Is(err, unix.ELOOP) || string(kept) != "kept" {
			t.Errorf("%s: %v, %v: %q", name, err, readErr, kept)
		}
	}

	l := labIn(t, makeFolder(t))
	f, err := l.claimFile(useName, "\x1b[2Jtest\n")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := l.Reserve("demo"); err == nil || strings.ContainsRune(err.Error(), '\x1b') {
		t.Errorf("%q", err)
	}
}

// TestALabWaitsForNoPipe checks that a pipe in place of a lock, which somebody else has locked, is an error and no endless wait.
func TestALabWaitsForNoPipe(t *testing.T) {
	t.Parallel()
	dir := makeFolder(t)
	path := filepath.Join(dir, useName)
	if err := errors.Join(labIn(t, dir).Claim(), unix.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	other, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := labIn(t, dir).Reserve("demo"); err == nil || !strings.Contains(err.Error(), path+" is no regular file; remove it") {
		t.Error(err)
	}
}

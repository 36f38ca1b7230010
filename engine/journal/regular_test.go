package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/engine"
	"holdfast/engine/event"
)

// TestFilesMustBeRegular checks that a pipe or a folder is an error where a file should be, and that nobody waits for the
// other end of the pipe.
func TestFilesMustBeRegular(t *testing.T) {
	for kind, put := range map[string]func(string) error{
		"a pipe":   func(name string) error { return unix.Mkfifo(name, 0o600) },
		"a folder": func(name string) error { return os.Mkdir(name, 0o700) },
		"a link to a pipe": func(name string) error {
			return errors.Join(unix.Mkfifo(name+".pipe", 0o600), os.Symlink(name+".pipe", name))
		},
	} {
		dir := t.TempDir()
		for _, name := range []string{"berlin.lock", "r1.jsonl", bastionFile} {
			if err := put(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		for doing, look := range map[string]func() error{
			"observe":  func() error { _, err := ObserveSite(dir, "berlin", engine.HoldOwner{}); return err },
			"lock":     func() error { _, err := LockSite(dir, "berlin", LockInfo{Run: "r1"}); return err },
			"identity": func() error { _, err := ReadBastion(dir, Machine{}); return err },
			"read":     func() error { return Read(filepath.Join(dir, "r1.jsonl"), func(event.Event) error { return nil }) },
			"list":     func() error { hasLock(dir, "berlin", "r1"); return fs.ErrInvalid },
			"end":      func() error { IsOver(dir, "r1"); return fs.ErrInvalid },
		} {
			done := make(chan error, 1)
			go func() { done <- look() }()
			select {
			case err := <-done:
				if err == nil {
					t.Errorf("%s: %s: no error", kind, doing)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s: %s waits", kind, doing)
			}
		}
	}
}

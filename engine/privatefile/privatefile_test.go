package privatefile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWriteTakesNothingOver: another account has made the file, with a mode that lets it read and write, and has opened it. The
// new file is another one.
func TestWriteTakesNothingOver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plan")
	if err := os.WriteFile(path, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	theirs, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	if err := Write(path, []byte("ours")); err != nil {
		t.Fatal(err)
	}
	old := make([]byte, 10)
	if n, _ := theirs.Read(old); string(old[:n]) != "theirs" {
		t.Errorf("the open file has %q", old[:n])
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Error(info, err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "ours" {
		t.Errorf("%q %v", text, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Error("files are left", left, err)
	}
}

// TestWriteFollowsNoLink: a link to a file, or to nothing, is refused; a pipe does not make it wait.
func TestWriteFollowsNoLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.WriteFile(target, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		place func(path string) error
		want  string
	}{
		"link":          {func(path string) error { return os.Symlink(target, path) }, "it is a link"},
		"dangling link": {func(path string) error { return os.Symlink(filepath.Join(dir, "made"), path) }, "it is a link"},
		"pipe":          {func(path string) error { return unix.Mkfifo(path, 0o666) }, "not a regular file"},
		"folder":        {func(path string) error { return os.Mkdir(path, 0o700) }, "not a regular file"},
	} {
		path := filepath.Join(dir, name)
		if err := x.place(path); err != nil {
			t.Fatal(err)
		}
		if err := Write(path, []byte("ours")); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "theirs" {
		t.Errorf("%q %v", text, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "made")); err == nil {
		t.Error("the target of the dangling link was made")
	}
}

// TestReplaceKeepsTheMode: a new file is private, and a file that others may read stays readable for them.
func TestReplaceKeepsTheMode(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "report.html")
	for _, mode := range []os.FileMode{0o600, 0o644, 0o440} {
		if mode != 0o600 {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		if err := Replace(path, []byte(mode.String())); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || string(text) != mode.String() || info.Mode() != mode {
			t.Errorf("mode %s: %q with mode %v: %v %v", mode, text, info.Mode(), err, statErr)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("elsewhere", path); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, []byte("ours")); err == nil || !strings.Contains(err.Error(), "it is a link") {
		t.Error(err)
	}
}

// TestReplaceTakesNoModeOver: another account has made the file before, with a mode that lets everybody read and write. The new file
// is private.
func TestReplaceTakesNoModeOver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[int]os.FileMode{os.Geteuid(): 0o666, os.Geteuid() + 1: 0o600} {
		if mode := keptMode(info, uid); mode != want {
			t.Errorf("account %d of %d: %s", uid, os.Geteuid(), mode)
		}
	}
}

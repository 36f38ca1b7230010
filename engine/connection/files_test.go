package connection

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"holdfast/engine/remote"
	"holdfast/engine/remote/sshtest"
	"holdfast/modules/hostconfig/observe"
)

// TestFilesAreReadAtOnce checks that files are read byte for byte in one session, and
// that the error is about the first file that cannot be read.
func TestFilesAreReadAtOnce(t *testing.T) {
	t.Parallel()
	var sessions atomic.Int32
	s := sshtest.Start(t, sshtest.Config{Exec: func(line string, stdin io.Reader, stdout, stderr io.Writer) int {
		sessions.Add(1)
		sh := exec.Command("sh", "-c", strings.Replace(line, "sudo -n -- ", "", 1))
		sh.Stdin, sh.Stdout, sh.Stderr = stdin, stdout, stderr
		_ = sh.Run() // its exit status counts
		return sh.ProcessState.ExitCode()
	}})
	hosts := NewHosts(remote.Options{Agent: "none"}, observe.ReadFileScript)
	defer hosts.Close()
	read := hosts.readFiles(hostAt("h1", s))
	want := []string{"ca\n", "", "\x00no newline\n\n=holdfast"}
	var paths []string
	for i, text := range want {
		paths = append(paths, filepath.Join(t.TempDir(), string(rune('a'+i))))
		if err := os.WriteFile(paths[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := read(t.Context(), paths...)
	if err != nil || len(files) != len(want) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for i, text := range want {
		if string(files[i]) != text {
			t.Errorf("%s: %q, want %q", paths[i], files[i], text)
		}
	}
	if n := sessions.Load(); n != 1 {
		t.Errorf("%d sessions", n)
	}
	if _, err := read(t.Context(), paths[0], "/nowhere/cert", "/nowhere/key"); !errors.Is(err, fs.ErrNotExist) || err.Error() != "read /nowhere/cert: file does not exist" {
		t.Errorf("error %v", err)
	}
	if _, err := read(t.Context(), "/dev/null"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a device: error %v", err)
	}
}

// missingPasswordFile are secrets whose file does not exist on the bastion.
type missingPasswordFile struct{ remote.Secrets }

func (missingPasswordFile) BecomePassword(context.Context, string) ([]byte, error) {
	return nil, &fs.PathError{Op: "open", Path: "/password", Err: fs.ErrNotExist}
}

// TestAMissingFileOfTheBastion checks that an error about a file of the bastion is not taken for one about a file of the host.
func TestAMissingFileOfTheBastion(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{Sudo: "password:right"})
	hosts := NewHosts(remote.Options{Agent: "none", Secrets: missingPasswordFile{}}, observe.ReadFileScript)
	defer hosts.Close()
	if _, err := hosts.readFiles(hostAt("h1", s))(t.Context(), "/etc/cert"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

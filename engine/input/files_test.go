package input

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// makeFIFO makes a named pipe.
func makeFIFO(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestInputs checks that files and pipes can be read, that reading an unused
// pipe ends with its limit and with the context, and that devices are refused
// before they are opened.
func TestInputs(t *testing.T) {
	t.Parallel()
	well := Files{ctx: t.Context()}
	t.Run("a file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := well.ReadFile(path); string(got) != "text" || err != nil {
			t.Errorf("%q %v", got, err)
		}
	})
	t.Run("no file", func(t *testing.T) {
		if _, err := well.ReadFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
	t.Run("a pipe that somebody opens later", func(t *testing.T) {
		path := makeFIFO(t)
		go func() {
			_ = os.WriteFile(path, []byte(strings.Repeat("text", 50_000)), 0)
		}()
		if got, err := well.ReadFile(path); len(got) != 200_000 || err != nil {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
	t.Run("the end of a command's output", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		_, _ = w.WriteString("text")
		_ = w.Close()
		if got, err := well.ReadFile("/dev/fd/" + fdOf(r)); string(got) != "text" || err != nil {
			t.Errorf("%q %v", got, err)
		}
	})
	t.Run("a pipe to which nobody writes", func(t *testing.T) {
		_, err := Files{ctx: t.Context(), quiet: 100 * time.Millisecond}.ReadFile(makeFIFO(t))
		if err == nil || !strings.Contains(err.Error(), "nobody has written to the pipe for 100ms") {
			t.Error(err)
		}
	})
	t.Run("a pipe whose writer falls silent", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = r.Close(), w.Close() }()
		_, _ = w.WriteString("text")
		_, err = Files{ctx: t.Context(), quiet: 100 * time.Millisecond}.ReadFile("/dev/fd/" + fdOf(r))
		if err == nil || !strings.Contains(err.Error(), "nobody has written to the pipe for 100ms") {
			t.Error(err)
		}
	})
	t.Run("the program is stopped", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		if _, err := (Files{ctx: ctx}).ReadFile(makeFIFO(t)); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Run("a device", func(t *testing.T) {
		if _, err := well.ReadFile("/dev/zero"); err == nil || !strings.Contains(err.Error(), "device") {
			t.Error(err)
		}
		if got, err := well.ReadFile("/dev/null"); len(got) > 0 || err != nil {
			t.Errorf("%q %v", got, err)
		}
	})
}

func fdOf(f *os.File) string {
	raw, err := f.SyscallConn()
	text := ""
	if err == nil {
		_ = raw.Control(func(fd uintptr) { text = strconv.Itoa(int(fd)) })
	}
	return text
}

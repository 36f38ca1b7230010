package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Limits of input files.
const (
	maxInput   = 128 << 20   // bytes of one file
	inputQuiet = time.Minute // reading a pipe ends after this long without data
)

// Files reads the files that the operator names: inventories, documents,
// plans, keys, known_hosts. They are regular files or pipes, such as `-i
// <(command)`. Reading ends with the context, and after inputQuiet without
// data.
type Files struct {
	ctx   context.Context
	waits *Waits
	quiet time.Duration // 0: inputQuiet
}

// NewFiles returns Files whose reads end with ctx. waits lists the reads in
// progress.
func NewFiles(ctx context.Context, waits *Waits) Files { return Files{ctx: ctx, waits: waits} }

// Begin adds a wait to the list. end removes the wait.
func (in Files) Begin(text string) (end func()) { return in.waits.Begin(text) }

// ReadFile reads a whole file of at most maxInput bytes.
func (in Files) ReadFile(path string) ([]byte, error) {
	defer in.waits.Begin("reading " + path)()
	f, err := in.openInput(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxInput+1))
	switch {
	case err != nil:
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	case len(data) > maxInput:
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it is longer than %d MiB", maxInput>>20)}
	}
	return data, nil
}

// openInput opens a regular file, a folder or a pipe. On a pipe it waits for
// data or a writer, at most as long as Read waits for data.
func (in Files) openInput(path string) (*inputFile, error) {
	info, err := os.Stat(path) // first: opening a device may have side effects
	if err == nil {
		err = checkInput(path, info)
	}
	var failed *fs.PathError
	if errors.As(err, &failed) {
		failed.Op = "open"
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = checkInput(path, info)
	}
	opened := &inputFile{File: f, in: in, stop: func() bool { return true }}
	if err == nil && info.Mode().Type() == fs.ModeNamedPipe {
		opened.pipe = true
		opened.stop = context.AfterFunc(in.ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
		err = opened.awaitWriter()
	}
	if err != nil {
		_ = opened.Close()
		return nil, err
	}
	return opened, nil
}

func checkInput(path string, info fs.FileInfo) error {
	switch info.Mode().Type() {
	case 0, fs.ModeDir, fs.ModeNamedPipe:
		return nil
	}
	if info.Mode()&fs.ModeCharDevice != 0 && filepath.Clean(path) == os.DevNull {
		return nil
	}
	return &fs.PathError{Op: "open", Path: path, Err: errors.New("it is a device, a terminal or a socket; name a file or a pipe")}
}

// inputFile is an opened file, or a pipe whose reads time out.
type inputFile struct {
	*os.File
	in   Files
	pipe bool
	stop func() bool
}

// Read reads the available data. On a pipe it waits for data, at most for
// quietLimit.
func (f *inputFile) Read(p []byte) (int, error) {
	if f.pipe {
		_ = f.SetReadDeadline(time.Now().Add(f.in.quietLimit()))
		if f.in.ctx.Err() != nil {
			return 0, context.Cause(f.in.ctx)
		}
	}
	n, err := f.File.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = f.in.timeoutError()
	}
	return n, err
}

// Close closes the file.
func (f *inputFile) Close() error {
	f.stop()
	return f.File.Close()
}

func (in Files) quietLimit() time.Duration {
	if in.quiet > 0 {
		return in.quiet
	}
	return inputQuiet
}

func (in Files) timeoutError() error {
	if in.ctx.Err() != nil {
		return context.Cause(in.ctx)
	}
	return fmt.Errorf("nobody has written to the pipe for %s", in.quietLimit())
}

// awaitWriter waits for data or a writer: a read before that returns the end of the file at once.
func (f *inputFile) awaitWriter() error {
	const tick = 50 * time.Millisecond
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	for until := time.Now().Add(f.in.quietLimit()); time.Now().Before(until) && f.in.ctx.Err() == nil; {
		ready := 0
		err := raw.Control(func(fd uintptr) {
			fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			ready, _ = unix.Poll(fds, int(tick.Milliseconds())) // the loop repeats an interrupted call
		})
		if err != nil || ready > 0 {
			return err
		}
	}
	return &fs.PathError{Op: "read", Path: f.Name(), Err: f.in.timeoutError()}
}

// inputFS is the file system below a folder, with the limits of inputs.
type inputFS struct {
	in  Files
	dir string
}

// FS returns the file system below a folder, with the limits of Files.
func (in Files) FS(dir string) fs.FS { return inputFS{in: in, dir: dir} }

func (f inputFS) resolvePath(op, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return filepath.Join(f.dir, filepath.FromSlash(name)), nil
}

// Open opens a file.
func (f inputFS) Open(name string) (fs.File, error) {
	path, err := f.resolvePath("open", name)
	if err != nil {
		return nil, err
	}
	return f.in.openInput(path)
}

// ReadFile reads a whole file.
func (f inputFS) ReadFile(name string) ([]byte, error) {
	path, err := f.resolvePath("open", name)
	if err != nil {
		return nil, err
	}
	return f.in.ReadFile(path)
}

// Stat describes a file.
func (f inputFS) Stat(name string) (fs.FileInfo, error) {
	path, err := f.resolvePath("stat", name)
	if err != nil {
		return nil, err
	}
	defer f.in.waits.Begin("looking at " + path)()
	return os.Stat(path)
}

// ReadDir lists a folder.
func (f inputFS) ReadDir(name string) ([]fs.DirEntry, error) {
	path, err := f.resolvePath("open", name)
	if err != nil {
		return nil, err
	}
	defer f.in.waits.Begin("reading folder " + path)()
	return os.ReadDir(path)
}

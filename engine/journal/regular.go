package journal

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// openRegular opens a regular file. A pipe in its place is an error: a command that waited for the other end would never answer.
func openRegular(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("it is not a regular file; remove it")}
	}
	if err != nil {
		_ = f.Close() // nothing was read or written
		return nil, err
	}
	return f, nil
}

// readSmallFile reads a file as far as maxLock.
func readSmallFile(path string) ([]byte, error) {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return io.ReadAll(io.LimitReader(f, maxLock))
}

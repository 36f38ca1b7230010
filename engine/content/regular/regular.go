// Package regular opens regular files below a folder. It follows no link, and does not wait for a pipe.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// OpenFolder opens a folder.
func OpenFolder(path string) (*os.Root, error) {
	root, err := os.OpenRoot(path + "/.") // without the dot, a pipe in place of the folder would be opened
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		err = &fs.PathError{Op: "open", Path: path, Err: failed.Err}
	}
	return root, err
}

// Open opens a file for reading. No part of the path may be a link, also none that stays in the folder: a link can lead
// to a file that must not leave the folder under any name.
func Open(root *os.Root, path string) (*os.File, fs.FileInfo, error) {
	f, err := openPath(root, path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		_ = f.Close() // read only
		return nil, nil, err
	}
	return f, info, nil
}

func openPath(root *os.Root, path string) (*os.File, error) {
	if !fs.ValidPath(path) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrInvalid}
	}
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	names := strings.Split(path, "/")
	for i, name := range names {
		flags := unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK
		if i < len(names)-1 {
			flags |= unix.O_DIRECTORY
		}
		fd, err := unix.Openat(int(f.Fd()), name, flags, 0)
		_ = f.Close() // read only
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		f = os.NewFile(uintptr(fd), path)
	}
	return f, nil
}

// ReadFile reads a file that has at most limit bytes.
func ReadFile(root *os.Root, path string, limit int64) ([]byte, error) {
	f, info, err := Open(root, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

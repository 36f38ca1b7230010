// Package regular opens regular files below a folder. It follows no link out of the folder, and does not wait for a
// pipe.
package regular

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Open opens a file for reading.
func Open(root *os.Root, path string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
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

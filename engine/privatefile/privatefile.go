// Package privatefile writes files into folders that other accounts may write to,
// such as /tmp. Except with Publish, only their owner may read new files.
package privatefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Write replaces a file. The new file always has the mode 0600 and belongs to the caller.
// Write follows no link, and changes nothing in place:
// a link or a pipe at the path is an error.
func Write(path string, data []byte) error {
	return write(path, data, 0o600, false)
}

// Replace is Write, but a file of the caller keeps its mode, so that others who
// may read it still can. The file of another account is replaced by a private one.
func Replace(path string, data []byte) error {
	return write(path, data, 0o600, true)
}

// Publish is Write for a file that every account may read. The file has the mode 0644.
func Publish(path string, data []byte) error {
	return write(path, data, 0o644, false)
}

func write(path string, data []byte, mode fs.FileMode, keepMode bool) error {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return &fs.PathError{Op: "open", Path: path, Err: errors.New("it is a link; name the file that it leads to, or remove the link")}
	case !info.Mode().IsRegular():
		return &fs.PathError{Op: "open", Path: path, Err: errors.New("it is not a regular file; name another one")}
	case keepMode:
		mode = keptMode(info, os.Geteuid())
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".holdfast-*") // with the mode 0600
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return &fs.PathError{Op: "open", Path: path, Err: failed.Err}
	} else if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is gone if all went well
	_, err = f.Write(data)
	if err == nil && mode != 0o600 {
		err = f.Chmod(mode)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(f.Name(), path)
}

// keptMode returns the mode that a new file takes over from an old one. In a folder that others may write to, another account may
// have made the old file beforehand, to read the new one.
func keptMode(old fs.FileInfo, uid int) fs.FileMode {
	if owner, ok := old.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != uid {
		return 0o600
	}
	return old.Mode().Perm()
}

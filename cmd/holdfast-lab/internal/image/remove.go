package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// immutable is FS_IMMUTABLE_FL of include/uapi/linux/fs.h, which package unix does not have.
const immutable = 0x10

// Remove removes a file or a folder, even one with ostree deployments: their roots are immutable, so a plain rm fails.
func Remove(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return SetImmutable(name, false)
	})
	if err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return os.RemoveAll(path)
}

// SetImmutable makes a file or a folder immutable, or mutable again. It does nothing where the file system or the
// rights of the process do not allow it.
func SetImmutable(path string, on bool) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if want := setBit(flags, on); err == nil && want != flags {
		err = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(want))
	}
	if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPERM) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

func setBit(flags uint32, on bool) uint32 {
	if on {
		return flags | immutable
	}
	return flags &^ immutable
}

package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// These constants are in include/uapi/linux/fs.h and ext4.h of Linux. Package
// unix does not have them.
const (
	ioctlThaw         = 0xC0045878 // FITHAW
	ioctlExt4Shutdown = 0x8004587D // EXT4_IOC_SHUTDOWN
	noLogFlush        = 2          // EXT4_GOING_FLAGS_NOLOGFLUSH
)

// closeTimeout limits the wait for a filesystem that is still in use.
const closeTimeout = 10 * time.Second

// Mount mounts the ext4 filesystem on the device.
func Mount(device, dir string) error {
	if err := unix.Mount(device, dir, "ext4", 0, ""); err != nil {
		return fmt.Errorf("mount %s on %s: %w", device, dir, err)
	}
	return nil
}

// Unmount thaws and unmounts the filesystem, and waits until it is closed. A host
// that is killed may leave its filesystem frozen by ostree. If nobody thaws the
// filesystem before it is unmounted, it vanishes from the list of mounts, but
// stays in use.
func Unmount(device, dir string) error {
	thawErr := sendIoctl(dir, ioctlThaw, 0)
	if errors.Is(thawErr, unix.EINVAL) || errors.Is(thawErr, unix.EIO) {
		thawErr = nil // the filesystem is not frozen, or is shut down
	}
	if err := unix.Unmount(dir, 0); err != nil {
		return errors.Join(fmt.Errorf("unmount %s: %w", dir, err), thawErr)
	}
	return errors.Join(waitClosed(filepath.Base(device)), thawErr)
}

func waitClosed(name string) error {
	for deadline := time.Now().Add(closeTimeout); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat("/sys/fs/ext4/" + name); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("close filesystem on %s: still in use after %s", name, closeTimeout)
		}
	}
}

// Lose makes the filesystem drop all data that it has not written yet, like a
// power cut.
// The caller must unmount it afterwards.
func Lose(dir string) error {
	if err := sendIoctl(dir, ioctlExt4Shutdown, noLogFlush); err != nil {
		return fmt.Errorf("shut down filesystem %s: %w", dir, err)
	}
	return nil
}

func sendIoctl(dir string, request uintptr, argument uint32) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open mount point: %w", err)
	}
	defer func() { _ = f.Close() }()
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(&argument)))
	if errno != 0 {
		return errno
	}
	return nil
}

// MountBoot mounts an overlay on /boot of a directory host. ostree freezes the
// filesystem of /boot when it writes boot entries. Without the overlay, this
// would freeze the filesystem of the machine. An overlay cannot be frozen.
func MountBoot(boot, state string) error {
	upper, work := filepath.Join(state, "boot.upper"), filepath.Join(state, "boot.work")
	for _, dir := range []string{upper, work} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make boot overlay: %w", err)
		}
	}
	opts := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", boot, upper, work)
	if err := unix.Mount("overlay", boot, "overlay", 0, opts); err != nil {
		return fmt.Errorf("mount boot overlay: %w", err)
	}
	return nil
}

// UnmountBoot unmounts the overlay. Its files stay in the state folder.
func UnmountBoot(boot string) error {
	if err := unix.Unmount(boot, 0); err != nil {
		return fmt.Errorf("unmount boot overlay: %w", err)
	}
	return nil
}

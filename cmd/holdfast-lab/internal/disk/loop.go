// Package disk manages the disk of a host: an image file behind two loop devices,
// and the filesystem operations for power on and off. The upper device has the
// filesystem. The lower device can be slowed down. Loop devices are opened with
// autoclear: the kernel removes a device when its last user closes it, even if
// the lab is killed.
package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Loop is an attached pair of loop devices.
type Loop struct {
	lower, upper *os.File
}

// Attach puts an image file behind a new pair of loop devices. Both use direct
// I/O. So the page cache has the content only once, and a limit on the lower
// device has an effect.
func Attach(image string) (*Loop, error) {
	if err := waitFree(image); err != nil {
		return nil, err
	}
	lower, err := attachOne(image)
	if err != nil {
		return nil, err
	}
	upper, err := attachOne(lower.Name())
	if err != nil {
		return nil, errors.Join(err, lower.Close())
	}
	return &Loop{lower: lower, upper: upper}, nil
}

// waitFree waits until no loop device uses the image. The processes of a killed
// supervisor may still be ending. Two mounts would destroy the filesystem.
func waitFree(image string) error {
	for deadline := time.Now().Add(closeTimeout); ; time.Sleep(10 * time.Millisecond) {
		used, err := inUse(image)
		if err != nil {
			return fmt.Errorf("look for users of %s: %w", image, err)
		}
		if !used {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("attach %s: another loop device still uses it after %s", image, closeTimeout)
		}
	}
}

func inUse(image string) (bool, error) {
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return false, err
	}
	for _, f := range files {
		backing, err := os.ReadFile(f)
		if err == nil && strings.TrimSpace(string(backing)) == image {
			return true, nil
		}
	}
	return false, nil
}

// Device returns the path of the device with the filesystem.
func (l *Loop) Device() string { return l.upper.Name() }

// Lower returns the path of the lower device, which can be slowed down.
func (l *Loop) Lower() string { return l.lower.Name() }

// Close closes both devices. They vanish when the filesystem is unmounted.
func (l *Loop) Close() error { return errors.Join(l.upper.Close(), l.lower.Close()) }

func attachOne(backing string) (*os.File, error) {
	file, err := os.OpenFile(backing, os.O_RDWR|unix.O_DIRECT, 0)
	if err != nil {
		return nil, fmt.Errorf("open backing file: %w", err)
	}
	defer func() { _ = file.Close() }()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open loop control: %w", err)
	}
	defer func() { _ = control.Close() }()
	for range 100 { // another process may take the free device first
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("find free loop device: %w", err)
		}
		dev, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", n), os.O_RDWR, 0)
		if err != nil {
			return nil, fmt.Errorf("open loop device: %w", err)
		}
		err = unix.IoctlLoopConfigure(int(dev.Fd()), &unix.LoopConfig{
			Fd:   uint32(file.Fd()),
			Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR | unix.LO_FLAGS_DIRECT_IO},
		})
		if err == nil {
			return dev, nil
		}
		_ = dev.Close()
		if !errors.Is(err, unix.EBUSY) {
			return nil, fmt.Errorf("attach %s to loop device: %w", filepath.Base(backing), err)
		}
	}
	return nil, fmt.Errorf("attach %s: no loop device stays free", filepath.Base(backing))
}

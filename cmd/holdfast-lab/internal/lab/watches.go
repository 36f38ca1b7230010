package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"holdfast/cmd/holdfast-lab/internal/netns"
)

// watchLimit is the limit of inotify instances of the machine, which all labs share.
type watchLimit struct {
	setting string // file of the kernel
	saved   string // file with the limit that the machine had before the first lab
	lock    string // folder that all labs lock
}

var machineWatches = watchLimit{
	setting: "/proc/sys/fs/inotify/max_user_instances",
	saved:   "/run/holdfast-lab.inotify",
	lock:    "/run",
}

// watches is enough for hundreds of hosts. Each systemd uses about five
// inotify instances, so the kernel's default of 128 is used up at 25 hosts.
const watches = 8192

// raiseLimit raises the limit for a lab whose network namespace exists.
func (w watchLimit) raiseLimit() error {
	return w.doLocked(func() error {
		raw, err := os.ReadFile(w.setting)
		if err != nil {
			return err
		}
		if n, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil && n >= watches {
			return nil
		}
		if err := os.WriteFile(w.saved, raw, 0o600); err != nil {
			return err
		}
		return os.WriteFile(w.setting, []byte(strconv.Itoa(watches)), 0)
	})
}

// restoreLimit restores the limit that the machine had before the first lab, unless another lab is up. others returns the network
// namespaces of the other labs.
func (w watchLimit) restoreLimit(others func() ([]netns.Namespace, error)) error {
	return w.doLocked(func() error {
		up, err := others()
		if err != nil || len(up) > 0 {
			return err
		}
		raw, err := os.ReadFile(w.saved)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return errors.Join(os.WriteFile(w.setting, raw, 0), os.Remove(w.saved))
	})
}

func (w watchLimit) doLocked(do func() error) error {
	dir, err := os.Open(w.lock)
	if err != nil {
		return fmt.Errorf("set inotify limit: %w", err)
	}
	defer func() { _ = dir.Close() }() // this also releases the lock
	if err = unix.Flock(int(dir.Fd()), unix.LOCK_EX); err == nil {
		err = do()
	}
	if err != nil {
		return fmt.Errorf("set inotify limit: %w", err)
	}
	return nil
}

// listOtherLabs returns the network namespaces of labs in other folders.
func (l *Lab) listOtherLabs() ([]netns.Namespace, error) {
	all, err := netns.List(namePrefix)
	var others []netns.Namespace
	for _, n := range all {
		if n != l.space {
			others = append(others, n)
		}
	}
	return others, err
}

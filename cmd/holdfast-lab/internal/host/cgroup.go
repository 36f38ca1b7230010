package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const cgroupMount = "/sys/fs/cgroup"

// cgroup is the control group of a host. The supervisor mounts the version 2
// hierarchy over /sys/fs/cgroup in its own mount namespace. So the layout is the
// same on all machines, with version 2 alone or with both versions.
type cgroup string

func enterCgroups(lab, name string) (cgroup, error) {
	if err := mountCgroups(); err != nil {
		return "", err
	}
	parent := filepath.Join(cgroupMount, lab)
	own := filepath.Join(parent, "supervisor-"+name)
	group := filepath.Join(parent, name)
	for _, dir := range []string{own, group} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", fmt.Errorf("make control group: %w", err)
		}
	}
	if err := os.WriteFile(own+"/cgroup.procs", []byte("0"), 0); err != nil {
		return "", fmt.Errorf("enter control group: %w", err)
	}
	return cgroup(group), nil
}

// mountCgroups mounts the version 2 hierarchy. On a machine with version 2 alone
// it does nothing, because the kernel would refuse a second mount.
func mountCgroups() error {
	var fs unix.Statfs_t
	if err := unix.Statfs(cgroupMount, &fs); err != nil {
		return fmt.Errorf("look at control groups: %w", err)
	}
	if fs.Type == unix.CGROUP2_SUPER_MAGIC {
		return nil
	}
	if err := unix.Mount("cgroup2", cgroupMount, "cgroup2", 0, ""); err != nil {
		return fmt.Errorf("mount control groups: %w", err)
	}
	return nil
}

// removeSubgroups removes the groups of an earlier boot. The group of a killed
// container must not be used again: when systemd clones a process into such a
// group, recent kernels may kill the process immediately.
func (c cgroup) removeSubgroups() error { return removeGroups(string(c), false) }

// removeGroups kills the processes below a group, and removes all groups there.
// Such processes exist only if a supervisor was killed.
func removeGroups(top string, itself bool) error {
	for _, pid := range listProcesses(top) {
		_ = unix.Kill(pid, unix.SIGKILL) // the process may have ended
	}
	var dirs []string
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (itself || path != top) {
			dirs = append(dirs, path)
		}
		return nil // a group may vanish meanwhile
	})
	for _, dir := range slices.Backward(dirs) {
		err = errors.Join(err, removeGroup(dir))
	}
	return err
}

func removeGroup(dir string) error {
	for deadline := time.Now().Add(2 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		err := unix.Rmdir(dir)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return fmt.Errorf("remove control group %s: %w", dir, err)
		}
	}
}

// findInit returns process 1 of the container. To kill this process ends the
// whole container immediately; to kill systemd-nspawn does not.
func (c cgroup) findInit() (int, bool) {
	for _, pid := range listProcesses(string(c)) {
		if isContainerInit(pid) {
			return pid, true
		}
	}
	return 0, false
}

func listProcesses(top string) []int {
	var pids []int
	_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // a group may vanish meanwhile
		}
		procs, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if err != nil {
			return nil
		}
		for _, field := range strings.Fields(string(procs)) {
			if n, err := strconv.Atoi(field); err == nil && n > 0 {
				pids = append(pids, n)
			}
		}
		return nil
	})
	return pids
}

func isContainerInit(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(status)) {
		if ids, ok := strings.CutPrefix(line, "NSpid:"); ok {
			fields := strings.Fields(ids)
			return len(fields) > 1 && fields[len(fields)-1] == "1"
		}
	}
	return false
}

func (c cgroup) setFrozen(frozen bool) error {
	value := "0"
	if frozen {
		value = "1"
	}
	if err := os.WriteFile(filepath.Join(string(c), "payload/cgroup.freeze"), []byte(value), 0); err != nil {
		return fmt.Errorf("freeze host: %w", err)
	}
	return nil
}

// RemoveCgroups removes the groups of all hosts of a lab. Without a mounted
// version 2 hierarchy it does nothing.
func RemoveCgroups(lab string) error {
	for _, mount := range []string{cgroupMount, cgroupMount + "/unified"} {
		top := filepath.Join(mount, lab)
		if _, err := os.Stat(top); err == nil {
			if err := removeGroups(top, true); err != nil {
				return err
			}
		}
	}
	return nil
}

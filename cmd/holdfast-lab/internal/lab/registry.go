package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/cmd/holdfast-lab/internal/host"
	"holdfast/cmd/holdfast-lab/internal/netns"
	"holdfast/engine/clock"
)

// registry is a folder with a file for each lab of this machine that may have hosts. The file is named like the lab's network, and
// contains its folder. So a lab whose folder somebody has removed can be found. The registry vanishes with the hosts when the machine restarts.
type registry string

const machineLabs registry = "/run/holdfast-lab"

// doLocked keeps other labs from being added and removed meanwhile.
func (r registry) doLocked(do func() error) error {
	if err := os.MkdirAll(string(r), 0o755); err != nil {
		return fmt.Errorf("lock list of labs: %w", err)
	}
	dir, err := os.Open(string(r))
	if err != nil {
		return fmt.Errorf("lock list of labs: %w", err)
	}
	defer func() { _ = dir.Close() }() // this also releases the lock
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock list of labs: %w", err)
	}
	return do()
}

// addLab adds a lab that has lab.json. It must be called before the lab has a network or a host.
func (r registry) addLab(name netns.Namespace, dir string) error {
	return r.doLocked(func() error {
		return os.WriteFile(filepath.Join(string(r), string(name)), []byte(dir), 0o600)
	})
}

// removeLab removes a lab, and its lab.json.
func (r registry) removeLab(name netns.Namespace, dir string) error {
	return r.doLocked(func() error {
		for _, file := range []string{filepath.Join(string(r), string(name)), filepath.Join(dir, stateName)} {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}

// listGone returns the folders of the labs that are registered and have no lab.json, by name. The registry must be locked.
func (r registry) listGone() (map[netns.Namespace]string, error) {
	entries, err := os.ReadDir(string(r))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("find labs without a folder: %w", err)
	}
	gone := map[netns.Namespace]string{}
	for _, e := range entries {
		dir, err := os.ReadFile(filepath.Join(string(r), e.Name()))
		if err != nil {
			return nil, fmt.Errorf("find labs without a folder: %w", err)
		}
		if _, err := os.Lstat(filepath.Join(string(dir), stateName)); errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
			gone[netns.Namespace(e.Name())] = string(dir)
		}
	}
	return gone, nil
}

// endGoneLabs ends the hosts, servers and networks of labs whose folder somebody has removed.
func (l *Lab) endGoneLabs(ctx context.Context) error {
	return machineLabs.doLocked(func() error {
		gone, err := machineLabs.listGone()
		for name, dir := range gone {
			l.log("end the hosts of the lab in %s, which is gone", dir)
			if err := endGoneLab(ctx, name, dir); err != nil {
				return fmt.Errorf("end the lab in %s: %w", dir, err)
			}
		}
		return err
	})
}

func endGoneLab(ctx context.Context, name netns.Namespace, dir string) error {
	if err := endPrograms(ctx, filepath.Join(dir, programName)); err != nil {
		return err
	}
	if err := errors.Join(host.RemoveCgroups(string(name)), name.Down(ctx)); err != nil {
		return err
	}
	return os.Remove(filepath.Join(string(machineLabs), string(name)))
}

// endTimeout is how long supervisors may take to cut the power and to close their disks.
const endTimeout = 15 * time.Second

// endPrograms ends the supervisors and servers of a lab, which run a program whose file is removed.
func endPrograms(ctx context.Context, program string) error {
	for began := time.Now(); ; {
		pids := listPrograms(program + " (deleted)")
		if len(pids) == 0 {
			return nil
		}
		signal := unix.SIGTERM
		if time.Since(began) > endTimeout {
			signal = unix.SIGKILL
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, signal) // it may have ended
		}
		if err := clock.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func listPrograms(program string) []int {
	links, _ := filepath.Glob("/proc/[0-9]*/exe") // the pattern is valid
	var pids []int
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || target != program {
			continue // a process of the kernel, or one that has ended, has none
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/engine"
)

// maxLock is the number of bytes that are read of a lock, and of the identity of a bastion.
const maxLock = 64 << 10

// A run waits at most lockPatience for a lock, and tries every lockPause.
const (
	lockPatience = 200 * time.Millisecond
	lockPause    = 20 * time.Millisecond
	lockTries    = int(lockPatience / lockPause)
)

// LockInfo names the owner of the lock of a site.
type LockInfo struct {
	Run    string    `json:"run"`
	Holder string    `json:"holder"`
	PID    int       `json:"pid"`
	Since  time.Time `json:"since"`
}

// BusyError is the error of LockSite when another run has the lock.
type BusyError struct {
	Site string
	By   LockInfo
}

// Error names the run that has the lock.
func (b *BusyError) Error() string {
	if b.By.Run == "" {
		return fmt.Sprintf("another run of site %s is under way", b.Site)
	}
	return fmt.Sprintf("run %s of site %s is under way: %s, process %d, since %s", b.By.Run, b.Site, b.By.Holder, b.By.PID, b.By.Since.Format(time.DateTime))
}

// LockSite takes the lock that prevents two runs of a bastion on one site. The kernel releases it when the
// process ends, also after a crash. The error is a *BusyError if another run has the lock.
func LockSite(dir, site string, info LockInfo) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("lock site: %w", err)
	}
	f, err := openRegular(filepath.Join(dir, site+".lock"), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("lock site: %w", err)
	}
	if err := LockFile(f, lockPatience); err != nil {
		defer func() { _ = f.Close() }()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &BusyError{Site: site, By: readOwner(f)}
		}
		return nil, fmt.Errorf("lock site: %w", err)
	}
	text, err := json.Marshal(info)
	if err == nil {
		err = errors.Join(f.Truncate(0), overwriteFile(f, append(text, '\n')))
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock site: %w", err)
	}
	return func() { _ = f.Close() }, nil // closing releases the lock
}

// LockFile locks a file exclusively. If others have the lock, it waits, because a command that only reads has the lock of
// a site for an instant (see ObserveSite). The error is unix.EWOULDBLOCK if they still have it after patience.
func LockFile(f *os.File, patience time.Duration) error {
	return lockExclusively(f, int(patience/lockPause), func() { time.Sleep(lockPause) })
}

// lockExclusively pauses between two tries.
func lockExclusively(f *os.File, tries int, pause func()) error {
	for try := 1; ; try++ {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || !errors.Is(err, unix.EWOULDBLOCK) || try >= tries {
			return err
		}
		pause()
	}
}

// readOwner returns the zero value if the file names no owner.
func readOwner(f *os.File) (by LockInfo) {
	_ = json.NewDecoder(io.NewSectionReader(f, 0, maxLock)).Decode(&by) // without an owner, the lock is still valid
	return by
}

// EnterSite takes the lock of a site, and then reads the journals of earlier
// runs. While it has the lock, all other runs of this bastion are over, so
// their holds may be adopted. The error is a *BusyError if another run has the
// lock.
func EnterSite(dir, site string, self engine.HoldOwner, info LockInfo) (left EarlierRuns, unlock func(), err error) {
	unlock, err = LockSite(dir, site, info)
	if err != nil {
		return EarlierRuns{}, nil, err
	}
	runs, err := ListRuns(dir)
	if err != nil {
		unlock()
		return EarlierRuns{}, nil, err
	}
	return SummarizeRuns(runs, site, self), unlock, nil
}

// ObserveSite reads the journals of earlier runs for a command that changes
// nothing. It reads without the lock, so that a run may begin at any time. The
// error is a *BusyError if a run is under way or has begun during the read,
// because the journal of a live run may then be among the journals.
func ObserveSite(dir, site string, self engine.HoldOwner) (EarlierRuns, error) {
	before, err := readIdleOwner(dir, site)
	if err != nil {
		return EarlierRuns{}, err
	}
	runs, err := ListRuns(dir)
	if err != nil {
		return EarlierRuns{}, err
	}
	after, err := readIdleOwner(dir, site)
	if err != nil {
		return EarlierRuns{}, err
	}
	if after.Run != before.Run {
		return EarlierRuns{}, &BusyError{Site: site, By: after}
	}
	return SummarizeRuns(runs, site, self), nil
}

// readIdleOwner returns a *BusyError if the last owner still has the lock.
func readIdleOwner(dir, site string) (LockInfo, error) {
	f, err := openRegular(filepath.Join(dir, site+".lock"), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return LockInfo{}, nil // no run has ever begun
	}
	if err != nil {
		return LockInfo{}, fmt.Errorf("read the lock of the site: %w", err)
	}
	defer func() { _ = f.Close() }() // closing releases the lock
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return LockInfo{}, &BusyError{Site: site, By: readOwner(f)}
	case err != nil:
		return LockInfo{}, fmt.Errorf("read the lock of the site: %w", err)
	}
	return readOwner(f), nil
}

// hasLock reports whether a run has the lock of its site now. It tries the lock
// only if this run was the last owner, so that a list of old runs never blocks
// a new run.
func hasLock(dir, site, run string) bool {
	f, err := openRegular(filepath.Join(dir, filepath.Base(site+".lock")), os.O_RDONLY)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	if readOwner(f).Run != run {
		return false
	}
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

func overwriteFile(f *os.File, b []byte) error {
	_, err := f.WriteAt(b, 0)
	return err
}

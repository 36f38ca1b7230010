package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/engine"
)

// maxLock is the number of bytes that are read of a lock.
const maxLock = 64 << 10

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
	f, err := os.OpenFile(filepath.Join(dir, site+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock site: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer func() { _ = f.Close() }()
		if errors.Is(err, unix.EWOULDBLOCK) {
			busy := &BusyError{Site: site}
			_ = json.NewDecoder(io.LimitReader(f, maxLock)).Decode(&busy.By) // the owner is optional in the error
			return nil, busy
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

// EnterSite takes the lock of a site, and then reads the journals of earlier runs: only with the lock are all of
// them over, so that their holds may be adopted. The error is a *BusyError if another run has the lock.
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

// hasLock reports whether a run has the lock of its site now. It tries the lock only if this run was the last
// owner, so that listing old runs blocks no new one.
func hasLock(dir, site, run string) bool {
	f, err := os.Open(filepath.Join(dir, filepath.Base(site+".lock")))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	var by LockInfo
	if json.NewDecoder(io.LimitReader(f, maxLock)).Decode(&by) != nil || by.Run != run {
		return false
	}
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

func overwriteFile(f *os.File, b []byte) error {
	_, err := f.WriteAt(b, 0)
	return err
}

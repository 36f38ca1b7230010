package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/engine"
)

// livingFolder has a file for each run of this bastion. The process of the run
// has the lock of its file, and the kernel releases the lock when the process
// ends. The folder is beside the identity of the bastion, and not beside the
// journals: a copy of an inventory with its journals is still the same bastion,
// and must not take a run of the original for dead.
const livingFolder = "running"

// MarkLiving marks a run of this bastion as living until end is called or the
// process ends. state is the folder of the identity. A user who may read the
// identity of another user, and may not write there, marks the run by its socket
// alone.
func MarkLiving(state, run string) (end func(), err error) {
	socket, err := bindRunSocket(run)
	if err != nil {
		return nil, fmt.Errorf("mark the run as living: %w", err)
	}
	closeSocket := func() { _ = unix.Close(socket) }
	dir := filepath.Join(state, livingFolder)
	err = os.MkdirAll(dir, 0o755)
	var f *os.File
	if err == nil {
		pruneLiving(dir)
		f, err = openRegular(livingFile(dir, run), os.O_RDWR|os.O_CREATE)
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		return closeSocket, nil
	}
	if err == nil {
		err = errors.Join(f.Chmod(0o644), LockFile(f, lockPatience))
	}
	if err != nil {
		closeSocket()
		return nil, fmt.Errorf("mark the run as living: %w; %s", err, stateFolderHint)
	}
	return func() {
		_ = os.Remove(f.Name())
		_ = f.Close() // closing releases the lock
		closeSocket()
	}, nil
}

// MarkUnderWay marks those runs as under way that have no end and that a process of this bastion carries out now, also if they do
// not have the lock of a site: the work of people on holds needs none.
func MarkUnderWay(runs []Run, state string) {
	for i, r := range runs {
		if r.End == nil && !r.UnderWay {
			runs[i].UnderWay = isLiving(state, r.ID)
		}
	}
}

// isLiving reports whether a process of this bastion carries out the run now. If
// this cannot be known, the run counts as living: nobody adopts its holds before
// they expire.
func isLiving(state, run string) bool {
	if _, ok := engine.ParseRunID(run); !ok {
		return false // no run of holdfast
	}
	f, err := openRegular(livingFile(filepath.Join(state, livingFolder), run), os.O_RDONLY)
	switch {
	case err == nil:
		defer func() { _ = f.Close() }() // closing releases the lock
		if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil {
			return true
		}
	case !errors.Is(err, fs.ErrNotExist):
		return true
	}
	socket, err := bindRunSocket(run)
	if err != nil {
		return true
	}
	_ = unix.Close(socket)
	return false
}

func livingFile(dir, run string) string { return filepath.Join(dir, filepath.Base(run)+".lock") }

// bindRunSocket binds the abstract socket of a run. It has no file, so runs of
// other users find it, too. An account that binds the name of a dead run only
// keeps others from adopting its holds.
func bindRunSocket(run string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	for try := 1; ; try++ { // another command may ask at this moment
		err = unix.Bind(fd, &unix.SockaddrUnix{Name: "@holdfast-run-" + run})
		if err == nil {
			return fd, nil
		}
		if !errors.Is(err, unix.EADDRINUSE) || try == lockTries {
			return 0, errors.Join(err, unix.Close(fd))
		}
		time.Sleep(lockPause)
	}
}

// pruneLiving removes files that killed runs have left. It leaves new files
// alone, because their runs may not have the lock yet.
func pruneLiving(dir string) {
	const old = time.Hour
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < old || !strings.HasSuffix(e.Name(), ".lock") {
			continue
		}
		f, err := openRegular(filepath.Join(dir, e.Name()), os.O_RDONLY)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.Remove(f.Name())
		}
		_ = f.Close() // closing releases the lock
	}
}

// WithoutLiving removes the runs that live, as the folder state of the identity
// of this bastion tells. Their journals came with a copy of the folder of a
// living run. A host that such a run disrupts now is not lost.
func (e EarlierRuns) WithoutLiving(state string) EarlierRuns {
	var living []string
	lives := func(run string) bool {
		if !slices.Contains(living, run) && isLiving(state, run) {
			living = append(living, run)
		}
		return slices.Contains(living, run)
	}
	e.Dead = slices.DeleteFunc(slices.Clone(e.Dead), lives)
	rebooting := map[string]string{}
	for host, run := range e.Rebooting {
		if !lives(run) {
			rebooting[host] = run
		}
	}
	e.Rebooting = rebooting
	e.Lost = maps.Clone(e.Lost)
	maps.DeleteFunc(e.Lost, func(_ string, h engine.LostHost) bool { return lives(h.Run) })
	e.Runs = slices.DeleteFunc(slices.Clone(e.Runs), func(r Run) bool { return slices.Contains(living, r.ID) })
	return e
}

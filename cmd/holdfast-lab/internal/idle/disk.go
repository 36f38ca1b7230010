package idle

import (
	"errors"
	"os"
	"time"

	"github.com/sourcegraph/conc"
)

// syncInterval is the pause of a DiskWatch after each sync. The probe of etcd
// writes at the same interval.
const syncInterval = 50 * time.Millisecond

// DiskWatch syncs a small file repeatedly, on the disk that etcd uses. While this
// disk cannot sync, etcd cannot commit.
type DiskWatch struct {
	stop    chan struct{}
	syncing conc.WaitGroup
	longest time.Duration
	err     error
}

// WatchDisk starts to sync a file in dir. The file has no name, so that a program that is killed leaves none.
func WatchDisk(dir string) (*DiskWatch, error) {
	f, err := os.CreateTemp(dir, "disk-watch-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	w := &DiskWatch{stop: make(chan struct{})}
	w.syncing.Go(func() { w.err = errors.Join(w.syncUntilStopped(f), f.Close()) })
	return w, nil
}

func (w *DiskWatch) syncUntilStopped(f *os.File) error {
	block := make([]byte, 4096)
	for {
		start := time.Now()
		if _, err := f.WriteAt(block, 0); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		w.longest = max(w.longest, time.Since(start))
		select {
		case <-w.stop:
			return nil
		case <-time.After(syncInterval):
		}
	}
}

// Stop ends the watch, and returns the longest time that a sync took.
func (w *DiskWatch) Stop() (time.Duration, error) {
	close(w.stop)
	w.syncing.Wait()
	return w.longest, w.err
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/cmd/holdfast-lab/internal/disk"
	"holdfast/cmd/holdfast-lab/internal/idle"
)

// watchInterval is the interval in which the disks and processors are read.
const watchInterval = 200 * time.Millisecond

// diskCounters count the operations on a block device and their bytes: since the
// device was made, or between two readings.
type diskCounters struct{ readOps, readBytes, writtenOps, writtenBytes uint64 }

func (c diskCounters) countsSince(earlier diskCounters) diskCounters {
	if c.readOps < earlier.readOps || c.writtenOps < earlier.writtenOps {
		return c // the device is a new one
	}
	return diskCounters{c.readOps - earlier.readOps, c.readBytes - earlier.readBytes, c.writtenOps - earlier.writtenOps, c.writtenBytes - earlier.writtenBytes}
}

func (c diskCounters) plus(o diskCounters) diskCounters {
	return diskCounters{c.readOps + o.readOps, c.readBytes + o.readBytes, c.writtenOps + o.writtenOps, c.writtenBytes + o.writtenBytes}
}

// watched is one reading of the counters that show the load of the machine.
type watched struct {
	at         time.Time
	disks      []diskCounters // operations since the previous moment, one entry for each host
	processors idle.Processors
	waiting    time.Duration // for which something has waited for a processor since the machine booted; 0: the kernel does not tell
}

// watch reads the load of the machine all the time.
type watch struct {
	cancel context.CancelFunc
	work   conc.WaitGroup
	all    []watched
	err    error
}

// sysBlock is the folder of the block devices.
const sysBlock = "/sys/block"

// startWatch returns a watch that the caller must stop.
func startWatch(ctx context.Context, sys string, images []string) *watch {
	ctx, cancel := context.WithCancel(ctx)
	w := &watch{cancel: cancel}
	w.work.Go(func() { w.err = w.watchUntilDone(ctx, sys, images) })
	return w
}

func (w *watch) watchUntilDone(ctx context.Context, sys string, images []string) error {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	devices, last := make([]loopDevice, len(images)), make([]diskCounters, len(images))
	for first := true; ; first = false {
		moment := watched{at: time.Now(), disks: make([]diskCounters, len(images)), waiting: readWaiting("/proc/pressure/cpu")}
		var err error
		if moment.processors, err = idle.ReadProcessors(); err != nil {
			return err
		}
		for i, image := range images {
			now, found := devices[i].read(sys, image)
			if found && !first {
				moment.disks[i] = now.countsSince(last[i])
			}
			last[i] = now
		}
		w.all = append(w.all, moment)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (w *watch) stop() ([]watched, error) {
	w.cancel()
	w.work.Wait()
	return w.all, w.err
}

// loopDevice is the name of the loop device behind which the image of a host is,
// or "" while this name is not known. When the host boots, its image may get
// another loop device.
type loopDevice string

// read returns the counters of the device. It returns false while there is none.
func (d *loopDevice) read(sys, image string) (diskCounters, bool) {
	if !d.isOf(sys, image) {
		*d = ""
		files, err := filepath.Glob(filepath.Join(sys, "loop*/loop/backing_file"))
		if err != nil {
			return diskCounters{}, false
		}
		for _, f := range files {
			if name := loopDevice(filepath.Base(filepath.Dir(filepath.Dir(f)))); name.isOf(sys, image) {
				*d = name
			}
		}
		if *d == "" {
			return diskCounters{}, false
		}
	}
	const sector = 512
	text, err := os.ReadFile(filepath.Join(sys, string(*d), "stat"))
	if err != nil {
		return diskCounters{}, false
	}
	var c diskCounters
	var ignored uint64
	if _, err := fmt.Sscan(string(text), &c.readOps, &ignored, &c.readBytes, &ignored, &c.writtenOps, &ignored, &c.writtenBytes); err != nil {
		return diskCounters{}, false
	}
	c.readBytes *= sector
	c.writtenBytes *= sector
	return c, true
}

func (d loopDevice) isOf(sys, image string) bool {
	if d == "" {
		return false
	}
	backing, err := os.ReadFile(filepath.Join(sys, string(d), "loop/backing_file"))
	return err == nil && strings.TrimSpace(string(backing)) == image
}

// readWaiting returns the time for which something has waited for a processor
// since the machine booted, or 0 if the kernel does not tell.
func readWaiting(path string) time.Duration {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0 // older kernels do not have the file
	}
	_, rest, _ := strings.Cut(string(text), "total=")
	var microseconds int64
	if _, err := fmt.Sscan(rest, &microseconds); err != nil {
		return 0
	}
	return time.Duration(microseconds) * time.Microsecond
}

// machineUse says how much of the machine was in use.
type machineUse struct {
	Before    float64 `json:"before"`            // used share of the processors' time before the update
	Taken     float64 `json:"taken"`             // the same, while staging
	Waiting   float64 `json:"waiting,omitempty"` // share of the staging in which something waited for a processor; 0: not known
	DiskBytes float64 `json:"disk_bytes"`        // share of the disk's bandwidth while staging: of reads or writes, whichever is higher
	DiskOps   float64 `json:"disk_ops"`          // the same, of its IOPS
}

func (u machineUse) String() string {
	text := fmt.Sprintf("processors idle %s (before %s)", formatShare(1-u.Taken), formatShare(1-u.Before))
	if u.Waiting > 0 {
		text += fmt.Sprintf(", something waited for them %s of the time", formatShare(u.Waiting))
	}
	return text + fmt.Sprintf("; disk at %s of its bandwidth and %s of its IOPS", formatShare(u.DiskBytes), formatShare(u.DiskOps))
}

// useOf returns the use of the machine in a run. host is the index of the staged
// host in watched.disks. If host is negative, useOf returns only the use before the
// update.
func useOf(all []watched, m measurement, host int, speed disk.Speed) (u machineUse) {
	if before := watchedBetween(all, m.idleBegan, m.idleBegan.Add(idleTime)); len(before) > 1 {
		u.Before = before[len(before)-1].processors.TakenSince(before[0].processors)
	}
	staging := watchedBetween(all, m.began, m.staged)
	if len(staging) < 2 || host < 0 {
		return u
	}
	first, last := staging[0], staging[len(staging)-1]
	span := last.at.Sub(first.at)
	u.Taken = last.processors.TakenSince(first.processors)
	u.Waiting = (last.waiting - first.waiting).Seconds() / span.Seconds()
	var sum diskCounters
	for _, w := range staging[1:] {
		sum = sum.plus(w.disks[host])
	}
	u.DiskBytes = float64(max(sum.readBytes, sum.writtenBytes)) / (float64(speed.BytesPerSecond) * span.Seconds())
	u.DiskOps = float64(max(sum.readOps, sum.writtenOps)) / (float64(speed.IOPS) * span.Seconds())
	return u
}

func watchedBetween(all []watched, from, to time.Time) []watched {
	var part []watched
	for _, w := range all {
		if !w.at.Before(from) && !w.at.After(to) {
			part = append(part, w)
		}
	}
	return part
}

// writeLoad writes the load of the disk of a host as text, which tests of the
// governor can replay: after lines that begin with #, each line has the bytes of
// one interval.
func writeLoad(path, title string, all []watched, host int) error {
	if len(all) == 0 {
		return nil
	}
	bytes := make([]uint64, int(all[len(all)-1].at.Sub(all[0].at)/watchInterval)+1)
	for _, w := range all {
		bytes[int(w.at.Sub(all[0].at)/watchInterval)] += w.disks[host].readBytes + w.disks[host].writtenBytes
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "# %s\n# From %s on. Each line has the bytes that were read and written in %d ms.\n", title, all[0].at.Format(time.RFC3339Nano), watchInterval.Milliseconds())
	for _, n := range bytes {
		_, writeErr := fmt.Fprintln(f, n)
		err = errors.Join(err, writeErr)
	}
	return errors.Join(err, f.Close())
}

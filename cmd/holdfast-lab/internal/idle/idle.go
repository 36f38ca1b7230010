// Package idle measures how busy and how slow the machine is while the lab is
// idle, and how slow its disk is while the lab works. These can explain that
// etcd or a boot is a little slower than promised (docs/lab.md), and nothing else.
package idle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/cmd/holdfast-lab/internal/lab"
)

// QuorumLossGap is a time without a commit that no busy machine explains. It
// means that etcd lost its quorum, or that the leader was not moved before its
// host went down.
const QuorumLossGap = 2 * time.Second

// restTime is how long the load is measured. A machine is busy if it uses more
// than the share mostTaken of its processors, or if etcd commits nothing for slowGap. It
// is slow if the start of a program takes slowStart: a boot and the end of a
// staging start some hundred programs.
const (
	restTime  = 5 * time.Second
	mostTaken = 0.5
	slowGap   = 125 * time.Millisecond
	slowStart = 2 * time.Millisecond
	starts    = 51 // measured starts of a program
)

// Load is the load of a machine while its lab is idle.
type Load struct {
	Taken float64       // used share of the processors' time
	Gap   time.Duration // the longest time without a commit
	Start time.Duration // the median time in which a program starts and ends
}

// IsBusy reports whether a machine is too busy for the promises of holdfast.
func (l Load) IsBusy() bool { return l.Taken > mostTaken || l.Gap >= slowGap }

// IsSlow reports whether a machine starts programs too slowly for the promises
// about boots.
func (l Load) IsSlow() bool { return l.Start >= slowStart }

func (l Load) String() string {
	return fmt.Sprintf("%.0f %% of its processors were taken, etcd committed nothing for %d ms at a time, and the start of a program took %.1f ms",
		100*l.Taken, l.Gap.Milliseconds(), 1000*l.Start.Seconds())
}

// Measure measures the load of the machine for five seconds. The lab must be
// idle, and the cluster healthy.
func Measure(ctx context.Context, l *lab.Lab, cluster string) (Load, error) {
	p, err := l.Probe(ctx, cluster)
	if err != nil {
		return Load{}, err
	}
	before, statErr := ReadProcessors()
	select {
	case <-ctx.Done():
	case <-time.After(restTime):
	}
	after, statErr2 := ReadProcessors()
	report, err := p.Stop()
	start, startErr := measureStart(ctx)
	if err := errors.Join(statErr, statErr2, err, startErr, ctx.Err()); err != nil {
		return Load{}, fmt.Errorf("measure the machine: %w", err)
	}
	return Load{Gap: report.Gap, Taken: after.TakenSince(before), Start: start}, nil
}

// measureStart returns the median time in which a program that does nothing
// starts and ends.
func measureStart(ctx context.Context) (time.Duration, error) {
	var times []time.Duration
	for range starts {
		begin := time.Now()
		if err := exec.CommandContext(ctx, "true").Run(); err != nil {
			return 0, err
		}
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// Processors is the time of all processors since the machine has booted.
type Processors struct{ idle, all int64 }

// TakenSince returns the used share of the time since an earlier reading.
func (p Processors) TakenSince(earlier Processors) float64 {
	if p.all <= earlier.all {
		return 0
	}
	return 1 - float64(p.idle-earlier.idle)/float64(p.all-earlier.all)
}

// ReadProcessors reads the time of the processors.
func ReadProcessors() (Processors, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Processors{}, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var t [8]int64 // user, nice, system, idle, iowait, irq, softirq, steal
	if _, err := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d %d", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]); err != nil {
		return Processors{}, fmt.Errorf("read /proc/stat: %w", err)
	}
	p := Processors{idle: t[3] + t[4]}
	for _, n := range t {
		p.all += n
	}
	return p, nil
}

// FreeDisk returns how many bytes users can still write to the filesystem of a folder.
func FreeDisk(dir string) (int64, error) {
	var about unix.Statfs_t
	if err := unix.Statfs(dir, &about); err != nil {
		return 0, fmt.Errorf("read free disk space of %s: %w", dir, err)
	}
	return int64(about.Bavail) * about.Bsize, nil
}

// AvailableMemory returns how many bytes programs can still use without swapping.
func AvailableMemory() (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "MemAvailable:")
	var kibibytes int64
	if _, err := fmt.Sscan(rest, &kibibytes); err != nil {
		return 0, fmt.Errorf("read /proc/meminfo: %w", err)
	}
	return kibibytes << 10, nil
}

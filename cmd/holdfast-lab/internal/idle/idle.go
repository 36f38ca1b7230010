// Package idle measures how busy the machine is while nothing happens in the
// lab, and how slow its disk is while something does. Both explain short delays of
// etcd, and nothing else.
package idle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"holdfast/cmd/holdfast-lab/internal/lab"
)

// QuorumLossGap is a time without a commit that no busy machine explains: etcd
// lost its quorum, or a leader that was not moved.
const QuorumLossGap = 2 * time.Second

// restTime is how long the machine is measured. A machine is busy above mostTaken,
// the used share of its processors, or from slowGap on.
const (
	restTime  = 5 * time.Second
	mostTaken = 0.5
	slowGap   = 125 * time.Millisecond
)

// Load is the load of a machine while its lab is idle.
type Load struct {
	Taken float64       // used share of the processors' time
	Gap   time.Duration // the longest time without a commit
}

// IsBusy reports whether a machine is too busy for the promises of holdfast.
func (l Load) IsBusy() bool { return l.Taken > mostTaken || l.Gap >= slowGap }

func (l Load) String() string {
	return fmt.Sprintf("%.0f %% of its processors were taken, and etcd committed nothing for %d ms at a time", 100*l.Taken, l.Gap.Milliseconds())
}

// Measure measures the machine for five seconds. The lab must be idle, and the
// cluster healthy.
func Measure(ctx context.Context, l *lab.Lab, cluster string) (Load, error) {
	p, err := l.Probe(ctx, cluster)
	if err != nil {
		return Load{}, err
	}
	idle, all, statErr := processorTime()
	select {
	case <-ctx.Done():
	case <-time.After(restTime):
	}
	idle2, all2, statErr2 := processorTime()
	report, err := p.Stop()
	if err := errors.Join(statErr, statErr2, err, ctx.Err()); err != nil {
		return Load{}, fmt.Errorf("measure the machine: %w", err)
	}
	load := Load{Gap: report.Gap}
	if all2 > all {
		load.Taken = 1 - float64(idle2-idle)/float64(all2-all)
	}
	return load, nil
}

func processorTime() (idle, all int64, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var t [8]int64 // user, nice, system, idle, iowait, irq, softirq, steal
	if _, err := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d %d", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]); err != nil {
		return 0, 0, fmt.Errorf("read /proc/stat: %w", err)
	}
	for _, n := range t {
		all += n
	}
	return t[3] + t[4], all, nil
}

package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"holdfast/cmd/holdfast-lab/internal/probe"
)

// Promises that the demo checks. A member may be down as long as during its own
// bare reboot, and finalizeCost longer to write the new deployment.
const (
	maxGap       = 250 * time.Millisecond
	finalizeCost = 2 * time.Second
)

// quorumLossGap is a time without a commit that no busy machine explains: etcd
// lost its quorum, or a leader that was not moved.
const quorumLossGap = 2 * time.Second

// missedPromise is a promise that was not kept. A busy machine may be the cause
// unless certain is set.
type missedPromise struct {
	text    string
	certain bool
}

func findMisses(r probe.Report, bare map[string]time.Duration) []missedPromise {
	var list []missedPromise
	add := func(certain bool, format string, args ...any) {
		list = append(list, missedPromise{fmt.Sprintf(format, args...), certain})
	}
	if r.Gap >= maxGap {
		add(r.Gap >= quorumLossGap, "etcd committed nothing for %s; promised is less than %s", formatMillis(r.Gap), maxGap)
	}
	if r.MinVoters < r.Quorum { // a late answer counts as none; etcd commits nothing without a quorum
		add(r.Gap >= quorumLossGap, "only %d voters answered at some moment; the quorum is %d", r.MinVoters, r.Quorum)
	}
	for _, m := range r.Members {
		away, reboot := m.Longest(), bare[m.Name]
		if reboot == 0 || away == 0 {
			add(true, "%s was not seen to be away at a reboot: what was measured cannot be right", m.Name)
		} else if limit := reboot + finalizeCost; away > limit {
			add(away > 3*limit, "%s was away for %s; promised is its bare reboot and %s more: %s", m.Name, formatSeconds(away), finalizeCost, formatSeconds(limit))
		}
	}
	return list
}

// idleLoad is the load of the machine while the lab is idle.
type idleLoad struct {
	taken float64       // used share of the processors' time
	gap   time.Duration // the longest time without a commit
}

// restTime is how long the machine is measured. A machine is busy above mostTaken,
// the used share of its processors.
const (
	restTime  = 5 * time.Second
	mostTaken = 0.5
)

// isBusy reports whether a machine is too busy for the promises, and describes
// its load.
func (r idleLoad) isBusy() (string, bool) {
	text := fmt.Sprintf("%.0f %% of its processors were taken, and etcd committed nothing for %s at a time", 100*r.taken, formatMillis(r.gap))
	return text, r.taken > mostTaken || r.gap >= maxGap/2
}

func (d Demo) measureIdle(ctx context.Context) (idleLoad, error) {
	p, err := d.Lab.Probe(ctx, cluster)
	if err != nil {
		return idleLoad{}, err
	}
	idle, all, statErr := processorTime()
	select {
	case <-ctx.Done():
	case <-time.After(restTime):
	}
	idle2, all2, statErr2 := processorTime()
	report, err := p.Stop()
	if err := errors.Join(statErr, statErr2, err, ctx.Err()); err != nil {
		return idleLoad{}, fmt.Errorf("measure the machine: %w", err)
	}
	r := idleLoad{gap: report.Gap}
	if all2 > all {
		r.taken = 1 - float64(idle2-idle)/float64(all2-all)
	}
	return r, nil
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

// reportMisses prints the promises that a busy machine missed, and returns the
// broken ones as an error. A promise is broken if the machine was idle before
// and after the update, or if load cannot explain the result.
func (d Demo) reportMisses(ctx context.Context, list []missedPromise, before idleLoad) error {
	if len(list) == 0 {
		return nil
	}
	after, err := d.measureIdle(ctx)
	if err != nil {
		return err
	}
	missed, broken := splitMisses(list, before, after)
	if missed != "" {
		d.printLine(missed)
	}
	return broken
}

func splitMisses(list []missedPromise, before, after idleLoad) (missed string, broken error) {
	when := "before the update "
	excuse, busy := before.isBusy()
	if !busy {
		when = "after the update "
		excuse, busy = after.isBusy()
	}
	var lines []string
	var errs []error
	for _, f := range list {
		if f.certain || !busy {
			errs = append(errs, fmt.Errorf("a promise was broken: %s", f.text))
		} else {
			lines = append(lines, "  "+f.text)
		}
	}
	if len(lines) > 0 {
		missed = "Missed, the machine was busy: with nothing going on in the lab " + when + excuse + ".\n" + strings.Join(lines, "\n") +
			"\nRun the demo again when the machine has nothing else to do."
	}
	return missed, errors.Join(errs...)
}

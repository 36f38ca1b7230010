package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/cmd/holdfast-lab/internal/idle"
	"holdfast/cmd/holdfast-lab/internal/probe"
)

// These are the promises that the demo checks. A member may be down as long as in
// its bare reboot, and finalizeCost longer to write the new deployment.
const (
	maxGap       = 250 * time.Millisecond
	finalizeCost = 2 * time.Second
)

func findMisses(r probe.Report, bare map[string]time.Duration) []idle.Miss {
	var list []idle.Miss
	add := func(m idle.Miss, format string, args ...any) {
		m.Text = fmt.Sprintf(format, args...)
		list = append(list, m)
	}
	if r.Gap >= maxGap {
		add(idle.Miss{Delay: r.Gap, Certain: r.Gap >= idle.QuorumLossGap}, "etcd committed nothing for %s; promised is less than %s", formatMillis(r.Gap), maxGap)
	}
	if r.MinVoters < r.Quorum { // a late answer counts as a missing one; etcd commits nothing without a quorum
		add(idle.Miss{Delay: r.LongestBelow(r.Quorum), Certain: r.Gap >= idle.QuorumLossGap}, "only %d voters answered at some moment; the quorum is %d", r.MinVoters, r.Quorum)
	}
	for _, m := range r.Members {
		away, reboot := m.Longest(), bare[m.Name]
		if reboot == 0 || away == 0 {
			add(idle.Miss{Certain: true}, "%s was never away at a reboot: the measurement cannot be right", m.Name)
		} else if limit := reboot + finalizeCost; away > limit {
			add(idle.Miss{Certain: away > 3*limit}, "%s was away for %s; promised is its bare reboot and %s more: %s", m.Name, formatSeconds(away), finalizeCost, formatSeconds(limit))
		}
	}
	return list
}

// reportMisses prints the promises that a busy or slow machine or a slow disk
// missed, and returns the broken ones as an error. A promise is broken in two
// cases: the machine was idle before and after the update and its disk fast, or
// neither load nor disk can explain the result.
func (d Demo) reportMisses(ctx context.Context, list []idle.Miss, before idle.Load, stall time.Duration) error {
	if len(list) == 0 {
		return nil
	}
	after, err := idle.Measure(ctx, d.Lab, cluster)
	if err != nil {
		return err
	}
	missed, broken := splitMisses(list, before, after, stall)
	if missed != "" {
		d.printLine(missed)
	}
	return broken
}

func splitMisses(list []idle.Miss, before, after idle.Load, stall time.Duration) (missed string, broken error) {
	when := "before the update "
	load := before
	if !before.IsBusy() && (after.IsBusy() || !before.IsSlow()) {
		when, load = "after the update ", after
	}
	var lines []string
	var errs []error
	for _, f := range list {
		if !f.IsExcused(load, stall) {
			errs = append(errs, fmt.Errorf("a promise was broken: %s", f.Text))
		} else {
			lines = append(lines, "  "+f.Text)
		}
	}
	if len(lines) > 0 {
		missed = "Missed, the machine was busy or slow: with nothing going on in the lab " + when + load.String() + "; " + idle.DescribeStall(stall) + ".\n" + strings.Join(lines, "\n") +
			"\nRun the demo again when the machine has nothing else to do, or on a faster one."
	}
	return missed, errors.Join(errs...)
}

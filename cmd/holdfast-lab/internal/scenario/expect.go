package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/cmd/holdfast-lab/internal/idle"
	"holdfast/cmd/holdfast-lab/internal/probe"
)

// expectation contains the limits for the report of a watch.
type expectation struct {
	min    int
	quorum bool // whether the quorum of the moment must always be there
	failed int
	lost   int // confirmed writes
	gap    time.Duration
	away   []string
	order  bool // whether to compare away
}

// shortestReboot is longer than the delay of any answer of a member that did not
// reboot.
const shortestReboot = 1200 * time.Millisecond

// proofInterval is longer than the time between two confirmed writes, each of which
// proves that the cluster has its quorum.
const proofInterval = 200 * time.Millisecond

// findMisses compares a report with the limits. A busy machine delays commits and
// answers, but by less than idle.QuorumLossGap and shortestReboot. It causes no
// failed writes and no reboots.
func (e *expectation) findMisses(r probe.Report) []idle.Miss {
	var list []idle.Miss
	add := func(m idle.Miss, format string, args ...any) {
		m.Text = fmt.Sprintf(format, args...)
		list = append(list, m)
	}
	if r.MinVoters < e.min {
		late := r.LongestBelow(e.min)
		add(idle.Miss{Delay: late, Certain: r.Gap >= idle.QuorumLossGap || late > shortestReboot}, "only %d voters answered at some moment, not %d", r.MinVoters, e.min)
	}
	if late := r.LongestWithoutQuorum(); e.quorum && late > proofInterval {
		add(idle.Miss{Delay: late, Certain: r.Gap >= idle.QuorumLossGap || late > shortestReboot}, "no quorum answered at %s: spare %s", r.Least.At.Format(time.TimeOnly), r.Least)
	}
	if r.Failed > e.failed {
		add(idle.Miss{Certain: true}, "%d writes failed, more than %d", r.Failed, e.failed)
	}
	if r.Gap > e.gap {
		add(idle.Miss{Delay: r.Gap, Certain: r.Gap >= idle.QuorumLossGap}, "nothing was committed for %s, longer than %s", r.Gap, e.gap)
	}
	if got := awayInOrder(r); e.order && !slices.Equal(got, e.away) {
		add(idle.Miss{Certain: true}, "away were %s, not %s", strings.Join(got, ","), strings.Join(e.away, ","))
	}
	return list
}

// judgeMisses returns the misses as text if the machine explains all of them.
func judgeMisses(list []idle.Miss, load idle.Load, stall time.Duration) (excused string, err error) {
	var texts []string
	broken := false
	for _, m := range list {
		texts = append(texts, m.Text)
		broken = broken || !m.IsExcused(load, stall)
	}
	switch {
	case len(list) == 0:
		return "", nil
	case broken:
		return "", errors.New(strings.Join(texts, "\n"))
	}
	return fmt.Sprintf("missed, the machine or its disk was busy or slow (with nothing going on in the lab %s; %s): %s", load, idle.DescribeStall(stall), strings.Join(texts, "; ")), nil
}

// awayInOrder lists the members that did not answer for as long as a reboot
// takes, once for each such time, in order.
func awayInOrder(r probe.Report) []string {
	type leave struct {
		name string
		at   time.Time
	}
	var leaves []leave
	for _, m := range r.Members {
		for _, span := range m.Away {
			if span.To.Sub(span.From) > shortestReboot {
				leaves = append(leaves, leave{m.Name, span.From})
			}
		}
	}
	slices.SortFunc(leaves, func(a, b leave) int { return a.at.Compare(b.at) })
	names := []string{}
	for _, l := range leaves {
		names = append(names, l.name)
	}
	return names
}

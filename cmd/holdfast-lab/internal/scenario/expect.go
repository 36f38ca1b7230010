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
	failed int
	gap    time.Duration
	away   []string
	order  bool // compare away
}

// shortestReboot is longer than any late answer of a member that did not
// reboot.
const shortestReboot = 1200 * time.Millisecond

// miss is a limit that a report exceeds. A busy machine may be the cause unless
// certain is set.
type miss struct {
	text    string
	certain bool
}

// findMisses compares a report with the limits. A busy machine delays commits and
// answers, but no shorter than idle.QuorumLossGap and shortestReboot; it makes
// nothing fail and nothing reboot.
func (e *expectation) findMisses(r probe.Report) []miss {
	var list []miss
	add := func(certain bool, format string, args ...any) {
		list = append(list, miss{fmt.Sprintf(format, args...), certain})
	}
	if r.MinVoters < e.min {
		certain := r.Gap >= idle.QuorumLossGap || longestBelow(r, e.min) > shortestReboot
		add(certain, "only %d voters answered at some moment, not %d", r.MinVoters, e.min)
	}
	if r.Failed > e.failed {
		add(true, "%d writes failed, more than %d", r.Failed, e.failed)
	}
	if r.Gap > e.gap {
		add(r.Gap >= idle.QuorumLossGap, "nothing was committed for %s, longer than %s", r.Gap, e.gap)
	}
	if got := awayInOrder(r); e.order && !slices.Equal(got, e.away) {
		add(true, "away were %s, not %s", strings.Join(got, ","), strings.Join(e.away, ","))
	}
	return list
}

// longestBelow returns the longest time in which fewer voters than least answered.
func longestBelow(r probe.Report, least int) time.Duration {
	var longest time.Duration
	for i, v := range r.Voters {
		switch {
		case v.Count >= least || i > 0 && r.Voters[i-1].Count < least:
		default:
			longest = max(longest, endOfShortage(r, i, least).Sub(v.At))
		}
	}
	return longest
}

func endOfShortage(r probe.Report, from, least int) time.Time {
	for _, v := range r.Voters[from:] {
		if v.Count >= least {
			return v.At
		}
	}
	return r.Voters[0].At.Add(r.Took)
}

// judgeMisses returns the misses as an error, or as text if the machine explains
// all of them.
func judgeMisses(list []miss, load idle.Load) (excused string, err error) {
	var texts []string
	certain := false
	for _, m := range list {
		texts = append(texts, m.text)
		certain = certain || m.certain
	}
	text := strings.Join(texts, "\n")
	switch {
	case len(list) == 0:
		return "", nil
	case certain || !load.IsBusy():
		return "", errors.New(text)
	}
	return fmt.Sprintf("missed, the machine is busy (with nothing going on in the lab %s): %s", load, strings.Join(texts, "; ")), nil
}

// awayInOrder lists the members that did not answer for long enough to reboot,
// once for each time, in order.
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

package governor

import (
	"time"

	"holdfast/engine"
)

// busyRate is the least number of observations per second of a busy member. If a
// busy member has no observation for missingTime, it is stalled. Any other member
// may be silent because nobody writes.
const busyRate = 1.0

// silence is a time in which a member that wrote before completes no write. Its
// disk has stalled, or nobody writes.
type silence struct {
	since time.Time
	busy  bool // the member had at least busyRate before
}

// noteSilence notes which members are silent. A member that has never written
// anything is not silent. A silence ends only with an observation: the pace must
// not rise just because a disk has stalled for longer than all windows.
func (c *Controller) noteSilence(now time.Time, readings []Reading) {
	for _, r := range readings {
		switch quiet := c.silent[r.Host]; {
		case r.Missing:
		case len(c.compareReading(r, r.Recent)) > 0:
			delete(c.silent, r.Host)
		case quiet == nil && observationsOf(r.Long)+observationsOf(r.Idle) > 0:
			c.silent[r.Host] = &silence{since: now, busy: isBusy(r.Long) || isBusy(r.Idle)}
		}
	}
}

func observationsOf(p engine.LatencyPoint) (observed uint64) {
	for _, b := range []*engine.LatencyBucket{p.WALFsyncBucket, p.BackendCommitBucket} {
		if b != nil {
			observed = max(observed, b.Observed)
		}
	}
	return observed
}

func isBusy(p engine.LatencyPoint) bool {
	return float64(observationsOf(p)) >= busyRate*time.Duration(p.Window).Seconds() && observationsOf(p) > 0
}

// longestStall returns the zero Excess if no busy member has stalled for missingTime.
func (c *Controller) longestStall(now time.Time) (worst Excess) {
	for host, quiet := range c.silent {
		if stalled := now.Sub(quiet.since); quiet.busy && stalled >= missingTime && stalled > worst.Stalled {
			worst = Excess{Host: host, Stalled: stalled}
		}
	}
	return worst
}

// hasWriter reports whether a member has observations in the shortest window.
// Each write goes to all members of a cluster, so the silent ones are then not
// just idle.
func (c *Controller) hasWriter(readings []Reading) bool {
	_, observed := c.worstOf(readings, func(r Reading) engine.LatencyPoint { return r.Recent })
	return observed
}

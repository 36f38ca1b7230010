package governor

import (
	"time"

	"holdfast/engine"
)

// busyRate is the number of observations per second from which on a member that
// has none for missingTime is stalled. With fewer, perhaps nobody writes.
const busyRate = 1.0

// silence is the time in which a member that has written before completes
// nothing: its disk has stalled, or nobody writes.
type silence struct {
	since time.Time
	busy  bool // it had many observations before
}

// noteSilence notes which members are silent. A member that has never written
// anything is not silent. A silence ends only with an observation: a disk that
// stalls for longer than all windows is still no reason to speed up.
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

// longestStall returns the member that is stalled for the longest time, at
// least missingTime.
func (c *Controller) longestStall(now time.Time) (worst Excess) {
	for host, quiet := range c.silent {
		if stalled := now.Sub(quiet.since); quiet.busy && stalled >= missingTime && stalled > worst.Stalled {
			worst = Excess{Host: host, Stalled: stalled}
		}
	}
	return worst
}

// someWrite reports whether a member has observations in the shortest window,
// so that the members without them cannot be merely idle.
func (c *Controller) someWrite(readings []Reading) bool {
	_, observed := c.worstOf(readings, func(r Reading) engine.LatencyPoint { return r.Recent })
	return observed
}

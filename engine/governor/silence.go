package governor

import (
	"time"

	"holdfast/engine"
)

// busyRate is the least number of observations per second of a busy member. If a
// busy member has no observation for missingTime, it is stalled. Any other member
// may be silent because nobody writes.
const busyRate = 1.0

// silence begins when a member that has written before completes no more writes of
// one kind. Either its disk has stalled, or nobody writes. The WAL and the backend
// of a member may be on different disks, so each has its own silence.
type silence struct {
	since time.Time
	busy  bool // the member had at least busyRate before
}

type silenceKey struct {
	host   string
	metric engine.LatencyMetric
}

// noteSilence notes which members are silent. A member that has never written
// anything is not silent. A silence ends only with an observation: the pace must
// not rise just because a disk has stalled for longer than all windows. The silence
// of a backend begins only while the WAL of the member is busy: health checks cause
// fsyncs of the WAL, and no commits.
func (c *Controller) noteSilence(now time.Time, readings []Reading) {
	for _, r := range readings {
		if r.Missing {
			continue
		}
		for _, metric := range []engine.LatencyMetric{engine.WALFsync, engine.BackendCommit} {
			key := silenceKey{r.Host, metric}
			switch quiet := c.silent[key]; {
			case countOf(metric, r.Recent) > 0:
				delete(c.silent, key)
			case metric == engine.BackendCommit && !isBusy(engine.WALFsync, r.Recent):
			case quiet == nil && countOf(metric, r.Long)+countOf(metric, r.Idle) > 0:
				c.silent[key] = &silence{since: now, busy: isBusy(metric, r.Long) || isBusy(metric, r.Idle)}
			}
		}
	}
}

func countOf(metric engine.LatencyMetric, p engine.LatencyPoint) uint64 {
	bucket := p.WALFsyncBucket
	if metric == engine.BackendCommit {
		bucket = p.BackendCommitBucket
	}
	if bucket == nil {
		return 0
	}
	return bucket.Observed
}

func isBusy(metric engine.LatencyMetric, p engine.LatencyPoint) bool {
	count := countOf(metric, p)
	return count > 0 && float64(count) >= busyRate*time.Duration(p.Window).Seconds()
}

// longestStall returns the zero Excess if no busy member has stalled for missingTime.
func (c *Controller) longestStall(now time.Time) (worst Excess) {
	for key, quiet := range c.silent {
		if stalled := now.Sub(quiet.since); quiet.busy && stalled >= missingTime && stalled > worst.Stalled {
			worst = Excess{Host: key.host, Metric: key.metric, Stalled: stalled}
		}
	}
	return worst
}

// hasWriter reports whether a member has observations in the shortest window.
// Each write goes to the WAL and the backend of all members of a cluster, so a
// member that is silent meanwhile is not idle: its disk has stalled.
func (c *Controller) hasWriter(readings []Reading) bool {
	_, observed := c.worstOf(readings, func(r Reading) engine.LatencyPoint { return r.Recent })
	return observed
}

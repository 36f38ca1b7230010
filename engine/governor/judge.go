package governor

import (
	"time"

	"holdfast/engine"
)

// Reading is the disk latency of one member at one moment.
type Reading struct {
	Host    string
	Missing bool                // the member did not answer
	Recent  engine.LatencyPoint // of the last few seconds, without the slowest observations: the controller slows down by it if it is far too much
	Window  engine.LatencyPoint // of a longer time, in which a p99 means something; likewise
	Long    engine.LatencyPoint // of a time that is long enough for a p99: while it is over the limit, the pace does not rise
	Idle    engine.LatencyPoint // of the newest time in which nothing was staged; it raises the limits
}

// Excess compares a member with its limit.
type Excess struct {
	Host   string
	Metric engine.LatencyMetric
	P99    time.Duration
	Limit  time.Duration
	Window time.Duration
}

// shareOfLimit returns the share of the limit: more than 1 exceeds it.
func (x Excess) shareOfLimit() float64 {
	if x.Limit <= 0 {
		return 0
	}
	return float64(x.P99) / float64(x.Limit)
}

func (x Excess) isOver() bool { return x.shareOfLimit() > 1 }

// Limits bound the disk latency of a member.
type Limits struct{ WALFsync, BackendCommit time.Duration }

// LimitsOf returns the limits of a cluster.
func LimitsOf(l engine.Latency) Limits {
	return Limits{WALFsync: time.Duration(l.WALFsyncP99), BackendCommit: time.Duration(l.BackendCommitP99)}
}

// Raised returns the limits of a member with that idle latency.
func (l Limits) Raised(idle engine.LatencyPoint) Limits {
	return Limits{
		WALFsync:      max(l.WALFsync, durationOf(idle.WALFsyncP99*engine.IdleFactor)),
		BackendCommit: max(l.BackendCommit, durationOf(idle.BackendCommitP99*engine.IdleFactor)),
	}
}

// mostRaised is how many times its limit at the begin of a staging a member may get. An idle latency beyond it is a sick
// disk, not a busy one.
const mostRaised = 4

// raisedBy returns the limits of a member whose idle latency is known better than at the begin.
func (l Limits) raisedBy(idle engine.LatencyPoint) Limits {
	raised := l.Raised(idle)
	return Limits{WALFsync: min(raised.WALFsync, mostRaised*l.WALFsync), BackendCommit: min(raised.BackendCommit, mostRaised*l.BackendCommit)}
}

func durationOf(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// worstOf returns the latency that is highest in relation to its limit. observed is false if no member has written
// anything in the time of the points.
func (c *Controller) worstOf(readings []Reading, point func(Reading) engine.LatencyPoint) (worst Excess, observed bool) {
	for _, r := range readings {
		if r.Missing {
			continue
		}
		p, limits := point(r), c.limitsOf(r.Host).raisedBy(r.Idle)
		for _, x := range []struct {
			metric engine.LatencyMetric
			p99    float64
			bucket *engine.LatencyBucket
			limit  time.Duration
		}{
			{engine.WALFsync, p.WALFsyncP99, p.WALFsyncBucket, limits.WALFsync},
			{engine.BackendCommit, p.BackendCommitP99, p.BackendCommitBucket, limits.BackendCommit},
		} {
			if x.bucket == nil {
				continue
			}
			excess := Excess{Host: r.Host, Metric: x.metric, P99: durationOf(x.p99), Limit: x.limit, Window: time.Duration(p.Window)}
			if !observed || excess.shareOfLimit() > worst.shareOfLimit() {
				worst, observed = excess, true
			}
		}
	}
	return worst, observed
}

func (c *Controller) limitsOf(host string) Limits {
	if l, ok := c.Limits[host]; ok {
		return l
	}
	return c.Common
}

func missingHost(readings []Reading) string {
	for _, r := range readings {
		if r.Missing {
			return r.Host
		}
	}
	return ""
}

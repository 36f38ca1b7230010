package governor

import (
	"time"

	"holdfast/engine"
)

// Reading is the disk latency of one member at one moment.
type Reading struct {
	Host    string
	Missing bool                // the member did not answer
	Recent  engine.LatencyPoint // latency over RecentTime; the pace is slowed only if it is far above the limit
	Window  engine.LatencyPoint // latency over WindowTime; the pace is slowed if it is above the limit
	Full    engine.LatencyPoint // latency over WindowTime with the slowest observations, which Window leaves out
	Long    engine.LatencyPoint // latency over LongTime; the pace is slowed if it is above the limit, and rises only if it leaves room below the limit
	Idle    engine.LatencyPoint // latency of the newest time in which nothing was staged; it may raise the limits
}

// Excess compares the latency of a member with its limit. Without Metric, the
// member has not answered for Window; without Window, it has not answered before
// the staging either.
type Excess struct {
	Host   string
	Metric engine.LatencyMetric
	P99    time.Duration
	Limit  time.Duration
	Window time.Duration

	// Stalled is the time for which the member has completed no write of that
	// Metric, although it did before. Then P99 and Limit are empty.
	Stalled time.Duration

	idle time.Duration // p99 while nothing is staged; 0: not known
}

func (x Excess) shareOfLimit() float64 {
	if x.Limit <= 0 {
		return 0
	}
	return float64(x.P99) / float64(x.Limit)
}

func (x Excess) isOver() bool { return x.shareOfLimit() > 1 }

// aimShare is the share of the limit that the p99 of LongTime should not exceed at the
// floor. On a disk where only the floor and its pauses keep the limit, the p99 of
// the whole staging is close to the p99 of its minutes.
const aimShare = 0.95

func (x Excess) isAboveAim() bool { return x.shareOfLimit() > aimShare }

// calmShare is the share of the limit at or below which the pace may rise.
const calmShare = 0.75

// isCalm reports whether the latency leaves room below its limit: it is at most
// calmShare of the limit, or at most halfway from the idle latency to the limit.
// The second rule is for limits that the idle latency has raised. They are so
// close to the idle latency that the first rule alone would rarely be met.
func (x Excess) isCalm() bool {
	return x.P99 <= max(time.Duration(calmShare*float64(x.Limit)), (x.idle+x.Limit)/2)
}

// Limits limit the disk latency of a member.
type Limits struct{ WALFsync, BackendCommit time.Duration }

// LimitsOf returns the limits of a cluster.
func LimitsOf(l engine.Latency) Limits {
	return Limits{WALFsync: time.Duration(l.WALFsyncP99), BackendCommit: time.Duration(l.BackendCommitP99)}
}

// mostIdle bounds how far the idle latency raises the limits, as a multiple of the
// limits of the cluster. On a slower disk etcd hardly works: by default, a member
// sends a heartbeat each 100 ms and starts an election after a second.
const mostIdle = 10

// Raised returns limits that are at least IdleFactor times the idle latency of a
// member, but at most mostIdle times l.
func (l Limits) Raised(idle engine.LatencyPoint) Limits {
	highest := l.Highest()
	return Limits{
		WALFsync:      max(l.WALFsync, min(durationOf(idle.WALFsyncP99Seconds*engine.IdleFactor), highest.WALFsync)),
		BackendCommit: max(l.BackendCommit, min(durationOf(idle.BackendCommitP99Seconds*engine.IdleFactor), highest.BackendCommit)),
	}
}

// Highest returns the highest limits to which Raised can raise l.
func (l Limits) Highest() Limits {
	return Limits{WALFsync: mostIdle * l.WALFsync, BackendCommit: mostIdle * l.BackendCommit}
}

// P99Of returns the p99 of a latency. Either is 0 if it was not observed.
func P99Of(p engine.LatencyPoint) (walFsync, backendCommit time.Duration) {
	return durationOf(p.WALFsyncP99Seconds), durationOf(p.BackendCommitP99Seconds)
}

// mostRaised bounds how far the limits of a member rise during a staging, as a
// multiple of its limits at the start. If the idle latency rises further, the disk
// is broken and not busy.
const mostRaised = 4

// raisedBy returns the limits of a member whose idle latency has been measured
// again during the staging. common are the limits of the cluster.
func (l Limits) raisedBy(idle engine.LatencyPoint, common Limits) Limits {
	raised := common.Raised(idle)
	return Limits{
		WALFsync:      max(l.WALFsync, min(raised.WALFsync, mostRaised*l.WALFsync)),
		BackendCommit: max(l.BackendCommit, min(raised.BackendCommit, mostRaised*l.BackendCommit)),
	}
}

func durationOf(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// worstOf returns the latency that is highest in relation to its limit.
// observed is false if no member has answered that has written anything in the
// window of its point.
func (c *Controller) worstOf(readings []Reading, point func(Reading) engine.LatencyPoint) (worst Excess, observed bool) {
	for _, r := range readings {
		for _, x := range c.compareReading(r, point(r)) {
			if !observed || x.shareOfLimit() > worst.shareOfLimit() {
				worst, observed = x, true
			}
		}
	}
	return worst, observed
}

// areCalm reports whether all members have room below their limits, in the longest window. It ignores members that did not
// answer or have written nothing.
func (c *Controller) areCalm(readings []Reading) bool {
	for _, r := range readings {
		for _, x := range c.compareReading(r, r.Long) {
			if !x.isCalm() {
				return false
			}
		}
	}
	return true
}

// compareReading leaves out a latency without a write, and a member that did not answer.
func (c *Controller) compareReading(r Reading, p engine.LatencyPoint) []Excess {
	if r.Missing {
		return nil
	}
	var all []Excess
	limits := c.limitsOf(r.Host).raisedBy(r.Idle, c.Common)
	add := func(metric engine.LatencyMetric, p99, idle float64, limit time.Duration) {
		all = append(all, Excess{Host: r.Host, Metric: metric, P99: durationOf(p99), Limit: limit, Window: time.Duration(p.Window), idle: durationOf(idle)})
	}
	if p.WALFsyncBucket != nil {
		add(engine.WALFsync, p.WALFsyncP99Seconds, r.Idle.WALFsyncP99Seconds, limits.WALFsync)
	}
	if p.BackendCommitBucket != nil {
		add(engine.BackendCommit, p.BackendCommitP99Seconds, r.Idle.BackendCommitP99Seconds, limits.BackendCommit)
	}
	return all
}

func (c *Controller) limitsOf(host string) Limits {
	if l, ok := c.Limits[host]; ok {
		return l
	}
	return c.Common
}

// missingHost returns the host that has not answered for the longest time, or ""
// if all have.
func (c *Controller) missingHost(readings []Reading) (host string) {
	for _, r := range readings {
		if r.Missing && (host == "" || c.answered[r.Host].Before(c.answered[host])) {
			host = r.Host
		}
	}
	return host
}

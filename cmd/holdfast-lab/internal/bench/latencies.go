package bench

import (
	"fmt"
	"math"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/metrics"
)

// worstWindow is the length of the windows that worstP99 compares.
const worstWindow = 10 * time.Second

// These are the disk latencies of etcd, and their number.
const (
	walFsync = iota
	backendCommit
	latencyKinds
)

var latencyNames = [latencyKinds]string{walFsync: "WAL fsync", backendCommit: "backend commit"}

// histogram has the observations up to each bound, as etcd counts them.
type histogram []bucket

type bucket struct {
	UpTo  engine.Duration `json:"up_to,omitempty"` // 0: the last bucket, which has no bound
	Count uint64          `json:"count"`
}

// histograms are those of both latencies.
type histograms [latencyKinds]histogram

func histogramOf(h metrics.Histogram) histogram {
	var all histogram
	for _, b := range h.Buckets {
		upTo := engine.Duration(0)
		if !math.IsInf(b.UpperBound, 1) {
			upTo = engine.Duration(math.Round(b.UpperBound * float64(time.Second)))
		}
		all = append(all, bucket{upTo, b.Count})
	}
	return all
}

// quantile interpolates the value in its bucket. It is zero without observations.
func (h histogram) quantile(q float64) metrics.Estimate {
	var m metrics.Histogram
	for _, b := range h {
		bound := math.Inf(1)
		if b.UpTo > 0 {
			bound = time.Duration(b.UpTo).Seconds()
		}
		m.Buckets = append(m.Buckets, metrics.Bucket{UpperBound: bound, Count: b.Count})
	}
	e, _ := m.Quantile(q)
	return e
}

// shareWithin returns the share of the observations up to a bound of a bucket.
func (h histogram) shareWithin(bound time.Duration) float64 {
	if len(h) == 0 || h[len(h)-1].Count == 0 {
		return math.NaN()
	}
	for _, b := range h {
		if time.Duration(b.UpTo) == bound {
			return float64(b.Count) / float64(h[len(h)-1].Count)
		}
	}
	return math.NaN()
}

// boundsAround returns the bounds of buckets around the limit of a latency, and
// the next one, because the idle latency may raise the limit.
func boundsAround(kind int) []time.Duration {
	bound := time.Millisecond
	for limit := limitOf(kind); 2*bound <= limit; {
		bound *= 2
	}
	return []time.Duration{bound, 2 * bound, 4 * bound}
}

func limitOf(kind int) time.Duration {
	limits := (*engine.Latency)(nil).WithDefaults()
	return time.Duration([latencyKinds]engine.Duration{walFsync: limits.WALFsyncP99, backendCommit: limits.BackendCommitP99}[kind])
}

func (m member) idleP99(kind int) metrics.Estimate    { return m.Idle[kind].quantile(0.99) }
func (m member) stagingP99(kind int) metrics.Estimate { return m.Staging[kind].quantile(0.99) }
func (m member) stagingP50(kind int) metrics.Estimate { return m.Staging[kind].quantile(0.5) }
func (m member) stagingMax(kind int) metrics.Estimate { return m.Staging[kind].quantile(1) }

func highestEstimate(members []member, kind int, estimate func(member, int) metrics.Estimate) metrics.Estimate {
	var found metrics.Estimate
	for _, m := range members {
		if e := estimate(m, kind); e.Value > found.Value {
			found = e
		}
	}
	return found
}

// shareWithin returns the lowest share of the members that stand for the run.
func (r run) shareWithin(kind int, bound time.Duration) float64 {
	share := math.NaN()
	for _, m := range r.shownMembers() {
		if s := m.Staging[kind].shareWithin(bound); math.IsNaN(share) || s < share {
			share = s
		}
	}
	return share
}

// excess is the highest p99 while staging, in relation to its limit. The exact
// p99 may be anywhere in its bucket. The limit depends on the idle p99, which may
// be anywhere in its bucket, too. So the exact excess is between least and most.
type excess struct{ value, least, most float64 }

func (m member) latencyExcess() (e excess) {
	for kind := range latencyKinds {
		p99 := m.stagingP99(kind)
		if p99.Observed == 0 {
			continue
		}
		idle, limit := m.idleP99(kind), float64(limitOf(kind))
		raise := func(idle time.Duration) float64 { return max(limit, engine.IdleFactor*float64(idle)) }
		e.value = max(e.value, float64(p99.Value)/raise(idle.Value))
		e.least = max(e.least, float64(p99.Low)/raise(upperBound(idle)))
		e.most = max(e.most, float64(upperBound(p99))/raise(idle.Low))
	}
	return e
}

// upperBound returns the upper bound of a bucket, which may be infinite.
func upperBound(e metrics.Estimate) time.Duration {
	if e.High == 0 && e.Observed > 0 {
		return math.MaxInt64
	}
	return e.High
}

func highestExcess(members []member) (highest excess) {
	for _, m := range members {
		e := m.latencyExcess()
		highest = excess{max(highest.value, e.value), max(highest.least, e.least), max(highest.most, e.most)}
	}
	return highest
}

func (r run) latencyExcess() excess { return highestExcess(r.shownMembers()) }

func (e excess) verdict() verdict {
	switch {
	case e.most <= 1:
		return kept
	case e.least >= 1: // the p99 is above the lower bound of its bucket
		return missed
	}
	return undecided
}

func formatBucket(e metrics.Estimate) string {
	switch {
	case e.Observed == 0:
		return "no bucket"
	case e.High == 0:
		return "over " + formatTime(e.Low)
	}
	return fmt.Sprintf("%s to %s", formatTime(e.Low), formatTime(e.High))
}

package governor_test

import (
	"cmp"
	"math"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/governor"
)

// observed are the fsyncs of a simulated disk in a period.
type observed struct {
	at     time.Duration // end of that period
	window time.Duration
	all    []observation
}

func (o observed) Since(earlier governor.Counters) governor.Counters {
	before := earlier.(observed)
	return observed{at: o.at, window: o.at - before.at, all: o.all[len(before.all):]}
}

func (o observed) Plus(other governor.Counters) governor.Counters {
	more := other.(observed)
	return observed{at: more.at, window: o.window + more.window, all: slices.Concat(o.all, more.all)}
}

func (o observed) Latency(host string, exceptional int) engine.LatencyPoint {
	p := engine.LatencyPoint{Host: host, Window: engine.Duration(o.window)}
	if len(o.all) == 0 {
		return p
	}
	var took []time.Duration
	for _, x := range o.all {
		took = append(took, x.took)
	}
	slices.Sort(took)
	n := len(took)
	rank := min(int(math.Ceil(0.99*float64(n))), max(n-exceptional, (n+1)/2))
	p.WALFsyncP99Seconds, p.WALFsyncBucket = took[rank-1].Seconds(), &engine.LatencyBucket{Observed: uint64(n)}
	return p
}

func (o observed) IdleLatency(host string, exceptional int) engine.LatencyPoint {
	return o.Latency(host, exceptional)
}

func (d *disk) readCounters() observed {
	return observed{at: d.at, window: d.at, all: slices.Clip(d.all)}
}

// outcome has the results of a governed staging.
type outcome struct {
	idle, during float64 // p99 in seconds
	limit        float64
	took, paused time.Duration
	stop         engine.StopReason
	over         governor.Excess
}

// stageWatched stages that many bytes as a run does: it measures the idle
// latency, and learns from pauses. The p99 covers at least a minute, because
// the p99 of a few seconds is about the slowest fsync.
func (d *disk) stageWatched(bytes float64, longest time.Duration) outcome {
	d.knobs, d.frozen = governor.Knobs{}, true
	first := d.readCounters()
	d.simulate(governor.WindowTime)
	idle := d.readCounters().Since(first)
	settings := governor.Settings{
		Common: limits, Limits: map[string]governor.Limits{"etcd-0": limits.Raised(idle.Latency("etcd-0", 0))}, Members: 1,
		Began: began.Add(d.at), AbortAfter: cmp.Or(d.abortAfter, 5*time.Minute),
	}
	c, watch := governor.New(settings), governor.NewWatch(map[string]governor.Counters{"etcd-0": idle})
	from, decision := d.readCounters(), c.First()
	watch.AddScrapes(began.Add(d.at), []governor.Scrape{{Host: "etcd-0", Counters: from}}, time.Time{})
	var o outcome
	var idleSince time.Time
	for d.staged < bytes && o.took < longest && o.stop == "" {
		d.knobs = decision.Knobs
		d.simulate(time.Second)
		o.took += time.Second
		switch {
		case d.knobs.Slice > 0:
			idleSince = time.Time{}
		case idleSince.IsZero():
			idleSince = began.Add(d.at)
			fallthrough
		default:
			o.paused += time.Second
		}
		readings := watch.AddScrapes(began.Add(d.at), []governor.Scrape{{Host: "etcd-0", Counters: d.readCounters()}}, idleSince)
		decision = c.AddSample(began.Add(d.at), readings)
		o.stop, o.over = decision.Stop, decision.Over
	}
	d.knobs = governor.Knobs{}
	d.simulate(max(governor.LongTime-o.took, 0))
	o.idle, o.during = idle.Latency("", 0).WALFsyncP99Seconds, d.readCounters().Since(from).Latency("", 0).WALFsyncP99Seconds
	o.limit = settings.Limits["etcd-0"].WALFsync.Seconds()
	return o
}

package governor_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/governor"
)

var limits = governor.LimitsOf((*engine.Latency)(nil).WithDefaults())

// drawDisk draws a disk on which the floor keeps the limits.
func drawDisk(t *rapid.T) *disk {
	d := newDisk(int64(rapid.IntRange(0, 1<<20).Draw(t, "seed")))
	d.bandwidth = float64(rapid.IntRange(30, 2000).Draw(t, "MB/s")) * 1e6
	d.producer = float64(rapid.IntRange(5, 300).Draw(t, "producer")) * 1e6
	d.fsyncs = rapid.IntRange(10, 200).Draw(t, "fsyncs")
	d.base = time.Duration(rapid.IntRange(200, 4000).Draw(t, "base")) * time.Microsecond
	d.noise = rapid.Float64Range(0, 0.005).Draw(t, "noise")
	return d
}

// idleSettings measures the idle latency and raises the limits by this latency,
// as a run does.
func (d *disk) idleSettings() governor.Settings {
	d.knobs = governor.Knobs{}
	d.simulate(governor.WindowTime)
	d.at, d.next = 0, 0
	common := limits.Raised(d.latencyPoint(time.Hour))
	d.fsync = nil
	return governor.Settings{Common: common, AbortAfter: time.Hour}
}

// TestConverges checks that on a steady disk the limits are kept most of the
// time, and that the host gets more than the floor.
func TestConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDisk(t)
		s := d.idleSettings()
		later := d.governStaging(s, 3*time.Minute).samplesAfter(time.Minute)
		over := 0
		for _, x := range later {
			if x.decision.Stop != "" {
				t.Fatalf("stopped at %s: %+v", x.at, x.decision)
			}
			if r := x.reading.Window; r.WALFsyncP99Seconds > s.Common.WALFsync.Seconds() {
				over++
			}
		}
		// To keep the limits at all, the data of one slice at the floor must
		// fit.
		burst := d.producer * 0.002 / d.bandwidth
		if feasible := burst+3*d.base.Seconds() < s.Common.WALFsync.Seconds(); feasible && over > len(later)*2/3 {
			t.Errorf("over its limit in %d of %d windows", over, len(later))
		}
		staged := later.lastSample().staged - later[0].staged
		if least := 0.95 * governor.FloorShare() * d.producer * 119; staged < least { // on a slow disk, each slice takes longer
			t.Errorf("%.1f MB staged in two minutes, the floor is %.1f", staged/1e6, least/1e6)
		}
	})
}

// TestFastDiskGetsFullSpeed checks that a staging that slows no member has full
// speed within half a minute.
func TestFastDiskGetsFullSpeed(t *testing.T) {
	for _, fsyncs := range []int{0, 100} { // 0: a cluster without writes
		d := newDisk(1)
		d.bandwidth, d.fsyncs = 5e9, fsyncs
		last := d.governStaging(governor.Settings{Common: limits, AbortAfter: time.Hour}, 30*time.Second).lastSample()
		if last.knobs.Pause != 0 || last.decision.State != engine.GovernorFree {
			t.Errorf("%d fsyncs per second: %+v", fsyncs, last.decision)
		}
	}
}

// TestOscillationIsBounded checks that on a steady disk the slice stays within
// a factor, and rises slowly after each cut.
func TestOscillationIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDisk(t)
		d.noise = 0
		later := d.governStaging(d.idleSettings(), 4*time.Minute).samplesAfter(90 * time.Second)
		cuts := 0
		for i := 1; i < len(later); i++ {
			before, now := later[i-1].knobs, later[i].knobs
			if now.Slice > 0 && now.Rate < before.Rate {
				cuts++
			}
			if before.Slice > 0 && now.Slice > before.Slice*5/4+2*time.Millisecond {
				t.Errorf("at %s the slice rose from %s to %s", later[i].at, before.Slice, now.Slice)
			}
		}
		if most := len(later) / 6; cuts > most {
			t.Errorf("%d cuts in %d s", cuts, len(later))
		}
	})
}

// TestFloor checks that a staging that continues makes progress at the floor on
// any disk, and that no pause exceeds its limit.
func TestFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDisk(t)
		d.load = drawLoad(t)
		s := d.idleSettings()
		s.AbortAfter = time.Hour
		all := d.governStaging(s, 5*time.Minute)
		var runs, pause time.Duration
		for _, x := range all {
			if x.knobs.Slice == 0 {
				pause += time.Second
			} else {
				runs, pause = runs+time.Second, 0
			}
			if pause > 10*time.Second {
				t.Fatalf("a pause of %s", pause)
			}
			if low := x.knobs; low.Rate < governor.FloorRate || low.Slice > 0 && (low.Slice < time.Millisecond || low.Pause > time.Second) {
				t.Fatalf("below the floor: %+v", low)
			}
		}
		if runs < 5*time.Minute*45/100 {
			t.Errorf("it ran %s of 5m", runs)
		}
	})
}

// drawLoad draws a load of other programs that changes every few seconds.
func drawLoad(t *rapid.T) func(time.Duration) float64 {
	loads := rapid.SliceOfN(rapid.Float64Range(0, 0.99), 1, 40).Draw(t, "loads")
	each := time.Duration(rapid.IntRange(1, 30).Draw(t, "each")) * time.Second
	return func(at time.Duration) float64 { return loads[int(at/each)%len(loads)] }
}

// TestAbort checks that the staging stops after abort_after if the limits
// cannot be kept even at the floor, and that the decision names the member.
func TestAbort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDisk(t)
		s := d.idleSettings()
		s.AbortAfter = time.Duration(rapid.IntRange(5, 120).Draw(t, "abort")) * time.Second
		slow := time.Duration(rapid.IntRange(0, 60).Draw(t, "slow")) * time.Second
		base := d.base
		d.load = func(at time.Duration) float64 {
			if at >= slow {
				d.base = 10*base + s.Common.WALFsync // no pace keeps this limit
			}
			return 0
		}
		last := d.governStaging(s, 10*time.Minute).lastSample()
		x := last.decision
		if x.Stop != engine.StopLatency || x.Over.Host != "etcd-0" || x.Over.Metric != engine.WALFsync || x.Over.P99 <= x.Over.Limit || x.Over.Limit != s.Common.WALFsync {
			t.Fatalf("%s: %+v", last.at, x)
		}
		if last.at < s.AbortAfter || last.at > slow+s.AbortAfter+50*time.Second {
			t.Errorf("slow at %s, abort_after %s, stopped at %s", slow, s.AbortAfter, last.at)
		}
	})
}

// TestNoAbortWhileLimitsAreKept checks that a load that comes and goes never
// stops a staging if the member recovers in between.
func TestNoAbortWhileLimitsAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDisk(t)
		d.bandwidth, d.producer, d.noise = 1e9, 50e6, 0
		s := d.idleSettings()
		s.AbortAfter = 30 * time.Second
		d.load = func(at time.Duration) float64 {
			if at%time.Minute < 10*time.Second {
				return 0.97
			}
			return 0
		}
		if last := d.governStaging(s, 5*time.Minute).lastSample(); last.decision.Stop != "" {
			t.Errorf("%s: %+v", last.at, last.decision)
		}
	})
}

// TestDeadline checks that the staging stops at the deadline on any disk.
func TestDeadline(t *testing.T) {
	d := newDisk(1)
	last := d.governStaging(governor.Settings{Common: limits, AbortAfter: time.Hour, Deadline: began.Add(90 * time.Second)}, time.Hour).lastSample()
	if last.decision.Stop != engine.StopDeadline || last.at != 90*time.Second {
		t.Errorf("%s: %+v", last.at, last.decision)
	}
}

// TestMissingSampleIsNotGood checks that the pace never rises while a member
// does not answer. After some time the pace falls, and at last the staging
// stops.
func TestMissingSampleIsNotGood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDisk(t)
		from := time.Duration(rapid.IntRange(0, 60).Draw(t, "from")) * time.Second
		d.missing = func(at time.Duration) bool { return at > from }
		s := d.idleSettings()
		s.AbortAfter = time.Minute
		all := d.governStaging(s, 10*time.Minute)
		before := governor.Knobs{}
		for i, x := range all.samplesAfter(from + time.Second) {
			if k := x.decision.Knobs; i > 0 && before.Slice > 0 && (k.Slice > before.Slice || k.Rate > before.Rate) {
				t.Fatalf("at %s it went from %+v to %+v", x.at, before, k)
			}
			before = x.decision.Knobs
		}
		if x := all.lastSample().decision; x.Stop != engine.StopMissing || x.Over.Host != "etcd-0" {
			t.Errorf("%+v", x)
		}
	})
}

// TestSafeKnobsWereObserved checks the knobs of a host that hears nothing more
// from the bastion: they are never faster than the knobs that a complete good
// sample has confirmed.
func TestSafeKnobsWereObserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDisk(t)
		d.load = drawLoad(t)
		s := d.idleSettings()
		confirmed := governor.New(governor.Settings{Common: s.Common}).First().Safe // the floor
		for _, x := range d.governStaging(s, 2*time.Minute) {
			good := x.reading.Recent.WALFsyncP99Seconds <= s.Common.WALFsync.Seconds()
			if good && x.knobs.Rate > confirmed.Rate {
				confirmed = x.knobs
			}
			if x.decision.Safe.Rate > confirmed.Rate || x.decision.Safe.Slice == 0 {
				t.Fatalf("at %s %+v is safe, %+v was confirmed", x.at, x.decision.Safe, confirmed)
			}
		}
	})
}

// TestLongWindowHoldsThePace checks that the pace does not rise while the p99
// of the last minute exceeds the limit, even if the last seconds are good. The
// pace falls every half minute.
func TestLongWindowHoldsThePace(t *testing.T) {
	c := governor.New(governor.Settings{Common: limits, AbortAfter: time.Hour, Members: 1, Began: began})
	point := func(p99 float64) engine.LatencyPoint {
		return engine.LatencyPoint{WALFsyncP99Seconds: p99, WALFsyncBucket: &engine.LatencyBucket{Observed: 100}}
	}
	before, falls := c.First().Knobs, 0
	for second := 1; second <= 90; second++ {
		d := c.AddSample(began.Add(time.Duration(second)*time.Second), []governor.Reading{{Host: "etcd-0", Recent: point(0.002), Window: point(0.002), Long: point(0.012)}})
		if d.Knobs.Rate > before.Rate {
			t.Fatalf("after %d s it rose to %+v", second, d.Knobs)
		}
		if d.Knobs.Slice > 0 && d.Knobs.Rate < before.Rate {
			falls++
		}
		before = d.Knobs
	}
	if falls != 2 && falls != 3 {
		t.Errorf("it fell %d times", falls)
	}
}

// TestIdleLatencyRaisesLimits checks that a high idle latency of a member does
// not slow the staging, up to four times the limit of the member. A higher idle
// latency means a broken disk.
func TestIdleLatencyRaisesLimits(t *testing.T) {
	for p99, slowed := range map[float64]bool{0.030: false, 0.060: true} {
		c := governor.New(governor.Settings{Common: limits, AbortAfter: time.Hour, Members: 1, Began: began})
		point := engine.LatencyPoint{WALFsyncP99Seconds: p99, WALFsyncBucket: &engine.LatencyBucket{Observed: 100}}
		d := c.AddSample(began.Add(time.Second), []governor.Reading{{Host: "etcd-0", Recent: point, Window: point, Idle: point}})
		if (d.State == engine.GovernorSlowed) != slowed {
			t.Errorf("%g s: %+v", p99, d)
		}
	}
}

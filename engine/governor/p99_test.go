package governor_test

import (
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/governor"
	"holdfast/engine/longtest"
)

// realDisk returns a disk of that bandwidth with 20 fsyncs per second and mean
// delay of them by the machine. Slices and pauses take longer because the host
// starts programs, each flush has a cost, and every fifth 25 MB are small
// objects.
func realDisk(seed int64, bandwidth float64, delay time.Duration) *disk {
	d := newDisk(seed)
	d.bandwidth, d.fsyncs = bandwidth, 20
	d.start, d.turn, d.flush = time.Millisecond, 5*time.Millisecond, 2*time.Millisecond
	d.small = func(staged float64) bool { return int(staged/25e6)%5 == 1 }
	d.stall = func() time.Duration { return time.Duration(d.random.ExpFloat64() * float64(delay)) }
	return d
}

// TestKeepsTheP99 checks the p99 of a whole staging of 500 MB: it stays within
// 10 ms, or 1.25 times the idle latency, on a slow disk and on a fast one. This
// also holds if the machine delays each fsync a little. The staging ends within
// minutes.
func TestKeepsTheP99(t *testing.T) {
	for _, c := range []struct {
		bandwidth float64
		delay     time.Duration // mean delay that the machine adds
		small     bool          // whether some objects are small
		most      float64       // highest p99, as a multiple of the limit
		longest   time.Duration
	}{
		{50e6, 650 * time.Microsecond, true, 1, 6 * time.Minute}, // idle p99: half of the limit
		{50e6, 650 * time.Microsecond, false, 1, 5 * time.Minute},
		{50e6, time.Millisecond, true, 1, 7 * time.Minute},
		{50e6, 4 * time.Millisecond, true, 1.05, 6 * time.Minute}, // the limit is 1.25 times idle
		{50e6, 4 * time.Millisecond, false, 1.1, 2 * time.Minute},
		{200e6, time.Millisecond, true, 1, time.Minute},
		{200e6, time.Millisecond, false, 1, 15 * time.Second},
		{200e6, 4 * time.Millisecond, true, 1.05, 3 * time.Minute},
	} {
		for seed := range int64(longtest.Choose(2, 8, 8)) {
			d := realDisk(seed, c.bandwidth, c.delay)
			if !c.small {
				d.small = nil
			}
			o := d.stageWatched(500e6, 40*time.Minute)
			if o.stop != "" || o.during > c.most*o.limit || o.took > c.longest {
				t.Errorf("%.0f MB/s, delays of %s, small objects %t: idle %.1f ms, limit %.1f, during %.1f; took %s, paused %s %s", c.bandwidth/1e6, c.delay, c.small, o.idle*1e3, o.limit*1e3, o.during*1e3, o.took, o.paused, o.stop)
			}
		}
	}
}

// TestRaisedLimitLeavesRoom checks a limit of 1.25 times the idle latency. The
// pace rises although the latency of an undisturbed member is near the limit.
func TestRaisedLimitLeavesRoom(t *testing.T) {
	idle := engine.LatencyPoint{WALFsyncP99Seconds: 0.014, WALFsyncBucket: &engine.LatencyBucket{Observed: 1000}}
	c := governor.New(governor.Settings{Common: limits, AbortAfter: time.Hour, Members: 1, Began: began, Limits: map[string]governor.Limits{"etcd-0": limits.Raised(idle)}})
	before := c.First().Knobs
	for second := range 30 {
		d := c.AddSample(began.Add(time.Duration(second)*time.Second), []governor.Reading{{Host: "etcd-0", Recent: idle, Window: idle, Long: idle, Idle: idle}})
		if d.Knobs.Rate <= before.Rate && d.Knobs.Pause > 0 {
			t.Fatalf("after %d s it is at %+v", second, d.Knobs)
		}
		before = d.Knobs
	}
	if before.Slice <= time.Millisecond || before.Pause > 0 {
		t.Errorf("after half a minute it is at %+v", before)
	}
}

// TestBusyMachineEndsStaging checks a machine that delays each fsync by far
// more than the staging does. The staging ends, and is not slowed much.
func TestBusyMachineEndsStaging(t *testing.T) {
	for seed := range int64(5) {
		d := newDisk(seed)
		d.bandwidth, d.fsyncs = 50e6, 20
		d.stall = func() time.Duration {
			x := d.random.ExpFloat64()
			return time.Duration(x * x * 4 * float64(time.Millisecond))
		}
		if o := d.stageWatched(500e6, 40*time.Minute); o.stop != "" || o.during > 1.5*o.limit || o.took > 12*time.Minute {
			t.Errorf("idle %.1f ms, limit %.1f, during %.1f; took %s, paused %s %s", o.idle*1e3, o.limit*1e3, o.during*1e3, o.took, o.paused, o.stop)
		}
	}
}

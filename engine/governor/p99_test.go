package governor_test

import (
	"testing"
	"time"
)

// TestKeepsTheP99 checks the p99 of a whole staging of 500 MB: it stays within
// 10 ms, or 1.25 times the idle latency, on a slow disk and on a fast one. This
// also holds if the machine delays each fsync a little. The staging ends in
// time.
func TestKeepsTheP99(t *testing.T) {
	for _, c := range []struct {
		bandwidth float64
		delay     time.Duration // mean delay that the machine adds
		most      float64       // highest p99, as a multiple of the limit
		longest   time.Duration
	}{
		{50e6, time.Millisecond, 1, 12 * time.Minute},
		{50e6, 4 * time.Millisecond, 1.05, 12 * time.Minute},
		{200e6, time.Millisecond, 1, 15 * time.Second},
		{200e6, 4 * time.Millisecond, 1.05, time.Minute},
	} {
		for seed := range int64(3) {
			d := newDisk(seed)
			d.bandwidth, d.fsyncs = c.bandwidth, 20
			d.stall = func() time.Duration { return time.Duration(d.random.ExpFloat64() * float64(c.delay)) }
			o := d.stageWatched(500e6, 40*time.Minute)
			if o.stop != "" || o.during > c.most*o.limit || o.took > c.longest {
				t.Errorf("%.0f MB/s, delays of %s: idle %.1f ms, limit %.1f, during %.1f; took %s, paused %s %s", c.bandwidth/1e6, c.delay, o.idle*1e3, o.limit*1e3, o.during*1e3, o.took, o.paused, o.stop)
			}
		}
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

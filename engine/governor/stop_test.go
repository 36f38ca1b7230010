package governor_test

import (
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/governor"
)

// steadyDisk returns a disk with 20 fsyncs per second and large objects only.
func steadyDisk(seed int64, bandwidth float64) *disk {
	d := realDisk(seed, bandwidth, 650*time.Microsecond)
	d.small = nil
	return d
}

// TestAbortCountsTheP99OfAMinute checks disks on which the floor exceeds the limit of the p99, but hardly in windows of
// ten seconds without their slowest observations. The staging stops some minutes after abort_after at most, with the
// latency of the last minute. On a disk of 35 MB/s the floor keeps the limit, and the staging goes on.
func TestAbortCountsTheP99OfAMinute(t *testing.T) {
	for bandwidth, stops := range map[float64]bool{22e6: true, 27e6: true, 30e6: true, 35e6: false} {
		d := steadyDisk(1, bandwidth)
		d.abortAfter = 5 * time.Minute
		o := d.stageWatched(100e9, 15*time.Minute)
		if !stops {
			if o.stop != "" {
				t.Errorf("%.0f MB/s: it stops after %s", bandwidth/1e6, o.took)
			}
			continue
		}
		if o.stop != engine.StopLatency || o.took > 8*time.Minute || o.over.P99 <= o.over.Limit || o.over.Host != "etcd-0" {
			t.Errorf("%.0f MB/s: %q after %s: %+v", bandwidth/1e6, o.stop, o.took, o.over)
		}
	}
}

// TestNoAbortByARareExcess checks minutes whose p99 exceeds the limit because of a short time in them: the member
// recovers in between, so the staging goes on.
func TestNoAbortByARareExcess(t *testing.T) {
	all := decideEach(governor.Settings{AbortAfter: 30 * time.Second, Members: 1}, func(second int) []governor.Reading {
		good, bad := pointOf(time.Minute, 0.002, 1000), pointOf(time.Minute, 0.012, 1000)
		r := governor.Reading{Host: "etcd-0", Recent: good, Window: good, Full: good, Long: bad}
		if second%60 < 20 {
			r.Full = bad
		}
		return []governor.Reading{r}
	})
	for second, d := range all {
		if d.Stop != "" {
			t.Fatalf("it stops after %d s", second)
		}
	}
	if d := all[len(all)-1]; d.Knobs.Slice > time.Millisecond || d.Knobs.Pause < 100*time.Millisecond {
		t.Errorf("it is not at the floor: %+v", d)
	}
}

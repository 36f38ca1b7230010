package governor_test

import (
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/governor"
	"holdfast/engine/longtest"
)

// steadyDisk returns a disk with 20 fsyncs per second and large objects only.
func steadyDisk(seed int64, bandwidth float64) *disk {
	d := realDisk(seed, bandwidth, 650*time.Microsecond)
	d.small = nil
	return d
}

// TestAbortCountsTheP99OfAMinute checks disks on which the floor exceeds the limit of the p99, but hardly in windows of
// ten seconds without their slowest observations. The staging stops some minutes after abort_after at most, with the
// latency of the last minute. On a disk of 30 MB/s or more the floor and its pauses keep the limit, and the staging goes on.
func TestAbortCountsTheP99OfAMinute(t *testing.T) {
	for bandwidth, stops := range map[float64]bool{22e6: true, 27e6: true, 30e6: false, 35e6: false} {
		if near := bandwidth > 22e6 && bandwidth < 35e6; !near && !longtest.Slow() {
			continue
		}
		d := steadyDisk(1, bandwidth)
		d.abortAfter = 5 * time.Minute
		o := d.stageWatched(100e9, 15*time.Minute)
		if !stops {
			if o.stop != "" || o.during > 1.1*o.limit {
				t.Errorf("%.0f MB/s: %q after %s, p99 %.1f ms, limit %.1f", bandwidth/1e6, o.stop, o.took, o.during*1e3, o.limit*1e3)
			}
			continue
		}
		if o.stop != engine.StopLatency || o.took > 8*time.Minute || o.over.P99 <= o.over.Limit || o.over.Host != "etcd-0" {
			t.Errorf("%.0f MB/s: %q after %s: %+v", bandwidth/1e6, o.stop, o.took, o.over)
		}
	}
}

// minuteReading returns a reading with a good window of the controller. overMinute says whether the p99 of the last minute
// exceeds the limit, and overWindow whether that of all observations of the last ten seconds does.
func minuteReading(overMinute, overWindow bool) governor.Reading {
	r := steadyReading("etcd-0", 0.002)
	over := pointOf(time.Minute, 0.012, 1000)
	if overMinute {
		r.Long = over
	}
	if overWindow {
		r.Full = over
	}
	return r
}

// firstStop returns the second of the first decision to stop, and of the last time before it at which the pace fell to
// the floor. It returns 0 if there is none.
func firstStop(all []governor.Decision) (stop, floor int) {
	for second, d := range all {
		atFloor := d.Knobs.Pause >= time.Duration(engine.FloorPace().Pause)
		switch {
		case d.Stop != "":
			return second, floor
		case !atFloor:
			floor = 0
		case floor == 0:
			floor = second
		}
	}
	return 0, floor
}

// TestNoAbortByARareExcess checks minutes whose p99 exceeds the limit because of a short time in them: the member
// recovers in between, so the staging goes on. It also goes on if the p99 of the minute is within the limit.
func TestNoAbortByARareExcess(t *testing.T) {
	for name, reading := range map[string]func(second int) governor.Reading{
		"short":     func(second int) governor.Reading { return minuteReading(true, second%60 < 20) },
		"recovered": func(second int) governor.Reading { return minuteReading(true, second <= 60) },
		"good minute": func(int) governor.Reading {
			r := minuteReading(false, true)
			r.Long = pointOf(time.Minute, 0.009, 1000) // within the limit, and too high to rise
			return r
		},
	} {
		all := decideEach(governor.Settings{AbortAfter: 50 * time.Second, Members: 1}, func(second int) []governor.Reading {
			if second == 1 {
				return []governor.Reading{steadyReading("etcd-0", 0.5)}
			}
			return []governor.Reading{reading(second)}
		})
		if stop, _ := firstStop(all); stop > 0 {
			t.Errorf("%s: it stops after %d s", name, stop)
		}
	}
}

// TestOnlyTimeAtTheFloorCounts checks that abort_after begins when the pace has reached the floor.
func TestOnlyTimeAtTheFloorCounts(t *testing.T) {
	all := decideEach(governor.Settings{AbortAfter: 10 * time.Second, Members: 1}, func(int) []governor.Reading {
		return []governor.Reading{steadyReading("etcd-0", 0.012)}
	})
	if stop, floor := firstStop(all); floor < 5 || stop != floor+10 {
		t.Errorf("at the floor after %d s, it stops after %d s", floor, stop)
	}
}

// TestAMinuteAtTheFloorComesFirst checks that the p99 of a minute counts only if all of this minute was at the floor,
// also if the pace was at the floor before, and that the first window there does not count.
func TestAMinuteAtTheFloorComesFirst(t *testing.T) {
	farTooSlow := steadyReading("etcd-0", 0.5)
	all := decideEach(governor.Settings{AbortAfter: 15 * time.Second, Members: 1}, func(second int) []governor.Reading {
		switch {
		case second == 1 || second == 40:
			return []governor.Reading{farTooSlow}
		case second > 25 && second < 40:
			return []governor.Reading{minuteReading(false, false)}
		}
		return []governor.Reading{minuteReading(true, true)}
	})
	if stop, floor := firstStop(all); floor != 40 || stop != 115 {
		t.Errorf("at the floor after %d s, it stops after %d s", floor, stop)
	}
	all = decideEach(governor.Settings{AbortAfter: time.Second, Members: 1}, func(second int) []governor.Reading {
		if second == 1 {
			return []governor.Reading{farTooSlow}
		}
		return []governor.Reading{minuteReading(true, second <= 22 || second > 56)}
	})
	if stop, _ := firstStop(all); stop < 65 {
		t.Errorf("it stops after %d s", stop)
	}
}

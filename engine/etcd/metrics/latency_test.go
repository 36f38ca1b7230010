package metrics

import (
	"math"
	"testing"
	"time"
)

// histogramWith returns a histogram with quick observations of 1 ms and slow
// observations of 100 ms.
func histogramWith(quick, slow uint64) Histogram {
	return Histogram{Sum: float64(quick)*0.001 + float64(slow)*0.1, Buckets: []Bucket{{0.001, quick}, {0.128, quick + slow}, {math.Inf(1), quick + slow}}}
}

// TestExceptionalObservations checks that Latency ignores only the given number of slow observations.
func TestExceptionalObservations(t *testing.T) {
	for _, c := range []struct {
		quick, slow uint64
		exceptional int
		isSlow      bool
	}{
		{57, 3, 0, true},
		{57, 3, 3, false},
		{56, 4, 3, true},
		{0, 2, 3, true}, // all observations are slow
		{1000, 9, 3, false},
		{1000, 11, 3, true}, // with many observations, the p99 decides
	} {
		h := histogramWith(c.quick, c.slow)
		point := Counters{WALFsync: h, BackendCommit: h}.Latency("etcd-0", time.Second, c.exceptional)
		if got := point.WALFsyncP99Seconds > 0.001; got != c.isSlow || point.BackendCommitP99Seconds != point.WALFsyncP99Seconds {
			t.Errorf("%d and %d, without %d: %+v", c.quick, c.slow, c.exceptional, point)
		}
	}
	stalled := Histogram{Buckets: []Bucket{{0.001, 4}, {1.024, 4}, {8.192, 5}, {math.Inf(1), 5}}}
	if point := (Counters{WALFsync: stalled}).Latency("etcd-0", time.Second, 3); point.WALFsyncP99Seconds < 1 {
		t.Errorf("a stall is no exception: %+v", point)
	}
	if point := (Counters{}).Latency("etcd-0", time.Second, 3); point.WALFsyncBucket != nil {
		t.Errorf("nothing observed: %+v", point)
	}
}

// TestIdleLatencyIgnoresSlowMoments checks that a few slow observations do not raise the idle latency, also if one of
// them is a stall, and that many do.
func TestIdleLatencyIgnoresSlowMoments(t *testing.T) {
	stalled := func(quick, slow uint64) Histogram {
		return Histogram{Buckets: []Bucket{{0.002, quick}, {0.512, quick}, {1.024, quick + slow}, {8.192, quick + slow}, {math.Inf(1), quick + slow}}}
	}
	veryLong := Histogram{Buckets: []Bucket{{0.002, 59}, {1.024, 59}, {8.192, 60}, {math.Inf(1), 60}}}
	for _, c := range []struct {
		h      Histogram
		isSlow bool
	}{{stalled(59, 1), false}, {stalled(58, 2), false}, {stalled(57, 3), true}, {veryLong, false}, {stalled(9, 1), true}, {stalled(990, 10), false}, {stalled(985, 15), true}} {
		point := Counters{WALFsync: c.h, BackendCommit: c.h}.IdleLatency("etcd-0", 10*time.Second, 2)
		if slow := point.WALFsyncP99Seconds > 0.002; slow != c.isSlow || point.BackendCommitP99Seconds != point.WALFsyncP99Seconds {
			t.Errorf("%+v: %+v", c.h, point)
		}
	}
}

func TestPlus(t *testing.T) {
	sum := Counters{WALFsync: histogramWith(10, 1)}.Plus(Counters{WALFsync: histogramWith(20, 2), BackendCommit: histogramWith(1, 0)})
	if sum.WALFsync.Count() != 33 || sum.WALFsync.Buckets[0].Count != 30 || sum.BackendCommit.Count() != 1 {
		t.Errorf("%+v", sum)
	}
	other := Histogram{Buckets: []Bucket{{0.5, 1}, {math.Inf(1), 1}}}
	for _, strange := range []Histogram{other, {}, {Buckets: []Bucket{{0.5, 1}, {0.6, 2}, {math.Inf(1), 3}}}} {
		if got := histogramWith(10, 1).addHistogram(strange); got.Count() != 11 {
			t.Errorf("plus %+v: %+v", strange, got)
		}
	}
}

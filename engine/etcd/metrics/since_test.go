package metrics

import (
	"math"
	"testing"
)

// TestSinceSubtractsBothHistograms checks that the observations of earlier scrapes count in neither of the latencies.
func TestSinceSubtractsBothHistograms(t *testing.T) {
	first := Counters{WALFsync: histogramWith(0, 5), BackendCommit: histogramWith(0, 7), Started: 1}
	second := Counters{WALFsync: histogramWith(100, 5), BackendCommit: histogramWith(200, 7), Started: 1}
	delta := second.Since(first)
	if delta.WALFsync.Count() != 100 || delta.BackendCommit.Count() != 200 {
		t.Errorf("%+v", delta)
	}
	if p := second.P99Since(first, "etcd-0"); p.WALFsyncP99Seconds > 0.001 || p.BackendCommitP99Seconds > 0.001 || p.BackendCommitBucket.Observed != 200 {
		t.Errorf("%+v", p)
	}
}

// TestRestartsAreSeen checks that after a restart all observations are new, although no bucket has fewer than before:
// by the start time alone, and by the changes of the leader alone.
func TestRestartsAreSeen(t *testing.T) {
	first := Counters{WALFsync: histogramWith(10, 1), BackendCommit: histogramWith(10, 1), Started: 1, LeaderChanges: 3}
	for name, change := range map[string]func(*Counters){
		"start time":        func(c *Counters) { c.Started = 2 },
		"changes of leader": func(c *Counters) { c.LeaderChanges = 2 },
	} {
		restarted := Counters{WALFsync: histogramWith(50, 1), BackendCommit: histogramWith(60, 1), Started: 1, LeaderChanges: 3}
		change(&restarted)
		if got := restarted.Since(first); got.WALFsync.Count() != 51 || got.BackendCommit.Count() != 61 || got.LeaderChanges != restarted.LeaderChanges {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestOtherBoundsAreARestart checks that an etcd with other bounds of its buckets has new observations only: counts of
// different bounds cannot be subtracted.
func TestOtherBoundsAreARestart(t *testing.T) {
	earlier := Histogram{Buckets: []Bucket{{0.002, 1}, {0.128, 2}, {math.Inf(1), 2}}}
	more := Histogram{Buckets: []Bucket{{0.001, 1}, {0.002, 1}, {0.128, 2}, {math.Inf(1), 2}}}
	for _, other := range []Histogram{earlier, more, {}} {
		if got := histogramWith(10, 1).countsSince(other); got.Count() != 11 || got.Buckets[0].Count != 10 {
			t.Errorf("since %+v: %+v", other, got)
		}
	}
}

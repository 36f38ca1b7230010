package governor_test

import (
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/governor"
)

// pointOf returns a point with that many observations in a window.
func pointOf(window time.Duration, p99 float64, observed uint64) engine.LatencyPoint {
	p := engine.LatencyPoint{Window: engine.Duration(window)}
	if observed > 0 {
		p.WALFsyncP99Seconds, p.WALFsyncBucket = p99, &engine.LatencyBucket{Observed: observed}
	}
	return p
}

// writingReading returns the reading of a member that does some fsyncs of 2 ms in each second for which writes is true.
func writingReading(host string, second int, each uint64, writes func(second int) bool) governor.Reading {
	count := func(window time.Duration) (n uint64) {
		for s := max(second-int(window/time.Second), 0) + 1; s <= second; s++ {
			if writes(s) {
				n += each
			}
		}
		return n
	}
	r := governor.Reading{Host: host}
	for window, p := range map[time.Duration]*engine.LatencyPoint{governor.RecentTime: &r.Recent, governor.WindowTime: &r.Window, governor.LongTime: &r.Long} {
		*p = pointOf(min(window, time.Duration(second)*time.Second), 0.002, count(window))
	}
	return r
}

const stallBegins = 10 // second after which no fsync ends

// decideEach returns the decision of each second of two minutes.
func decideEach(s governor.Settings, readings func(second int) []governor.Reading) []governor.Decision {
	s.Common, s.Began = limits, began
	c := governor.New(s)
	all := []governor.Decision{c.First()}
	for second := 1; second <= 120; second++ {
		all = append(all, c.AddSample(began.Add(time.Duration(second)*time.Second), readings(second)))
	}
	return all
}

// TestStalledDiskNeverSpeedsUp checks a disk that stalls: no fsync ends, but the metrics still answer. The pace never
// rises and soon falls to the floor. This also holds when the last fsync is older than all windows. The safe pace does
// not rise, either. Without another member that writes, the staging goes on, because perhaps nobody writes.
func TestStalledDiskNeverSpeedsUp(t *testing.T) {
	all := decideEach(governor.Settings{AbortAfter: 20 * time.Second, Members: 1}, func(second int) []governor.Reading {
		return []governor.Reading{writingReading("etcd-0", second, 20, func(s int) bool { return s <= stallBegins })}
	})
	stalled := all[stallBegins+3:]
	for i, d := range stalled[1:] {
		if before := stalled[i]; before.Knobs.Slice > 0 && d.Knobs.Rate > before.Knobs.Rate || d.Safe.Rate > before.Safe.Rate || d.Stop != "" {
			t.Fatalf("%d s: from %+v to %+v", i, before, d)
		}
	}
	if d := stalled[20]; d.Safe.Pause < time.Duration(engine.FloorPace().Pause) || d.State == engine.GovernorFree || d.Cause.Host != "etcd-0" || d.Cause.Stalled < 20*time.Second {
		t.Errorf("after 20 s: %+v", d)
	}
}

// TestStalledMemberStopsStaging checks that the staging stops after abort_after if no fsync of one member ends, while
// another member writes. The decision names the member.
func TestStalledMemberStopsStaging(t *testing.T) {
	for second, d := range decideEach(governor.Settings{AbortAfter: 30 * time.Second, Members: 2}, func(second int) []governor.Reading {
		return []governor.Reading{
			writingReading("etcd-0", second, 20, func(int) bool { return true }),
			writingReading("etcd-1", second, 20, func(s int) bool { return s <= stallBegins }),
		}
	}) {
		if d.Stop == "" {
			continue
		}
		if d.Stop != engine.StopStalled || d.Over.Host != "etcd-1" || second < stallBegins+35 || second > stallBegins+65 {
			t.Errorf("after %d s: %+v", second, d)
		}
		return
	}
	t.Error("it does not stop")
}

// TestStalledBackendIsSeenBesideItsWAL checks a member whose WAL is on a disk of its own: the disk of its backend stalls,
// while WAL fsyncs go on. The pace does not rise during the stall, and falls after some seconds.
func TestStalledBackendIsSeenBesideItsWAL(t *testing.T) {
	always := func(int) bool { return true }
	all := decideEach(governor.Settings{AbortAfter: 20 * time.Second, Members: 1}, func(second int) []governor.Reading {
		r := writingReading("etcd-0", second, 20, always)
		commits := writingReading("etcd-0", second, 8, func(s int) bool { return s <= stallBegins })
		for p, c := range map[*engine.LatencyPoint]engine.LatencyPoint{&r.Recent: commits.Recent, &r.Window: commits.Window, &r.Long: commits.Long} {
			p.BackendCommitP99Seconds, p.BackendCommitBucket = c.WALFsyncP99Seconds, c.WALFsyncBucket
		}
		return []governor.Reading{r}
	})
	for second := stallBegins + 4; second < stallBegins+20; second++ {
		if d, before := all[second], all[second-1]; d.Knobs.Rate > before.Knobs.Rate || d.Safe.Rate > before.Safe.Rate {
			t.Fatalf("%d s: from %+v to %+v", second, before, d)
		}
	}
	if d := all[stallBegins+20]; d.State == engine.GovernorFree || d.Cause.Stalled < 15*time.Second || d.Safe.Pause < time.Duration(engine.FloorPace().Pause) {
		t.Errorf("after 20 s: %+v", d)
	}
	if d := all[stallBegins+100]; d.Stop != engine.StopStalled || d.Over.Metric != engine.BackendCommit {
		t.Errorf("after 100 s: %+v", d)
	}
}

// TestStalledBackendHoldsThePaceOfARareWAL checks a member whose backend has stalled, so that after some seconds clients
// write to its WAL less than once a second: the pace does not rise.
func TestStalledBackendHoldsThePaceOfARareWAL(t *testing.T) {
	all := decideEach(governor.Settings{AbortAfter: time.Hour, Members: 1}, func(second int) []governor.Reading {
		r := writingReading("etcd-0", second, 20, func(s int) bool { return s <= stallBegins+5 })
		if second > stallBegins+7 {
			r.Recent.WALFsyncP99Seconds, r.Recent.WALFsyncBucket = 0.002, &engine.LatencyBucket{Observed: 1}
		}
		commits := writingReading("etcd-0", second, 8, func(s int) bool { return s <= stallBegins })
		for p, c := range map[*engine.LatencyPoint]engine.LatencyPoint{&r.Recent: commits.Recent, &r.Window: commits.Window, &r.Long: commits.Long} {
			p.BackendCommitP99Seconds, p.BackendCommitBucket = c.WALFsyncP99Seconds, c.WALFsyncBucket
		}
		return []governor.Reading{r}
	})
	for second := stallBegins + 4; second < 120; second++ {
		if d, before := all[second], all[second-1]; before.Knobs.Slice > 0 && d.Knobs.Rate > before.Knobs.Rate || d.Safe.Rate > before.Safe.Rate {
			t.Fatalf("%d s: from %+v to %+v", second, before, d)
		}
	}
}

// TestFewFsyncsWithoutCommitsAreNoStall checks a cluster to which nobody writes any more, and whose health checks lead to a
// few WAL fsyncs without a backend commit: the pace rises as before.
func TestFewFsyncsWithoutCommitsAreNoStall(t *testing.T) {
	all := decideEach(governor.Settings{AbortAfter: 20 * time.Second, Members: 1}, func(second int) []governor.Reading {
		r := writingReading("etcd-0", second, 1, func(s int) bool { return s%2 == 0 })
		commits := writingReading("etcd-0", second, 8, func(s int) bool { return s <= stallBegins })
		for p, c := range map[*engine.LatencyPoint]engine.LatencyPoint{&r.Recent: commits.Recent, &r.Window: commits.Window, &r.Long: commits.Long} {
			p.BackendCommitP99Seconds, p.BackendCommitBucket = c.WALFsyncP99Seconds, c.WALFsyncBucket
		}
		return []governor.Reading{r}
	})
	if d := all[len(all)-1]; d.State != engine.GovernorFree || d.Knobs.Slice <= all[stallBegins].Knobs.Slice || d.Stop != "" {
		t.Errorf("%+v", d)
	}
}

// TestRareWritesDoNotSlowDown checks a cluster that writes every ten seconds: the staging gets full speed, although
// most samples have no fsync.
func TestRareWritesDoNotSlowDown(t *testing.T) {
	all := decideEach(governor.Settings{AbortAfter: 20 * time.Second, Members: 1}, func(second int) []governor.Reading {
		return []governor.Reading{writingReading("etcd-0", second, 1, func(s int) bool { return s%10 == 0 })}
	})
	if d := all[len(all)-1]; d.Knobs.Pause != 0 || d.State != engine.GovernorFree {
		t.Errorf("%+v", d)
	}
}

// TestStallBeforeTheFirstSample checks a disk that stalls as the staging begins: the idle latency shows that the
// member writes, so the pace does not rise.
func TestStallBeforeTheFirstSample(t *testing.T) {
	all := decideEach(governor.Settings{AbortAfter: time.Hour, Members: 1}, func(second int) []governor.Reading {
		r := writingReading("etcd-0", second, 0, func(int) bool { return false })
		r.Idle = pointOf(10*time.Second, 0.002, 200)
		return []governor.Reading{r}
	})
	if before, d := all[0].Knobs, all[60]; d.Knobs.Rate > before.Rate || d.State == engine.GovernorFree {
		t.Errorf("from %+v to %+v", before, d)
	}
}

// TestShortSilenceOnlyHoldsThePace checks that some seconds without an fsync do not slow the staging down, and that
// the pace rises again after them.
func TestShortSilenceOnlyHoldsThePace(t *testing.T) {
	all := decideEach(governor.Settings{AbortAfter: time.Hour, Members: 1}, func(second int) []governor.Reading {
		return []governor.Reading{writingReading("etcd-0", second, 20, func(s int) bool { return s <= stallBegins || s > stallBegins+7 })}
	})
	held := all[stallBegins+2].Knobs
	for second, d := range all[stallBegins+3 : stallBegins+8] {
		if d.Knobs != held || d.State != engine.GovernorFree {
			t.Errorf("%d s: %+v, not %+v", second, d, held)
		}
	}
	if d := all[stallBegins+20]; d.Knobs.Rate <= held.Rate {
		t.Errorf("it does not rise again: %+v", d)
	}
}

package governor_test

import (
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/governor"
)

// TestWorstMemberDecides checks that the worst member decides, even if another
// host is being staged, and by the metric that is worst in relation to its
// limit.
func TestWorstMemberDecides(t *testing.T) {
	c := governor.New(governor.Settings{Common: limits, AbortAfter: time.Hour, Members: 2, Began: began, Limits: map[string]governor.Limits{"etcd-1": limits.Raised(engine.LatencyPoint{WALFsyncP99Seconds: 0.1})}})
	point := func(wal, commit float64) engine.LatencyPoint {
		b := &engine.LatencyBucket{Observed: 100}
		return engine.LatencyPoint{WALFsyncP99Seconds: wal, WALFsyncBucket: b, BackendCommitP99Seconds: commit, BackendCommitBucket: b}
	}
	d := c.AddSample(began.Add(time.Second), []governor.Reading{
		{Host: "etcd-0", Recent: point(0.009, 0.060)},
		{Host: "etcd-1", Recent: point(0.120, 0.001)}, // slow, but always slow
	})
	swapped := governor.New(governor.Settings{Common: limits, AbortAfter: time.Hour, Members: 2, Began: began}).AddSample(began.Add(time.Second), []governor.Reading{
		{Host: "etcd-1", Recent: point(0.001, 0.001)}, {Host: "etcd-0", Recent: point(0.009, 0.060)},
	})
	if w := swapped.Cause; w.Host != "etcd-0" || swapped.State != engine.GovernorSlowed {
		t.Errorf("the worst is last: %+v", swapped)
	}
	if w := d.Cause; w.Host != "etcd-0" || w.Metric != engine.BackendCommit || w.Limit != 25*time.Millisecond || d.State != engine.GovernorSlowed {
		t.Errorf("%+v", d)
	}
}

// decideFirstAndLast returns the first and the last decision of a controller that gets the same readings each second.
func decideFirstAndLast(s governor.Settings, seconds int, readings ...governor.Reading) (first, last governor.Decision) {
	s.Common, s.Began = limits, began
	c := governor.New(s)
	first = c.First()
	for second := 1; second <= seconds; second++ {
		last = c.AddSample(began.Add(time.Duration(second)*time.Second), readings)
	}
	return first, last
}

func steadyReading(host string, p99 float64) governor.Reading {
	p := pointOf(time.Minute, p99, 1000)
	return governor.Reading{Host: host, Recent: p, Window: p, Full: p, Long: p}
}

// TestAllMembersMustBeCalm checks that the pace does not rise while one member, in any place of the list, has little
// room below its limit.
func TestAllMembersMustBeCalm(t *testing.T) {
	calm, near := steadyReading("etcd-0", 0.002), steadyReading("etcd-1", 0.009)
	for _, readings := range [][]governor.Reading{{calm, near}, {near, calm}} {
		if first, last := decideFirstAndLast(governor.Settings{AbortAfter: time.Hour, Members: 2}, 60, readings...); last.Knobs != first.Knobs {
			t.Errorf("%s first: from %+v to %+v", readings[0].Host, first.Knobs, last.Knobs)
		}
	}
}

// TestTooFewReadingsHoldThePace checks that a member of the inventory without a reading counts as one that does not
// answer.
func TestTooFewReadingsHoldThePace(t *testing.T) {
	_, last := decideFirstAndLast(governor.Settings{AbortAfter: 30 * time.Second, Members: 2}, 60, steadyReading("etcd-0", 0.002))
	if last.Stop != engine.StopMissing || last.Knobs.Rate > governor.FloorRate {
		t.Errorf("%+v", last)
	}
}

// TestAbsentMemberIsNotWaitedFor checks that a member that was silent before the staging does not stop it: the pace stays
// slow, and the latency of the other members still counts. From its first reading on it counts like all others.
func TestAbsentMemberIsNotWaitedFor(t *testing.T) {
	s := governor.Settings{AbortAfter: 30 * time.Second, Members: 2, Absent: []string{"etcd-1"}}
	gone := governor.Reading{Host: "etcd-1", Missing: true}
	first, last := decideFirstAndLast(s, 600, steadyReading("etcd-0", 0.002), gone)
	if last.Stop != "" || last.Knobs != first.Knobs || last.State != engine.GovernorSlowed || last.Knobs.Pause < 50*time.Millisecond {
		t.Errorf("from %+v to %+v", first, last)
	}
	if _, last := decideFirstAndLast(s, 600, steadyReading("etcd-0", 0.012), gone); last.Stop != engine.StopLatency || last.Over.Host != "etcd-0" {
		t.Errorf("the other member is slow: %+v", last)
	}
	comesBack := func(until int) func(int) []governor.Reading {
		return func(second int) []governor.Reading {
			if second > 10 && second < until {
				return []governor.Reading{steadyReading("etcd-0", 0.002), steadyReading("etcd-1", 0.002)}
			}
			return []governor.Reading{steadyReading("etcd-0", 0.002), gone}
		}
	}
	if all := decideEach(s, comesBack(1000)); all[len(all)-1].Knobs.Pause > 0 || all[len(all)-1].State != engine.GovernorFree {
		t.Errorf("it has come back: %+v", all[len(all)-1])
	}
	if stop, _ := firstStop(decideEach(s, comesBack(60))); stop < 90 || stop > 110 {
		t.Errorf("gone again after 60 s: it stops after %d s", stop)
	}
}

// TestCauseOfASlowPace checks that the cause of a slow pace is the member that does not answer, and not a healthy one.
func TestCauseOfASlowPace(t *testing.T) {
	s := governor.Settings{AbortAfter: time.Minute, Members: 2}
	calm, gone := steadyReading("etcd-0", 0.002), governor.Reading{Host: "etcd-1", Missing: true}
	_, last := decideFirstAndLast(s, 8, calm, gone)
	if last.Cause != (governor.Excess{Host: "etcd-1", Window: 7 * time.Second}) || last.State != engine.GovernorSlowed {
		t.Errorf("it does not answer any more: %+v", last)
	}
	if _, last := decideFirstAndLast(s, 8, calm, calm, steadyReading("etcd-2", 0.1), gone); last.Cause.Host != "etcd-2" || last.Cause.Metric == "" {
		t.Errorf("another one is far over its limit: %+v", last)
	}
	s.Absent = []string{"etcd-1"}
	first, last := decideFirstAndLast(s, 8, calm, gone)
	if absent := (governor.Excess{Host: "etcd-1"}); first.Cause != absent || last.Cause != absent || last.State != engine.GovernorSlowed {
		t.Errorf("it has never answered: %+v, then %+v", first, last)
	}
}

// TestBlindPaceIsFixed checks a staging without any latency: the pace is slow and never changes, not even by readings,
// and the staging stops at its deadline.
func TestBlindPaceIsFixed(t *testing.T) {
	s := governor.Settings{AbortAfter: time.Second, Members: 1, Blind: true, Deadline: began.Add(90 * time.Second)}
	for _, p99 := range []float64{0.001, 0.5} {
		first, last := decideFirstAndLast(s, 89, steadyReading("etcd-0", p99))
		if last.Knobs != first.Knobs || last.State != engine.GovernorFixed || last.Stop != "" || first.Knobs.Slice != time.Millisecond || first.Knobs.Pause < 50*time.Millisecond || first.Knobs.Pause > 150*time.Millisecond {
			t.Errorf("%g s: from %+v to %+v", p99, first, last)
		}
	}
	if _, last := decideFirstAndLast(s, 90, governor.Reading{Host: "etcd-0", Missing: true}); last.Stop != engine.StopDeadline {
		t.Errorf("%+v", last)
	}
}

// TestFarTooMuchMeansTheFloor checks that a latency far above its limit sets the pace to the floor with one sample, and
// that a pace that was cut stays for some seconds.
func TestFarTooMuchMeansTheFloor(t *testing.T) {
	s := governor.Settings{Common: limits, Began: began, AbortAfter: time.Hour, Members: 1}
	c := governor.New(s)
	at := began
	add := func(p99 float64) governor.Decision {
		at = at.Add(time.Second)
		return c.AddSample(at, []governor.Reading{steadyReading("etcd-0", p99)})
	}
	for range 20 {
		add(0.001)
	}
	cut := add(0.045)
	if cut.Knobs.Slice != time.Millisecond || cut.Knobs.Pause < 200*time.Millisecond {
		t.Errorf("%+v", cut.Knobs)
	}
	for second := 1; second < 6; second++ {
		if d := add(0.001); d.Knobs != cut.Knobs {
			t.Errorf("%d s after the cut: %+v", second, d.Knobs)
		}
	}
	if d := add(0.001); d.Knobs.Rate <= cut.Knobs.Rate {
		t.Errorf("6 s after the cut: %+v", d.Knobs)
	}
}

// TestIdleLatencyRaisesLimitsOnlySoFar checks that the idle latency, before or during the staging, raises the limits to at
// most ten times those of the cluster.
func TestIdleLatencyRaisesLimitsOnlySoFar(t *testing.T) {
	idle := engine.LatencyPoint{WALFsyncP99Seconds: 0.9, BackendCommitP99Seconds: 0.03}
	if got, want := limits.Raised(idle), (governor.Limits{WALFsync: 100 * time.Millisecond, BackendCommit: 37500 * time.Microsecond}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	r := steadyReading("etcd-0", 0.3)
	r.Idle = idle
	s := governor.Settings{AbortAfter: time.Hour, Members: 1, Limits: map[string]governor.Limits{"etcd-0": limits.Raised(engine.LatencyPoint{WALFsyncP99Seconds: 0.07})}}
	if _, last := decideFirstAndLast(s, 10, r); last.Cause.Limit != 100*time.Millisecond {
		t.Errorf("%+v", last)
	}
}

// TestSlowAnswersAreNotMissing checks members that answer in turn, each every other second: they count as members that
// answer, so the staging is neither slowed nor stopped. A member that answers no more still stops it.
func TestSlowAnswersAreNotMissing(t *testing.T) {
	for _, gone := range []int{1000, 200} {
		c := governor.New(governor.Settings{Common: limits, Began: began, AbortAfter: 30 * time.Second, Members: 2})
		first := c.First()
		stopped := 0
		for second := 1; second <= 400 && stopped == 0; second++ {
			a, b := steadyReading("etcd-0", 0.002), steadyReading("etcd-1", 0.002)
			if second%2 == 0 {
				a = governor.Reading{Host: "etcd-0", Missing: true}
			} else {
				b = governor.Reading{Host: "etcd-1", Missing: true}
			}
			if second > gone {
				b = governor.Reading{Host: "etcd-1", Missing: true}
			}
			switch d := c.AddSample(began.Add(time.Duration(second)*time.Second), []governor.Reading{a, b}); {
			case d.Stop == engine.StopMissing && d.Over.Host == "etcd-1":
				stopped = second
			case d.Stop != "" || second < gone && d.Knobs.Rate < first.Knobs.Rate:
				t.Fatalf("after %d s: %+v", second, d)
			}
		}
		if want := gone < 1000; (stopped > 0) != want || want && (stopped < gone+30 || stopped > gone+60) {
			t.Errorf("gone after %d s, stopped after %d s", gone, stopped)
		}
	}
}

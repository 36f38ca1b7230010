package governed_test

import (
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/report/governed"
)

// TestLine checks that each state has a sentence with its reason.
func TestLine(t *testing.T) {
	slow := engine.Governor{MemberHost: "etcd-2", Metric: engine.WALFsync, P99: engine.Duration(58 * time.Millisecond), Limit: engine.Duration(12500 * time.Microsecond)}
	for want, g := range map[string]engine.Governor{
		"etcd-1: staging slowed: p99 of WAL fsync on etcd-2 is 58 ms, the limit 12 ms": {State: engine.GovernorSlowed},
		"etcd-1: staging paused: p99 of WAL fsync on etcd-2 is 58 ms, the limit 12 ms": {State: engine.GovernorPaused},
		"etcd-1: staging at full speed again":                                          {State: engine.GovernorFree, Pace: &engine.Pace{Slice: engine.Duration(time.Second)}},
		"etcd-1: staging no longer slowed":                                             {State: engine.GovernorFree, Pace: &engine.Pace{Slice: engine.Duration(time.Millisecond), Pause: engine.Duration(84 * time.Millisecond)}},
		"etcd-1: staging cannot be slowed (freeze is not in force: the unit has no cgroup.freeze); it is stopped if the measured latency of etcd stays too high": {
			State: engine.GovernorFree, Levers: []engine.Lever{{Name: engine.FreezeLever, Reason: "the unit has no cgroup.freeze"}},
		},
		"etcd-1: only the rate of its contents slows the staging (freeze is not in force: a daemon)": {
			State: engine.GovernorFree, Levers: []engine.Lever{{Name: engine.FreezeLever, Reason: "a daemon"}, {Name: engine.RateLever, InForce: true}},
		},
		"etcd-1: staging cannot be slowed (freeze is not in force: a daemon; io is not in force: no io controller); it is stopped if the measured latency of etcd stays too high": {
			State: engine.GovernorFree, Levers: []engine.Lever{{Name: engine.FreezeLever, Reason: "a daemon"}, {Name: engine.IOLever, Reason: "no io controller"}, {Name: engine.RateLever}},
		},
		"etcd-1: only the rate of its contents slows the staging (freeze is not in force: a daemon; io is not in force: no io controller)": {
			State: engine.GovernorFree, Levers: []engine.Lever{{Name: engine.FreezeLever, Reason: "a daemon"}, {Name: engine.IOLever, Reason: "no io controller"}, {Name: engine.RateLever, InForce: true}},
		},
		"etcd-1: only the rate of its disk slows the staging, which cannot be paused (freeze is not in force: a daemon)": {
			State: engine.GovernorFree, Levers: []engine.Lever{{Name: engine.FreezeLever, Reason: "a daemon"}, {Name: engine.IOLever, InForce: true}, {Name: engine.RateLever}},
		},
		"etcd-1: the rates of its disk and of its contents slow the staging, which cannot be paused (freeze is not in force: a daemon)": {
			State: engine.GovernorFree, Levers: []engine.Lever{{Name: engine.FreezeLever, Reason: "a daemon"}, {Name: engine.IOLever, InForce: true}, {Name: engine.RateLever, InForce: true}},
		},
		"": {State: engine.GovernorFree, Levers: []engine.Lever{{Name: engine.FreezeLever, InForce: true}, {Name: engine.IOLever, Reason: "not needed"}, {Name: engine.RateLever, Reason: "the bastion does not serve the OS"}}},
		"etcd-1: staging at a slow, fixed pace: no member reports its disk latency": {State: engine.GovernorFixed},
	} {
		if g.State != engine.GovernorFree {
			g = withState(slow, g.State)
		}
		if got := governed.Line("etcd-1", g); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestLineNamesTheCause checks that the line of a slower staging names the member that caused it, and that no line calls a
// good latency the reason.
func TestLineNamesTheCause(t *testing.T) {
	near := engine.Governor{MemberHost: "etcd-2", Metric: engine.WALFsync, P99: engine.Duration(9700 * time.Microsecond), Limit: engine.Duration(10 * time.Millisecond)}
	for want, g := range map[string]engine.Governor{
		"staging slowed: the member on etcd-2 has completed no backend commit for 5s":                     {State: engine.GovernorSlowed, MemberHost: "etcd-2", Metric: engine.BackendCommit, Stalled: engine.Duration(5 * time.Second)},
		"staging slowed: the member on etcd-2 has not reported its disk latency for 6s":                   {State: engine.GovernorSlowed, MemberHost: "etcd-2", Window: engine.Duration(6 * time.Second)},
		"staging paused: the member on etcd-2 has not reported its disk latency for 20s":                  {State: engine.GovernorPaused, MemberHost: "etcd-2", Window: engine.Duration(20 * time.Second)},
		"staging slowed: the member on etcd-2 does not report its disk latency":                           {State: engine.GovernorSlowed, MemberHost: "etcd-2"},
		"staging slowed: not all members report their disk latency":                                       {State: engine.GovernorSlowed},
		"staging paused: p99 of WAL fsync on etcd-2 is 9.7 ms, close to the limit of 10 ms":               withState(near, engine.GovernorPaused),
		"staging goes on at a slow pace: p99 of WAL fsync on etcd-2 is 9.7 ms, within the limit of 10 ms": withState(near, engine.GovernorSlowed),
	} {
		if got := governed.Line("etcd-1", g); got != "etcd-1: "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func withState(g engine.Governor, state engine.GovernorState) engine.Governor {
	g.State = state
	return g
}

// TestTotals checks that the summary has the slowed and paused time of all
// stagings, and nothing without a staging.
func TestTotals(t *testing.T) {
	var totals governed.Totals
	totals.Add(engine.Governor{State: engine.GovernorEnded})
	if got := totals.Format("main"); got != "" {
		t.Error(got)
	}
	totals.Add(engine.Governor{State: engine.GovernorEnded, SlowedFor: engine.Duration(20 * time.Second), PausedFor: engine.Duration(5 * time.Second)})
	totals.Add(engine.Governor{State: engine.GovernorEnded, SlowedFor: engine.Duration(20 * time.Second)})
	if got, want := totals.Format("main"), "  etcd main: staging was slowed for 40s and paused for 5s in 3 stagings\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	totals.Add(engine.Governor{State: engine.GovernorEnded, FixedFor: engine.Duration(time.Minute)})
	if got, want := totals.Format("main"), "  etcd main: staging was slowed for 40s and paused for 5s, and had a slow, fixed pace for 1m0s in 4 stagings\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

package totals_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/totals"
)

// endOf returns the end of a run with these events.
func endOf(tally *totals.Tally) (end event.RunEnd) {
	tally.AddTo(&end)
	return end
}

// stepEvent returns an event of a step of etcd-0 at that second of the run.
func stepEvent(second int, kind engine.StepKind, t event.Type, change func(*event.Event)) event.Event {
	e := event.Event{Time: time.Date(2026, 11, 23, 0, 0, second, 0, time.UTC), Type: t, Host: "etcd-0", Cluster: "main", Kind: kind, Step: string(kind)}
	if change != nil {
		change(&e)
	}
	return e
}

func withBytes(bytes int64) func(*event.Event) {
	return func(e *event.Event) { e.Progress = &event.Progress{Bytes: bytes} }
}

func withTook(seconds int) func(*event.Event) {
	return func(e *event.Event) { e.Took = engine.Duration(seconds) * engine.Duration(time.Second) }
}

func withFailure(kind engine.FailureKind) func(*event.Event) {
	return func(e *event.Event) { e.Failure = &engine.Failure{Kind: kind} }
}

// TestTotalsOfAHost checks the figures of a host over a run with two stagings, one of them without contents from the
// bastion, a refused and an obeyed reboot, and a defragmentation.
func TestTotalsOfAHost(t *testing.T) {
	var tally totals.Tally
	for _, e := range []event.Event{
		stepEvent(0, engine.StageStep, event.StepStarted, nil),
		stepEvent(5, engine.StageStep, event.StepProgress, withBytes(40)),
		stepEvent(9, engine.StageStep, event.StepProgress, withBytes(100)),
		stepEvent(10, engine.StageStep, event.StepEnded, withTook(10)),
		stepEvent(11, engine.StageStep, event.StepStarted, nil),
		stepEvent(12, engine.StageStep, event.StepProgress, func(e *event.Event) { e.Progress = &event.Progress{Bytes: 50, AgainBytes: 8} }),
		stepEvent(16, engine.StageStep, event.StepEnded, withTook(5)),
		stepEvent(17, engine.StageStep, event.StepStarted, nil),
		stepEvent(18, engine.StageStep, event.StepEnded, withTook(600)), // nothing from the bastion
		stepEvent(20, engine.RebootStep, event.StepStarted, nil),
		stepEvent(21, engine.RebootStep, event.StepEnded, withFailure(engine.ActionFailure)), // refused
		stepEvent(28, engine.BootStep, event.StepEnded, nil),
		stepEvent(29, engine.EtcdStep, event.StepEnded, nil),
		stepEvent(30, engine.RebootStep, event.StepStarted, nil),
		stepEvent(31, engine.RebootStep, event.StepEnded, nil),
		stepEvent(40, engine.BootStep, event.StepEnded, nil),
		stepEvent(45, engine.EtcdStep, event.StepEnded, nil),
		stepEvent(50, engine.DefragStep, event.StepStarted, nil),
		stepEvent(52, engine.DefragStep, event.StepEnded, withFailure(engine.ActionFailure)),
		stepEvent(60, engine.StageStep, event.StagingGoverned, func(e *event.Event) {
			e.Governor = &engine.Governor{State: engine.GovernorEnded, SlowedFor: 7, PausedFor: 3, FixedFor: 1}
		}),
	} {
		tally.AddEvent(e)
	}
	want := []event.HostTotals{{
		Host: "etcd-0", Cluster: "main", FetchedBytes: 150, FetchedAgainBytes: 8, BytesPerSecond: 10, SlowedFor: 7, PausedFor: 3, FixedFor: 1,
		DownFor: engine.Duration(10 * time.Second), MemberDownFor: engine.Duration(17 * time.Second),
	}}
	if got := endOf(&tally).Hosts; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if c := endOf(&tally).Clusters; c != nil {
		t.Errorf("%+v", c)
	}
}

// TestOutageThatBeganEarlier checks a host whose reboot an earlier run ordered: its outage begins when this run waits for
// it. A second order, after the host did not come back, does not begin another outage.
func TestOutageThatBeganEarlier(t *testing.T) {
	var tally totals.Tally
	for _, e := range []event.Event{
		stepEvent(10, engine.BootStep, event.StepStarted, nil),
		stepEvent(20, engine.BootStep, event.StepEnded, withFailure(engine.UnreachableFailure)),
		stepEvent(21, engine.RebootStep, event.StepStarted, nil),
		stepEvent(22, engine.RebootStep, event.StepEnded, nil),
		stepEvent(22, engine.BootStep, event.StepStarted, nil),
	} {
		tally.AddEvent(e)
	}
	if hosts := endOf(&tally).Hosts; len(hosts) != 1 || hosts[0].Host != "etcd-0" || !hosts[0].NotBack {
		t.Errorf("only etcd-0 is down: %+v", hosts)
	}
	tally.AddEvent(stepEvent(30, engine.BootStep, event.StepEnded, nil))
	tally.AddEvent(stepEvent(35, engine.EtcdStep, event.StepEnded, nil))
	want := event.HostTotals{Host: "etcd-0", Cluster: "main", DownFor: engine.Duration(20 * time.Second), MemberDownFor: engine.Duration(25 * time.Second)}
	if got := endOf(&tally).Hosts; !slices.Equal(got, []event.HostTotals{want}) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// TestMemberThatRunsOn checks that a member that runs on during a reboot is not down, and that samples do not count that
// cannot see it: until it answers, and the next one, which may have begun before. After a full reboot in place of a soft one, it was down.
func TestMemberThatRunsOn(t *testing.T) {
	for _, full := range []bool{false, true} {
		var tally totals.Tally
		soft := func(e *event.Event) {
			e.Reboot = &engine.Reboot{Kind: engine.SoftReboot, Survival: engine.RestartsAfter}
		}
		unseen := func(second int) event.Event {
			return event.Event{Type: event.EtcdSampled, Cluster: "main", Time: began.Add(time.Duration(second) * time.Second), Etcd: &event.Sample{Voters: 1, UnhealthyHosts: []string{"etcd-0"}}}
		}
		warning := stepEvent(12, "", event.Warned, func(e *event.Event) { e.Reboot = &engine.Reboot{Kind: engine.FullReboot} })
		for _, e := range []event.Event{
			stepEvent(10, engine.RebootStep, event.StepStarted, soft), stepEvent(11, engine.RebootStep, event.StepEnded, soft),
			stepEvent(11, engine.BootStep, event.StepStarted, nil), unseen(12), warning,
			stepEvent(20, engine.BootStep, event.StepEnded, nil), stepEvent(25, engine.EtcdStep, event.StepEnded, nil), unseen(26), unseen(36),
			stepEvent(40, engine.RestartStep, event.StepStarted, nil), stepEvent(42, engine.RestartStep, event.StepEnded, nil), stepEvent(43, engine.EtcdStep, event.StepEnded, nil),
		} {
			if full || e.Type != event.Warned {
				tally.AddEvent(e)
			}
		}
		want := event.HostTotals{Host: "etcd-0", Cluster: "main", DownFor: engine.Duration(10 * time.Second), MemberDownFor: engine.Duration(3 * time.Second), FailedProbes: 1}
		if full {
			want.MemberDownFor, want.FailedProbes = engine.Duration(18*time.Second), 2
		}
		if got := endOf(&tally).Hosts; !slices.Equal(got, []event.HostTotals{want}) {
			t.Errorf("full %v: %+v\nwant %+v", full, got, want)
		}
	}
}

// TestFailedSamples checks that a sample in which a member is not healthy counts for its host, and a sample without an
// answer for the cluster. A host without figures has no totals.
func TestFailedSamples(t *testing.T) {
	var tally totals.Tally
	for _, s := range []event.Sample{{Voters: 3, Healthy: 2, UnhealthyHosts: []string{"etcd-2"}}, {Voters: 3, Healthy: 3}, {Problems: []string{"no answer"}}, {Voters: 3, Healthy: 1, UnhealthyHosts: []string{"etcd-1", "etcd-2"}}} {
		tally.AddEvent(event.Event{Type: event.EtcdSampled, Cluster: "main", Etcd: &s})
	}
	tally.AddEvent(stepEvent(1, engine.HoldStep, event.StepEnded, nil))
	hosts := []event.HostTotals{{Host: "etcd-1", Cluster: "main", FailedProbes: 1}, {Host: "etcd-2", Cluster: "main", FailedProbes: 2}}
	if got := endOf(&tally).Hosts; !reflect.DeepEqual(got, hosts) {
		t.Errorf("%+v", got)
	}
	if got := endOf(&tally).Clusters; !reflect.DeepEqual(got, []event.ClusterTotals{{Cluster: "main", Samples: 3, Unanswered: 1}}) {
		t.Errorf("%+v", got)
	}
}

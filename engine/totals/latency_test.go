package totals_test

import (
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/totals"
)

var began = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

// sampleAt returns a sample of etcd-0, for the 10 s before a time.
func sampleAt(second int, wal, commit float64) event.Event {
	p := engine.LatencyPoint{Host: "etcd-0", Window: engine.Duration(10 * time.Second), WALFsyncP99Seconds: wal, BackendCommitP99Seconds: commit}
	return event.Event{Type: event.EtcdSampled, Time: began.Add(time.Duration(second) * time.Second), Cluster: "main", Etcd: &event.Sample{Latency: []engine.LatencyPoint{p}}}
}

func eventAt(second int, kind event.Type) event.Event {
	return event.Event{Type: kind, Time: began.Add(time.Duration(second) * time.Second)}
}

// TestTally checks which windows belong to which part of a run.
func TestTally(t *testing.T) {
	var tally totals.Tally
	for _, e := range []event.Event{
		sampleAt(10, 0.004, 0.008),
		sampleAt(20, 0.005, 0.009), // the last of the longest idle windows
		sampleAt(20, 0, 0),         // nothing was observed
		eventAt(21, event.StageStarted),
		sampleAt(30, 0.030, 0.020),
		sampleAt(40, 0.005, 0.200), // worse, because of the backend commit
		eventAt(41, event.StageEnded),
		sampleAt(50, 0.006, 0.010), // overlaps, but is better
		eventAt(55, event.BatchStarted),
		sampleAt(60, 0.900, 0.010), // does not overlap
		eventAt(65, event.BatchEnded),
		sampleAt(80, 0.005, 0.010),
	} {
		tally.AddEvent(e)
	}
	all := endOf(&tally).Latency
	if len(all) != 1 {
		t.Fatalf("members %+v", all)
	}
	m := all[0]
	if m.Cluster != "main" || m.Host != "etcd-0" || m.Idle.WALFsyncP99Seconds != 0.005 || m.Staging.BackendCommitP99Seconds != 0.2 || m.Worst.WALFsyncP99Seconds != 0.9 || !m.WorstAt.Equal(began.Add(time.Minute)) {
		t.Errorf("idle %+v, staging %+v, worst %+v at %s", m.Idle, m.Staging, m.Worst, m.WorstAt)
	}
}

// TestTallyWithoutStaging checks that a run that stages nothing has no latency of staging.
func TestTallyWithoutStaging(t *testing.T) {
	var tally totals.Tally
	tally.AddEvent(eventAt(1, event.BatchStarted))
	tally.AddEvent(sampleAt(10, 0.004, 0.008))
	if m := endOf(&tally).Latency[0]; m.Idle != nil || m.Staging != nil || m.Worst == nil {
		t.Errorf("%+v", m)
	}
}

// TestTallyOfGovernedStaging checks that the report of the governor counts if
// its windows are worse, and that its idle latency always counts.
func TestTallyOfGovernedStaging(t *testing.T) {
	point := func(wal float64) engine.LatencyPoint {
		return engine.LatencyPoint{Host: "etcd-0", WALFsyncP99Seconds: wal, Window: engine.Duration(10 * time.Second)}
	}
	at := time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)
	var tally totals.Tally
	for _, worst := range []float64{0.02, 0.05, 0.03} {
		tally.AddEvent(event.Event{Type: event.StagingGoverned, Cluster: "main", Governor: &engine.Governor{
			State:   engine.GovernorEnded,
			Members: []engine.MemberGoverned{{Host: "etcd-0", Idle: point(0.004), Staging: point(worst / 2), Worst: point(worst), WorstAt: at}},
		}})
		at = at.Add(time.Minute)
	}
	m := endOf(&tally).Latency[0]
	if m.Idle.WALFsyncP99Seconds != 0.004 || m.Staging.WALFsyncP99Seconds != 0.05 || m.Worst.WALFsyncP99Seconds != 0.05 || !m.WorstAt.Equal(at.Add(-2*time.Minute).Add(10*time.Second)) {
		t.Errorf("%+v", m)
	}
}

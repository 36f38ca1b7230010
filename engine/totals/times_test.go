package totals

import (
	"slices"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// TestTimes checks that a run records how long its staging and its batches
// took, and neither what failed nor the time of soaks.
func TestTimes(t *testing.T) {
	var sums Tally
	at := time.Date(2026, 11, 27, 22, 0, 0, 0, time.UTC)
	add := func(after time.Duration, e event.Event) {
		at = at.Add(after)
		e.Time = at
		sums.AddEvent(e)
	}
	step := func(host string, took time.Duration, failure *engine.Failure) {
		add(0, event.Event{Type: event.StepStarted, Host: host, Step: "x"})
		add(took, event.Event{Type: event.StepEnded, Host: host, Step: "x", Took: engine.Duration(took), Failure: failure})
	}
	add(0, event.Event{Type: event.StageStarted})
	step("a", time.Minute, nil)
	step("a", time.Minute, nil)
	step("b", time.Minute, &engine.Failure{})
	add(0, event.Event{Type: event.StageEnded})
	add(time.Minute, event.Event{Type: event.StepStarted, Step: "snapshot"})
	add(3*time.Minute, event.Event{Type: event.StepEnded, Step: "snapshot", Took: engine.Duration(3 * time.Minute)})
	add(0, event.Event{Type: event.BatchStarted, Hosts: []string{"a", "b"}})
	add(time.Minute, event.Event{Type: event.StepStarted, Host: "a", Step: "finalize", Kind: engine.RebootStep, Reboot: &engine.Reboot{Kind: engine.SoftReboot}})
	step("b", time.Minute, nil)
	add(time.Minute, event.Event{Type: event.HostDone, Host: "a"})
	add(0, event.Event{Type: event.HostFailed, Host: "b"})
	add(0, event.Event{Type: event.BatchEnded})
	step("", 2*time.Minute, nil)
	add(0, event.Event{Type: event.StepStarted, Step: "soak", Until: at.Add(time.Hour)})
	add(time.Hour, event.Event{Type: event.StepEnded, Step: "soak", Took: engine.Duration(time.Hour)})
	add(0, event.Event{Type: event.BatchStarted, Hosts: []string{"c"}})
	step("c", 3*time.Minute, nil)
	add(0, event.Event{Type: event.HostDone, Host: "c"})
	add(0, event.Event{Type: event.BatchEnded})

	var end event.RunEnd
	sums.AddTo(&end)
	want := []engine.HostTimes{
		{Host: "a", Staging: engine.Duration(2 * time.Minute), Batch: engine.Duration(2 * time.Minute), Reboot: engine.SoftReboot},
		{Host: "c", Batch: engine.Duration(3 * time.Minute)},
	}
	if !slices.Equal(end.Times, want) || end.BatchGap != engine.Duration(3*time.Minute) { // 4 minutes after the staging, and 2 after the first batch
		t.Errorf("%+v, gap %s", end.Times, end.BatchGap)
	}
}

// TestTimesOfPlays checks that the durations of a host are recorded for each play, and that the time between two plays,
// in which a person may think, is no gap between batches.
func TestTimesOfPlays(t *testing.T) {
	var sums Tally
	at := time.Date(2026, 11, 27, 22, 0, 0, 0, time.UTC)
	add := func(after time.Duration, e event.Event) {
		at = at.Add(after)
		e.Time = at
		sums.AddEvent(e)
	}
	for _, play := range []string{"etcd", "all"} {
		add(time.Hour, event.Event{Type: event.Planned, Plan: &engine.Plan{Play: play}})
		for range 2 {
			add(time.Minute, event.Event{Type: event.BatchStarted, Hosts: []string{"a"}})
			add(0, event.Event{Type: event.StepStarted, Host: "a", Step: "x"})
			add(time.Duration(len(play))*time.Minute, event.Event{Type: event.StepEnded, Host: "a", Step: "x"})
			add(0, event.Event{Type: event.HostDone, Host: "a"})
			add(0, event.Event{Type: event.BatchEnded})
		}
	}
	var end event.RunEnd
	sums.AddTo(&end)
	want := []engine.HostTimes{{Host: "a", Play: "all", Batch: engine.Duration(3 * time.Minute)}, {Host: "a", Play: "etcd", Batch: engine.Duration(4 * time.Minute)}}
	if !slices.Equal(end.Times, want) || end.BatchGap != engine.Duration(time.Minute) {
		t.Errorf("%+v, gap %s", end.Times, end.BatchGap)
	}
}

package lines_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/lines"
	"holdfast/engine/report/reporttest"
)

// TestManyNonDisruptiveHosts checks that hundreds of hosts without disruption
// share a line, and that failures among them are shown at once.
func TestManyNonDisruptiveHosts(t *testing.T) {
	reporttest.CompareGolden(t, "run-quiet", reporttest.ShowEvents(t, reporttest.NonDisruptiveRun(), false))
	reporttest.CompareGolden(t, "run-quiet-terse", reporttest.ShowEvents(t, reporttest.NonDisruptiveRun(), true))
}

// TestStoppedBatchNamesHosts checks that a run that is stopped in a batch still
// names the hosts that are done.
func TestStoppedBatchNamesHosts(t *testing.T) {
	events := reporttest.NonDisruptiveRun()[:63]
	end := event.Event{Type: event.RunEnded, Time: events[62].Time, End: &event.RunEnd{Exit: engine.ExitStopped, Verdict: engine.NewVerdict(engine.Findings{Stopped: true})}}
	got := reporttest.ShowEvents(t, append(events, end), true)
	if want := "  worker-[000-006,008,010-019] (18 hosts) done, without disruption\n"; !strings.Contains(got, want) {
		t.Errorf("%q is missing in\n%s", want, got)
	}
}

// TestFullLogFoldsNothing checks that a log of everything has the whole plan, each step of each host of a large batch, and the
// heartbeat of a host that hangs, and that it does not refer to --verbose.
func TestFullLogFoldsNothing(t *testing.T) {
	events := reporttest.NonDisruptiveRun()[:7]
	for i := range events[1].Plan.Hosts {
		hp := &events[1].Plan.Hosts[i]
		hp.Changes = hp.Changes[:min(20, len(hp.Changes))]
	}
	var unfinished []engine.UnfinishedHost
	for i := range 12 {
		unfinished = append(unfinished, engine.UnfinishedHost{Host: fmt.Sprintf("worker-%03d", i), Reason: fmt.Sprint("runs ", i)})
	}
	at := events[6].Time
	events = append(events,
		event.Event{Type: event.StepStarted, Host: "worker-333", Step: "write", Time: at},
		event.Event{Type: event.StepProgress, Host: "worker-333", Step: "write", Time: at, Took: engine.Duration(2 * time.Minute)},
		event.Event{Type: event.RunEnded, Time: at, End: &event.RunEnd{Exit: engine.ExitRefused, Verdict: engine.NewVerdict(engine.Findings{Unfinished: unfinished})}})
	var b strings.Builder
	view := lines.Writer{W: &b, Short: true, Plan: true, Full: true}
	for _, e := range events {
		if err := view.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	got := b.String()
	for _, want := range []string{"worker-000: write begins", "worker-000: write 3.0 s", "worker-000 done", "worker-333: write goes on, 2m0s by now", "file /etc/containers/registries.d/019", "worker-011 runs 11"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(got, "--verbose") || strings.Contains(got, "done, without disruption") || t.Failed() {
		t.Errorf("not everything is there:\n%.3000s", got)
	}
}

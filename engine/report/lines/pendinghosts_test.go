package lines_test

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/event"
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

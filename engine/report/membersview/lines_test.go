package membersview_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/membersview"
)

// TestLinesNameTheMember: the member of a step without a host is named, as in the plan. Its words add no line.
func TestLinesNameTheMember(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 3, 12, 44, 0, time.UTC)
	var b strings.Builder
	lines := membersview.Lines{W: &b}
	for _, e := range []event.Event{
		{Type: event.StepStarted, Step: "remove", Member: "9a\x1b[2J"},
		{Type: event.StepEnded, Step: "remove", Member: "9a", Took: engine.Duration(time.Second)},
		{Type: event.StepEnded, Step: "remove", Member: "9b", Failure: &engine.Failure{Cause: "no leader\n03:12:44 exit 0: done"}},
		{Type: event.StepStarted, Host: "etcd-1", Step: "remove", Member: "9c"},
		{Type: event.StepStarted, Step: "snapshot"},
		{Type: event.RunEnded, Cluster: "main", End: &event.RunEnd{}},
		{Type: event.RunEnded, Cluster: "main", End: &event.RunEnd{Exit: engine.ExitStopped, Verdict: engine.Verdict{Findings: engine.Findings{Stopped: true, Failures: []engine.Failure{{Cause: "no answer"}}}}}},
	} {
		e.Time = at
		if err := lines.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	const want = `03:12:44 remove 9a\x1b[2J …
03:12:44 remove 9a: done in 1s
03:12:44 remove 9b: failed: no leader 03:12:44 exit 0: done
03:12:44 remove etcd-1 …
03:12:44 snapshot …
03:12:44 exit 0: the members of etcd cluster main are as they should be
03:12:44 exit 6: stopped; the next run continues; no answer
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

package summary_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/totals"
)

// TestFetchedBytesAddUp checks a host that fetches in two steps, as in two plays: the summary shows the bytes of both,
// and the same figure as the last event of the run.
func TestFetchedBytesAddUp(t *testing.T) {
	var s reporttest.Script
	s.StartRun()
	for _, mib := range []int64{30, 20} {
		s.AddEvent(event.Event{Type: event.StepStarted, Host: "worker-1", Step: "stage", Kind: engine.StageStep})
		s.At = s.At.Add(time.Second)
		s.AddEvent(event.Event{Type: event.StepProgress, Host: "worker-1", Step: "stage", Kind: engine.StageStep, Progress: &event.Progress{Bytes: mib << 20, AgainBytes: mib << 19}})
		s.AddEvent(event.Event{Type: event.StepEnded, Host: "worker-1", Step: "stage", Kind: engine.StageStep, Took: engine.Duration(time.Second)})
	}
	var tally totals.Tally
	for _, e := range s.Events {
		tally.AddEvent(e)
	}
	if got := tally.Hosts(); len(got) != 1 || got[0].FetchedBytes != 50<<20 || got[0].FetchedAgainBytes != 25<<20 {
		t.Errorf("%+v", got)
	}
	s.EndRun(engine.Findings{}, event.RunEnd{})
	if got := s.PrintEnding(t); !strings.Contains(got, "from the bastion: 50 MiB to 1 host (25 MiB of it again)") {
		t.Errorf("it ends with\n%s", got)
	}
}

package summary_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/reporttest"
)

// TestFetchedBytesAddUp checks a host that fetches in two steps, as in two plays: the summary shows the bytes of both.
func TestFetchedBytesAddUp(t *testing.T) {
	var s reporttest.Script
	s.StartRun()
	for _, mib := range []int64{30, 20} {
		s.AddEvent(event.Event{Type: event.StepStarted, Host: "worker-1", Step: "stage", Kind: engine.StageStep})
		s.At = s.At.Add(time.Second)
		s.AddEvent(event.Event{Type: event.StepProgress, Host: "worker-1", Step: "stage", Kind: engine.StageStep, Progress: &event.Progress{Bytes: mib << 20, AgainBytes: mib << 19}})
		s.AddEvent(event.Event{Type: event.StepEnded, Host: "worker-1", Step: "stage", Kind: engine.StageStep, Took: engine.Duration(time.Second)})
	}
	s.EndRun(engine.Findings{}, event.RunEnd{})
	if got := s.PrintEnding(t); !strings.Contains(got, "from the bastion: 50 MiB to 1 host (25 MiB of it again)") {
		t.Errorf("it ends with\n%s", got)
	}
}

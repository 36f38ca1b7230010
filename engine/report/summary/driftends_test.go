package summary_test

import (
	"testing"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/reporttest"
)

// TestReportedDriftEnds checks that a run after which only reported drift is
// left names the hosts and the ways to resolve the drift.
func TestReportedDriftEnds(t *testing.T) {
	p := reporttest.ConfigPlans()["drift"]
	p.Hosts, p.Batches = nil, nil
	var s reporttest.Script
	s.StartRun("--yes")
	s.AddEvent(event.Event{Type: event.Planned, Plan: &p})
	s.EndRun(engine.Findings{Drift: p.DriftingHosts()}, event.RunEnd{})
	reporttest.CompareGolden(t, "end-drift", s.PrintEnding(t))
}

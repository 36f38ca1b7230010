package journal_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/journal"
)

// maintenanceRun returns the events of a person who has held a host, and was refused another. cut leaves out the end.
func maintenanceRun(began time.Time, cut bool) []event.Event {
	events := []event.Event{
		{Type: event.RunStarted, Start: &event.RunStart{Site: "berlin", Holder: "ann@bastion", Bastion: "b1", Maintenance: engine.HoldHosts}},
		{Type: event.MaintenancePlanned, Maintenance: &engine.MaintenancePlan{Action: engine.HoldHosts, Hosts: []engine.HostMaintenance{{Host: "w-1", Message: "held"}}}},
		{Type: event.StepStarted, Host: "w-1", Step: "hold", Kind: engine.HoldStep},
		{Type: event.HostDone, Host: "w-1", Message: "held"},
		{Type: event.HostFailed, Host: "w-2", Failure: &engine.Failure{Kind: engine.HeldFailure, Cause: "held by bob"}},
		{Type: event.RunEnded, End: &event.RunEnd{Exit: engine.ExitRefused, Maintenance: engine.HoldHosts, Updated: []string{"w-1"}, Failed: []string{"w-2"}}},
	}
	if cut {
		events = events[:3]
	}
	for i := range events {
		events[i].Schema, events[i].Seq, events[i].Time = event.Schema, i+1, began
	}
	return events
}

// TestMaintenanceIsNoRollOut: work of people on holds is listed, and tells later runs nothing: no dead run, no failed and no awaited
// host. It does not hide the failures of the roll-out before it.
func TestMaintenanceIsNoRollOut(t *testing.T) {
	dir, began := t.TempDir(), time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	failed := event.RunEnd{Exit: engine.ExitFailed, Failed: []string{"w-3"}}
	writeEndedRun(t, dir, 1, failed)
	for i, cut := range []bool{false, true} {
		at := began.Add(time.Duration(i) * 24 * time.Hour)
		writeJournal(t, dir, at.Format("20060102-150405")+"-000a", maintenanceRun(at, cut))
	}
	runs, err := journal.ListRuns(dir)
	if err != nil || len(runs) != 3 {
		t.Fatal(runs, err)
	}
	listed := 0
	for _, r := range runs {
		if r.Maintenance == engine.HoldHosts {
			listed++
			if r.Problem != "" || len(r.Updated)+len(r.Failed)+len(r.LastSteps) > 0 {
				t.Errorf("%+v", r)
			}
		}
	}
	if listed != 2 {
		t.Errorf("%d runs of maintenance in %+v", listed, runs)
	}
	site := runs[slices.IndexFunc(runs, func(r journal.Run) bool { return r.Maintenance == "" })].Site
	left := journal.SummarizeRuns(runs, "berlin", engine.HoldOwner{Run: "now", Bastion: "b1"})
	if len(left.Rebooting) > 0 || slices.ContainsFunc(left.Dead, func(id string) bool { return id[len(id)-4:] == "000a" }) {
		t.Errorf("%+v", left)
	}
	history, err := journal.ReadHistory(dir, site)
	if err != nil || !slices.Equal(history.Failed, []string{"w-3"}) {
		t.Errorf("%+v, %v", history.Failed, err)
	}
}

// TestPruneKeepsRollOutsBesideMaintenance: many holds do not push a roll-out out of the newest runs, and are pruned themselves, also
// those that were refused or killed.
func TestPruneKeepsRollOutsBesideMaintenance(t *testing.T) {
	dir, began := t.TempDir(), time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	rollout := exampleRun()
	rollout[len(rollout)-1].End = &event.RunEnd{Exit: engine.ExitOK, Complete: true}
	writeJournal(t, dir, "20261101-060000-0000", rollout)
	for i := range 5 {
		writeJournal(t, dir, fmt.Sprintf("20261121-06000%d-000a", i), maintenanceRun(began, i%2 == 0))
	}
	gone, err := journal.Prune(dir, 2, began.Add(time.Hour))
	if err != nil || len(gone) != 3 || slices.Contains(gone, "20261101-060000-0000") {
		t.Errorf("%q, %v", gone, err)
	}
}

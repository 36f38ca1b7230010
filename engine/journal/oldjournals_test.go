package journal_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/journal"
)

// saveManyJournals saves journals of runs that began one minute after the other, by the same events, and returns their IDs.
func saveManyJournals(t *testing.T, dir string, n int, start event.RunStart, end event.RunEnd) (ids []string) {
	t.Helper()
	for i := range n {
		at := began.Add(time.Duration(i+1) * time.Minute)
		id := at.Format("20060102-150405") + "-many"
		saveEvents(t, dir, id, event.Event{Type: event.RunStarted, Time: at, Start: &start}, event.Event{Type: event.RunEnded, Time: at, End: &end})
		ids = append(ids, id)
	}
	return ids
}

func saveEvents(t *testing.T, dir, id string, events ...event.Event) {
	t.Helper()
	var text []byte
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, line...), '\n')
	}
	saveJournal(t, dir, id, text)
}

// TestDeadRunBehindManyJournals: holds and releases of people do not push a dead run out of sight, and neither do successful runs. The same is true for a
// dead run whose bastion had its clock in the past, so that its name comes first.
func TestDeadRunBehindManyJournals(t *testing.T) {
	for name, start := range map[string]event.RunStart{
		"people": {Site: "berlin", Maintenance: engine.HoldHosts},
		"runs":   {Site: "berlin"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			dead := "20000101-000000-dead"
			saveEvents(t, dir, dead, event.Event{Type: event.RunStarted, Time: began, Start: &event.RunStart{Site: "berlin"}}, event.Event{Type: event.StepStarted, Time: began, Host: "w-0", Step: "hold"})
			saveManyJournals(t, dir, 1100, start, event.RunEnd{})
			runs, err := journal.ListRuns(dir)
			if err != nil {
				t.Fatal(err)
			}
			if got := journal.SummarizeRuns(runs, "berlin", engine.HoldOwner{}).Dead; !slices.Equal(got, []string{dead}) {
				t.Errorf("dead: %q", got)
			}
		})
	}
}

// TestPruneManyJournals removes successful runs beyond the newest journals, and keeps the others.
func TestPruneManyJournals(t *testing.T) {
	dir := t.TempDir()
	dead, failed := "20000101-000000-dead", "20000101-000001-failed"
	saveEvents(t, dir, dead, event.Event{Type: event.RunStarted, Time: began, Start: &event.RunStart{Site: "berlin"}})
	saveEvents(t, dir, failed, event.Event{Type: event.RunStarted, Time: began, Start: &event.RunStart{Site: "berlin"}}, event.Event{Type: event.RunEnded, Time: began, End: &event.RunEnd{Exit: engine.ExitFailed}})
	saved := saveManyJournals(t, dir, 1100, event.RunStart{Site: "berlin"}, event.RunEnd{})
	old := saved[:50]
	limit := began.Add(50*time.Minute + time.Second) // the first 50 began before
	gone, err := journal.Prune(dir, 10, limit)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(gone)
	if !slices.Equal(gone, old) {
		t.Errorf("%d journals are gone, not %d: %q", len(gone), len(old), gone)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2+1100-50 || entries[0].Name() != dead+".jsonl" || entries[1].Name() != failed+".jsonl" {
		t.Error(fmt.Sprint(len(entries)), err)
	}
}

package journal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"holdfast/engine/event"
	"holdfast/engine/journal"
)

// TestIsOver checks that a run is over if its journal has an end, or if it has
// no journal. An active run or a dead run is not over.
func TestIsOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, err := journal.Create(dir, "r1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	emitEvent := func(e event.Event) {
		t.Helper()
		if err := j.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	emitEvent(event.Event{Type: event.RunStarted, Start: &event.RunStart{Site: "test"}})
	if journal.IsOver(dir, "r1") {
		t.Error("a run that has begun is over")
	}
	emitEvent(event.Event{Type: event.RunEnded, End: &event.RunEnd{}})
	if !journal.IsOver(dir, "r1") || !journal.IsOver(dir, "none") {
		t.Error("a run that has ended, or has no journal, is not over")
	}
	if err := os.WriteFile(filepath.Join(dir, "r2.jsonl"), []byte("{\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if journal.IsOver(dir, "r2") {
		t.Error("a run whose journal cannot be read is over")
	}
}

// TestJournalsAreBounded checks that only the newest journals of a large folder
// are read.
func TestJournalsAreBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 1010 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("r%04d.jsonl", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := journal.ListRuns(dir)
	if err != nil || len(runs) != 1000 || runs[0].ID != "r1009" || runs[999].ID != "r0010" {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

package journal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// newerEnd is an end of a newer schema, whose fields may mean something else.
const newerEnd = `{"schema":2,"seq":3,"time":"2026-01-01T00:00:02Z","run":"r","type":"run-ended","end":{"exit":0,"pools":[{"name":"p","total":1,"complete":true,"os":"v2"}]}}` + "\n"

// newerStart is the start of a run of a newer schema.
const newerStart = `{"schema":2,"seq":1,"time":"2026-01-01T00:00:00Z","run":"r","type":"run-started","start":{"site":"s","holder":"ann@b","pid":1,"version":"x"}}` + "\n"

// TestRunsOfANewerSchema checks that a journal with an event of a newer schema decides nothing: its run has no end, is in
// no history, and is not pruned, and other OSes may have begun in all pools.
func TestRunsOfANewerSchema(t *testing.T) {
	t.Parallel()
	const complete = `{"schema":1,"seq":2,"time":"2025-12-01T00:00:02Z","run":"a","type":"run-ended","end":{"exit":0,"pools":[{"name":"p","total":1,"complete":true,"os":"v1"}]}}` + "\n"
	for name, text := range map[string]string{
		"an event": startLine + newerLine + endLine, "the end": startLine + newerEnd, "all of it": newerStart + newerLine + newerEnd,
		"other types": strings.Replace(newerStart, `"pid":1`, `"pid":{}`, 1) + newerEnd,
	} {
		dir := t.TempDir()
		for id, text := range map[string]string{"20251201-000000-a": strings.Replace(startLine, "2026-01-01", "2025-12-01", 1) + complete, "20260101-000000-r": text} {
			if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		runs, err := ListRuns(dir)
		if err != nil || len(runs) != 2 || runs[0].End != nil || !strings.Contains(runs[0].Problem, "schema 2, and this version of holdfast reads schema 1; use the version that wrote the journal") {
			t.Fatalf("%s: runs %+v, %v", name, runs, err)
		}
		if left := SummarizeRuns(runs, "s", engine.HoldOwner{}); len(left.Complete) > 0 {
			t.Errorf("%s: pools %v count as complete", name, left.Complete)
		}
		if old := readOldRun(dir, "20260101-000000-r"); name != "an event" && (old.End != nil || old.Problem == "") {
			t.Errorf("%s: of an old journal only %+v is read", name, old)
		}
		if h, err := ReadHistory(dir, "s"); err != nil || name != "an event" && h.Complete["p"] != "v1" {
			t.Errorf("%s: history %+v, %v", name, h.Complete, err)
		}
		if err := Replay(dir, "20260101-000000-r", func(event.Event) error { return nil }); err == nil {
			t.Errorf("%s: a reader gets events of the newer schema", name)
		}
		if removed, err := Prune(dir, 0, time.Now()); err != nil || len(removed) > 1 || len(removed) == 1 && removed[0] == "20260101-000000-r" {
			t.Errorf("%s: removed %v, %v", name, removed, err)
		}
		if name != "an event" && IsOver(dir, "20260101-000000-r") {
			t.Errorf("%s: the run is over", name)
		}
	}
}

package scenario

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/engine/event"
)

// followRun passes the events of a run to isLast, as they are written to its
// journal, until isLast returns true or the run ends. It reports whether isLast
// did. The journals of before are older.
func (p *pursuit) followRun(j *job, before []string, isLast func(event.Event) bool) bool {
	journal, seen := "", 0
	for {
		ended := isClosed(j.done) // all its events are in the journal then
		if journal == "" {
			journal = p.newJournal(before)
		}
		if slices.ContainsFunc(readEvents(p.ts, journal, &seen), isLast) {
			return true
		}
		if ended {
			return false
		}
		select {
		case <-j.done:
		case <-p.ctx.Done():
			text, _ := j.out.textSoFar()
			p.ts.Fatalf("no end of the run:\n%s", text)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (p *pursuit) journalFiles() []string {
	files, _ := filepath.Glob(p.ts.MkAbs("site/runs/*.jsonl")) // the pattern is well formed
	return files
}

func (p *pursuit) newJournal(before []string) string {
	for _, f := range p.journalFiles() {
		if !slices.Contains(before, f) {
			return f
		}
	}
	return ""
}

// readEvents returns the complete lines of a journal that it has not returned
// before. seen counts them.
func readEvents(ts *testscript.TestScript, journal string, seen *int) []event.Event {
	if journal == "" {
		return nil
	}
	text, err := os.ReadFile(journal)
	ts.Check(err)
	var events []event.Event
	for {
		line, _, whole := bytes.Cut(text[*seen:], []byte("\n"))
		if !whole {
			return events
		}
		*seen += len(line) + 1
		var e event.Event
		ts.Check(json.Unmarshal(line, &e))
		events = append(events, e)
	}
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

package journal

import (
	"errors"
	"os"
	"strings"
	"testing"

	"holdfast/engine/event"
)

// TestReadersTakeAllThatIsWritten writes events around the limits of a journal.
// Readers take every event that the writer accepts.
func TestReadersTakeAllThatIsWritten(t *testing.T) {
	small := limits{event: 70_000, journal: 300_000}
	for size := 65_000; size < 75_000; size += 97 {
		dir := t.TempDir()
		w, err := Create(dir, "r")
		if err != nil {
			t.Fatal(err)
		}
		w.limits = small
		var written, refused int
		for range 6 {
			if err := w.Emit(event.Event{Type: event.Warned, Message: strings.Repeat("x", size)}); err != nil {
				refused++
				if !strings.Contains(err.Error(), "--limit") && !strings.Contains(err.Error(), "with a new journal") {
					t.Errorf("%v has no next step", err)
				}
				continue
			}
			written++
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(journalPath(dir, "r"))
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		err = small.scanLines("r", f, func([]byte) error { read++; return nil })
		if err = errors.Join(err, f.Close()); err != nil || read != written || refused == 0 {
			t.Errorf("events of %d bytes: %d written, %d refused, %d read: %v", size, written, refused, read, err)
		}
	}
}

// TestProgressLeavesRoom: events whose loss is harmless are left out once they would
// take the room that the journal needs for others.
func TestProgressLeavesRoom(t *testing.T) {
	w, err := Create(t.TempDir(), "r")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	w.limits = limits{event: 70_000, journal: 300_000}
	for range 100 {
		if err := w.Emit(event.Event{Type: event.StepProgress, Message: strings.Repeat("x", 10_000)}); err != nil {
			t.Fatal(err)
		}
	}
	if w.size > w.limits.journal/2 {
		t.Errorf("progress fills %d bytes of %d", w.size, w.limits.journal)
	}
	if err := w.Emit(event.Event{Type: event.RunEnded, End: &event.RunEnd{}}); err != nil {
		t.Error(err)
	}
}

package journal_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/journal"
	"holdfast/engine/wire"
)

// writeJournal writes events as a run does, and returns the path of the journal.
func writeJournal(t testing.TB, dir, run string, events []event.Event) string {
	t.Helper()
	j, err := journal.Create(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if err := j.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, run+".jsonl")
}

// TestIncompleteLastLine checks that exactly the complete events are read after
// a crash during a write.
func TestIncompleteLastLine(t *testing.T) {
	path := writeJournal(t, t.TempDir(), "r", exampleRun())
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, len(whole)).Draw(t, "bytes")
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		var got []event.Event
		err := journal.Read(path, func(e event.Event) error {
			got = append(got, e)
			return nil
		})
		want := exampleRun()[:strings.Count(string(whole[:n]), "\n")]
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d events, %v; want %d", len(got), err, len(want))
		}
		for i := range got {
			if !equalEvents(got[i], want[i]) {
				t.Fatalf("event %d: %+v, want %+v", i, got[i], want[i])
			}
		}
	})
}

// TestIncompleteAtEachByte cuts a small journal after each of its bytes.
func TestIncompleteAtEachByte(t *testing.T) {
	events := []event.Event{exampleRun()[0], exampleRun()[1], {Seq: 3, Type: event.Warned, Message: "a \"quoted\" é\nline ,\"plan\":{ \"type\":\"planned\""}, {Seq: 4, Type: event.Planned, Plan: &engine.Plan{Site: "x"}}, exampleRun()[len(exampleRun())-1]}
	whole, dir := journalLines(t, events), t.TempDir()
	for n := range len(whole) + 1 {
		saveJournal(t, dir, "r", whole[:n])
		want, seen := strings.Count(string(whole[:n]), "\n"), 0
		err := journal.Read(filepath.Join(dir, "r.jsonl"), func(e event.Event) error {
			if !equalEvents(e, events[seen]) {
				t.Fatalf("cut after %d bytes: event %d is %+v", n, seen, e)
			}
			seen++
			return nil
		})
		runs, errs := journal.ListRuns(dir)
		if err != nil || seen != want || errs != nil || runs[0].Problem != "" || (runs[0].End != nil) != (want == len(events)) {
			t.Fatalf("cut after %d bytes: %d events, %v; want %d; runs %+v, %v", n, seen, err, want, runs, errs)
		}
	}
}

// TestRunsSkipPlan checks that a skipped plan changes nothing else about a run.
func TestRunsSkipPlan(t *testing.T) {
	dir := t.TempDir()
	events := exampleRun()[:3]
	saveJournal(t, dir, "r", journalLines(t, events))
	runs, err := journal.ListRuns(dir)
	if err != nil || events[2].Type != event.Planned || runs[0].Problem != "" || !runs[0].Last.Equal(events[2].Time) || runs[0].Site != "berlin" {
		t.Errorf("%+v, %v", runs, err)
	}
}

func equalEvents(a, b event.Event) bool {
	x, _ := wire.MarshalEvent(a)
	y, _ := wire.MarshalEvent(b)
	return string(x) == string(y)
}

// TestRunsOfAJournal checks that a killed run is found, with its held and
// rebooting hosts.
func TestRunsOfAJournal(t *testing.T) {
	dir := t.TempDir()
	events := exampleRun()
	done := len(events)
	var cut int
	for i, e := range events {
		if e.Step == "wait for boot" && e.Type == event.StepStarted {
			cut = i + 1
		}
	}
	well := append([]event.Event(nil), events[:done]...)
	well[done-1].End = &event.RunEnd{Exit: engine.ExitOK, Complete: true}
	writeJournal(t, dir, "20261121-060000-0000", well) // a successful run leaves no holds
	writeJournal(t, dir, "20261121-070000-0000", events[:done])
	writeJournal(t, dir, "20261121-080000-0001", events[:cut])
	if err := os.WriteFile(filepath.Join(dir, "20261121-090000-0002.jsonl"), []byte("{}\nrubbish\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	runs, err := journal.ListRuns(dir)
	if err != nil || len(runs) != 4 {
		t.Fatal(runs, err)
	}
	if runs[0].Problem == "" || runs[1].End != nil || runs[1].LastSteps["etcd-1"] != "wait for boot" || runs[2].End == nil {
		t.Errorf("%+v", runs)
	}
	left := journal.SummarizeRuns(runs, "berlin", engine.HoldOwner{Run: "20261121-100000-0003", Bastion: "b1"})
	if want := []string{"20261121-090000-0002", "20261121-080000-0001", "20261121-070000-0000"}; !slices.Equal(left.Dead, want) {
		t.Errorf("dead runs %q, want %q", left.Dead, want)
	}
	if want := map[string]string{"etcd-1": "20261121-080000-0001"}; !maps.Equal(left.Rebooting, want) {
		t.Errorf("awaited %q, want %q", left.Rebooting, want)
	}
	if want := []string{"worker-01"}; !slices.Equal(left.Failed, want) {
		t.Errorf("to be tried again %q, want %q", left.Failed, want)
	}
	if other := journal.SummarizeRuns(runs[1:], "oslo", engine.HoldOwner{Run: "x", Bastion: "b1"}); len(other.Dead) > 0 {
		t.Errorf("the runs of another site are taken for dead ones of this: %+v", other)
	}
}

// TestJournalsOfAnotherBastion checks that runs of another bastion with a
// journal in the same folder are not dead, because they may be active there.
func TestJournalsOfAnotherBastion(t *testing.T) {
	dir := t.TempDir()
	events := exampleRun()
	for i, e := range events {
		if e.Start != nil {
			start := *e.Start
			start.Bastion = "b1"
			events[i].Start = &start
		}
		if e.Step == "wait for boot" && e.Type == event.StepStarted {
			events = events[:i+1]
			break
		}
	}
	writeJournal(t, dir, "20261121-080000-0001", events)
	runs, err := journal.ListRuns(dir)
	if err != nil {
		t.Fatal(err)
	}
	if left := journal.SummarizeRuns(runs, "berlin", engine.HoldOwner{Run: "x", Bastion: "b1"}); len(left.Dead) != 1 || len(left.Rebooting) != 1 {
		t.Errorf("of this bastion: %+v", left)
	}
	if left := journal.SummarizeRuns(runs, "berlin", engine.HoldOwner{Run: "x", Bastion: "b2"}); len(left.Dead)+len(left.Rebooting) != 0 {
		t.Errorf("a run of another bastion counts as dead: %+v", left)
	}
}

// TestJournalIsNotReplaced checks that a run never writes into the journal of
// another run.
func TestJournalIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	writeJournal(t, dir, "r", nil)
	if _, err := journal.Create(dir, "r"); err == nil {
		t.Error("the journal was opened twice")
	}
}

// BenchmarkJournal measures the cost of a durable event.
func BenchmarkJournal(b *testing.B) {
	j, err := journal.Create(b.TempDir(), "r")
	if err != nil {
		b.Fatal(err)
	}
	e := event.Event{Type: event.StepStarted, Host: "worker-001", Step: "finalize", Time: began}
	b.ReportAllocs()
	for b.Loop() {
		if err := j.Emit(e); err != nil {
			b.Fatal(err)
		}
	}
}

func journalLines(t testing.TB, events []event.Event) []byte {
	t.Helper()
	var all []byte
	for _, e := range events {
		line, err := wire.MarshalEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, line...)
	}
	return all
}

func saveJournal(t testing.TB, dir, run string, text []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, run+".jsonl"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRebootingHostIsAwaited checks that the next run waits for a host that was
// ordered to reboot, whatever the name of the step is.
func TestRebootingHostIsAwaited(t *testing.T) {
	for _, step := range []string{"finalize", "reboot", "roll back", "reboot into the kernel of the playbook"} {
		dir := t.TempDir()
		writeJournal(t, dir, "20261121-080000-0001", []event.Event{
			{Schema: 1, Seq: 1, Type: event.RunStarted, Time: began, Start: &event.RunStart{Site: "berlin"}},
			{Schema: 1, Seq: 2, Type: event.StepStarted, Time: began, Host: "app-1", Step: step, Kind: engine.RebootStep},
		})
		runs, err := journal.ListRuns(dir)
		if err != nil {
			t.Fatal(err)
		}
		if left := journal.SummarizeRuns(runs, "berlin", engine.HoldOwner{Run: "20261121-090000-0002"}); left.Rebooting["app-1"] == "" {
			t.Errorf("a host that was ordered to reboot by %q is not waited for", step)
		}
	}
}

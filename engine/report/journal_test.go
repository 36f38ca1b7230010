package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/report"
)

// journal writes events as a run does and gives its file.
func journal(t testing.TB, dir, run string, events []engine.Event) string {
	t.Helper()
	j, err := report.OpenJournal(dir, run)
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

// TestTornJournal: wherever the bastion died while it wrote, all events that
// were written whole are read, and nothing else.
func TestTornJournal(t *testing.T) {
	path := journal(t, t.TempDir(), "r", aRun())
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, len(whole)).Draw(t, "bytes")
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		var got []engine.Event
		err := report.ReadJournal(path, func(e engine.Event) error {
			got = append(got, e)
			return nil
		})
		want := aRun()[:strings.Count(string(whole[:n]), "\n")]
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d events, %v; want %d", len(got), err, len(want))
		}
		for i := range got {
			if !same(got[i], want[i]) {
				t.Fatalf("event %d: %+v, want %+v", i, got[i], want[i])
			}
		}
	})
}

// TestTornAnywhere cuts a small journal after each of its bytes.
func TestTornAnywhere(t *testing.T) {
	events := []engine.Event{aRun()[0], aRun()[1], {Seq: 3, Type: engine.Warned, Message: "a \"quoted\" é\nline ,\"plan\":{ \"type\":\"planned\""}, {Seq: 4, Type: engine.Planned, Plan: &engine.Plan{Site: "x"}}, aRun()[len(aRun())-1]}
	whole, dir := lines(t, events), t.TempDir()
	for n := range len(whole) + 1 {
		save(t, dir, "r", whole[:n])
		want, seen := strings.Count(string(whole[:n]), "\n"), 0
		err := report.ReadJournal(filepath.Join(dir, "r.jsonl"), func(e engine.Event) error {
			if !same(e, events[seen]) {
				t.Fatalf("cut after %d bytes: event %d is %+v", n, seen, e)
			}
			seen++
			return nil
		})
		runs, errs := report.ListRuns(dir)
		if err != nil || seen != want || errs != nil || runs[0].Problem != "" || (runs[0].End != nil) != (want == len(events)) {
			t.Fatalf("cut after %d bytes: %d events, %v; want %d; runs %+v, %v", n, seen, err, want, runs, errs)
		}
	}
}

// TestRunsKnowWhatPlannedDoes: that the plan is skipped loses nothing else.
func TestRunsKnowWhatPlannedDoes(t *testing.T) {
	dir := t.TempDir()
	events := aRun()[:3]
	save(t, dir, "r", lines(t, events))
	runs, err := report.ListRuns(dir)
	if err != nil || events[2].Type != engine.Planned || runs[0].Problem != "" || !runs[0].Last.Equal(events[2].Time) || runs[0].Site != "berlin" {
		t.Errorf("%+v, %v", runs, err)
	}
}

func same(a, b engine.Event) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// TestRunsOfAJournal: a killed run is found with what it left behind.
func TestRunsOfAJournal(t *testing.T) {
	dir := t.TempDir()
	events := aRun()
	done := len(events)
	var cut int
	for i, e := range events {
		if e.Step == "wait for boot" && e.Type == engine.StepStarted {
			cut = i + 1
		}
	}
	well := append([]engine.Event(nil), events[:done]...)
	well[done-1].End = &engine.RunEnd{Exit: engine.ExitOK, Reason: "every host matches"}
	journal(t, dir, "20261121-060000-0000", well) // it holds nothing any more
	journal(t, dir, "20261121-070000-0000", events[:done])
	journal(t, dir, "20261121-080000-0001", events[:cut])
	if err := os.WriteFile(filepath.Join(dir, "20261121-090000-0002.jsonl"), []byte("{}\nrubbish\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	runs, err := report.ListRuns(dir)
	if err != nil || len(runs) != 4 {
		t.Fatal(runs, err)
	}
	if runs[0].Problem == "" || runs[1].End != nil || runs[1].Steps["etcd-1"] != "wait for boot" || runs[2].End == nil {
		t.Errorf("%+v", runs)
	}
	left := report.LeftOver(runs, "berlin", engine.HoldOwner{Run: "20261121-100000-0003", Bastion: "b1"})
	if want := []string{"20261121-090000-0002", "20261121-080000-0001", "20261121-070000-0000"}; !slices.Equal(left.Dead, want) {
		t.Errorf("dead runs %q, want %q", left.Dead, want)
	}
	if want := map[string]string{"etcd-1": "20261121-080000-0001"}; !maps.Equal(left.Awaited, want) {
		t.Errorf("awaited %q, want %q", left.Awaited, want)
	}
	if want := []string{"worker-01"}; !slices.Equal(left.Failed, want) {
		t.Errorf("to be tried again %q, want %q", left.Failed, want)
	}
	if other := report.LeftOver(runs[1:], "oslo", engine.HoldOwner{Run: "x", Bastion: "b1"}); len(other.Dead) > 0 {
		t.Errorf("the runs of another site are taken for dead ones of this: %+v", other)
	}
}

// TestJournalsOfAnotherBastion leaves alone what runs of another bastion have left,
// whose journals are in the same folder: they may be under way over there.
func TestJournalsOfAnotherBastion(t *testing.T) {
	dir := t.TempDir()
	events := aRun()
	for i, e := range events {
		if e.Start != nil {
			start := *e.Start
			start.Bastion = "b1"
			events[i].Start = &start
		}
		if e.Step == "wait for boot" && e.Type == engine.StepStarted {
			events = events[:i+1]
			break
		}
	}
	journal(t, dir, "20261121-080000-0001", events)
	runs, err := report.ListRuns(dir)
	if err != nil {
		t.Fatal(err)
	}
	if left := report.LeftOver(runs, "berlin", engine.HoldOwner{Run: "x", Bastion: "b1"}); len(left.Dead) != 1 || len(left.Awaited) != 1 {
		t.Errorf("of this bastion: %+v", left)
	}
	if left := report.LeftOver(runs, "berlin", engine.HoldOwner{Run: "x", Bastion: "b2"}); len(left.Dead)+len(left.Awaited) != 0 {
		t.Errorf("a run of another bastion counts as dead: %+v", left)
	}
}

// TestJournalIsNotReplaced: a run never writes into the journal of another.
func TestJournalIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	journal(t, dir, "r", nil)
	if _, err := report.OpenJournal(dir, "r"); err == nil {
		t.Error("the journal was opened twice")
	}
}

// sinkFunc is a sink in a function.
type sinkFunc func(engine.Event) error

func (f sinkFunc) Emit(e engine.Event) error { return f(e) }

// TestRedact: a sensitive value passes in no field of any event, and nothing
// else is changed.
func TestRedact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-zA-Z0-9"\\/<>&é]{6,20}`).Draw(t, "secret") + "#hunter2"
		for _, e := range aRun() {
			e.Message += " " + secret
			if e.Failure != nil {
				f := *e.Failure
				f.Stderr, f.Command, f.Cause, f.Hint = secret, "login "+secret, secret+secret, secret
				e.Failure = &f
			}
			if e.Plan != nil {
				p := *e.Plan
				p.Before = []engine.Step{{Name: "gate", Do: engine.Op{Command: &engine.Local{Command: "curl " + secret}}}}
				e.Plan = &p
			}
			passed := 0
			r := report.Redact{Sensitive: []string{secret}, To: sinkFunc(func(clean engine.Event) error {
				passed++
				text, err := json.Marshal(clean)
				quoted, _ := json.Marshal(secret)
				if err != nil || strings.Contains(string(text), strings.Trim(string(quoted), `"`)) {
					t.Fatalf("%s shows %q", text, secret)
				}
				if clean.Seq != e.Seq || !clean.Time.Equal(e.Time) || clean.Type != e.Type || clean.Host != e.Host || clean.Took != e.Took {
					t.Fatalf("%+v became %+v", e, clean)
				}
				return nil
			})}
			if err := r.Emit(e); err != nil || passed != 1 {
				t.Fatal(err, passed)
			}
		}
	})
}

// The journal comes first and only its errors count. After its first nothing
// more is written to it, but who watches still sees what happens; what was not
// journaled does not begin.
func TestJournaled(t *testing.T) {
	broken := errors.New("broken")
	var written, seen int
	view := sinkFunc(func(engine.Event) error { seen++; return broken })
	well := &report.Journaled{Journal: sinkFunc(func(engine.Event) error { return nil }), View: view}
	if err := well.Emit(engine.Event{}); err != nil || seen != 1 {
		t.Errorf("%v, %d", err, seen)
	}
	full := &report.Journaled{Journal: sinkFunc(func(engine.Event) error { written++; return broken }), View: view}
	if err := full.Emit(engine.Event{Type: engine.StepStarted}); !errors.Is(err, broken) || seen != 1 {
		t.Errorf("a step that is not in the journal is shown: %v, %d", err, seen)
	}
	if err := full.Emit(engine.Event{Type: engine.RunEnded}); !errors.Is(err, broken) || seen != 2 || written != 1 {
		t.Errorf("%v; %d events seen, %d written", err, seen, written)
	}
}

// BenchmarkJournal is the cost of a durable event.
func BenchmarkJournal(b *testing.B) {
	j, err := report.OpenJournal(b.TempDir(), "r")
	if err != nil {
		b.Fatal(err)
	}
	e := engine.Event{Type: engine.StepStarted, Host: "worker-001", Step: "finalize", Time: began}
	b.ReportAllocs()
	for b.Loop() {
		if err := j.Emit(e); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWritePlan shows a plan for 10,000 hosts that are alike.
func BenchmarkWritePlan(b *testing.B) {
	p := engine.Plan{}
	for i := range 10_000 {
		hp := osPlan(fmt.Sprintf("worker-%05d", i), "worker", "", "")
		p.Hosts = append(p.Hosts, hp)
		p.Batches = append(p.Batches, engine.Batch{Pools: []string{"worker"}, Hosts: []string{hp.Host}})
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := report.WritePlan(discard{}, p, report.Style{}, false); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// lines are events as a journal has them.
func lines(t testing.TB, events []engine.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, e := range events {
		if err := (report.JSONLines{W: &b}).Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func save(t testing.TB, dir, run string, text []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, run+".jsonl"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAHostOnItsWayBackIsAwaited: whatever a step is called that orders a host
// to reboot, the next run waits for that host.
func TestAHostOnItsWayBackIsAwaited(t *testing.T) {
	for _, step := range []string{"finalize", "reboot", "roll back", "reboot into the kernel of the playbook"} {
		dir := t.TempDir()
		journal(t, dir, "20261121-080000-0001", []engine.Event{
			{Schema: 1, Seq: 1, Type: engine.RunStarted, Time: began, Start: &engine.RunStart{Site: "berlin"}},
			{Schema: 1, Seq: 2, Type: engine.StepStarted, Time: began, Host: "app-1", Step: step, Kind: engine.RebootStep},
		})
		runs, err := report.ListRuns(dir)
		if err != nil {
			t.Fatal(err)
		}
		if left := report.LeftOver(runs, "berlin", engine.HoldOwner{Run: "20261121-090000-0002"}); left.Awaited["app-1"] == "" {
			t.Errorf("a host that was ordered to reboot by %q is not waited for", step)
		}
	}
}

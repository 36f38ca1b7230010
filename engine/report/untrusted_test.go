package report_test

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/restore"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
	"holdfast/engine/journal"
	"holdfast/engine/report"
	"holdfast/engine/report/lines"
	"holdfast/engine/report/membersview"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/report/tables"
	"holdfast/engine/report/termtext"
	"holdfast/engine/wire"
)

// forged matches a line that imitates a line of holdfast.
var forged = regexp.MustCompile(`^( {0,7}|\d\d:\d\d:\d\d +)worker-99 done`)

// checkHarmless checks that a text does not control a terminal and does not
// imitate a line of holdfast.
func checkHarmless(t *testing.T, what, text string) {
	t.Helper()
	if text == "" {
		t.Errorf("%s shows nothing", what)
	}
	for _, r := range text {
		if r != '\n' && !unicode.IsGraphic(r) {
			t.Fatalf("%s: %q reaches the terminal in %q", what, r, text)
		}
	}
	for line := range strings.Lines(text) {
		if forged.MatchString(line) {
			t.Fatalf("%s: a host made a line of its own in\n%s", what, text)
		}
	}
}

// TestUntrustedTables checks that text from hosts cannot control the terminal.
func TestUntrustedTables(t *testing.T) {
	status := reporttest.HostileValue[engine.Status]()
	status.Hosts[0].State, status.Pools[0].Counts = engine.Degraded, map[engine.HostState]int{engine.Degraded: 1}
	differs := reporttest.HostileValue[engine.Status]()
	differs.Hosts[0].State, differs.Pools[0].Counts = engine.Drifted, map[engine.HostState]int{engine.Drifted: 1}
	damaged := reporttest.HostileValue[restore.State]()
	damaged.Hosts[0].HasData, damaged.Hosts[0].Unmounted, damaged.Hosts[0].Unreachable, damaged.Hosts[0].Unread = true, "", "", ""
	held := reporttest.HostileValue[tables.HeldHost]()
	held.Hold.Kind = reporttest.Hostile
	for name, write := range map[string]func(io.Writer) error{
		"plan": func(w io.Writer) error {
			return planview.Write(w, reporttest.HostileValue[engine.Plan](), termtext.Style{}, false)
		},
		"plan, verbose": func(w io.Writer) error {
			return planview.Write(w, reporttest.HostileValue[engine.Plan](), termtext.Style{}, true)
		},
		"status":          func(w io.Writer) error { return tables.WriteStatus(w, status, termtext.Style{}, false) },
		"status, verbose": func(w io.Writer) error { return tables.WriteStatus(w, status, termtext.Style{}, true) },
		"status, drifted": func(w io.Writer) error { return tables.WriteStatus(w, differs, termtext.Style{}, false) },
		"etcd": func(w io.Writer) error {
			return tables.WriteEtcdStatus(w, []engine.ClusterStatus{reporttest.HostileValue[engine.ClusterStatus]()}, termtext.Style{})
		},
		"holds": func(w io.Writer) error {
			return tables.WriteHolds(w, []tables.HeldHost{held, {Host: reporttest.Hostile, Problem: reporttest.Hostile}}, 1)
		},
		"members": func(w io.Writer) error {
			return membersview.WriteForecast(w, reporttest.HostileValue[membership.State](), reporttest.HostileValue[membership.Forecast]())
		},
		"members, done": func(w io.Writer) error {
			return membersview.WriteForecast(w, reporttest.HostileValue[membership.State](), membership.Forecast{})
		},
		"restore": func(w io.Writer) error {
			f := reporttest.HostileValue[restore.Forecast]()
			f.Refusal = nil
			return membersview.WriteRestore(w, damaged, f, []restore.Source{reporttest.HostileValue[restore.Source]()})
		},
		"runs": func(w io.Writer) error {
			return tables.WriteRuns(w, []journal.Run{reporttest.HostileValue[journal.Run]()})
		},
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		checkHarmless(t, name, b.String())
	}
}

func eventTypes() []event.Type {
	return []event.Type{
		event.RunStarted, event.HostsGathered, event.HostGathered, event.Planned, event.StageStarted, event.StageEnded,
		event.BatchStarted, event.BatchEnded, event.StepStarted, event.StepProgress, event.StepEnded, event.HostDone,
		event.HostFailed, event.EtcdSampled, event.Warned, event.Interrupted, event.MaintenancePlanned, event.RunEnded,
	}
}

// TestUntrustedLines checks that text from hosts cannot control the terminal in
// the lines of a roll-out, of a change of members, and of work on holds.
func TestUntrustedLines(t *testing.T) {
	for name, p := range map[string]lines.Writer{
		"roll-out": {Plan: true}, "roll-out, terse": {Plan: true, Terse: true}, "roll-out, full": {Full: true},
		"members": {}, "release": {Full: true},
	} {
		var b bytes.Buffer
		p.W = &b
		for _, typ := range eventTypes() {
			for _, failure := range []*engine.Failure{{}, nil} {
				e := reporttest.HostileValue[event.Event]()
				e.Start.Maintenance, e.End.Maintenance = "", ""
				if name == "release" {
					e.Start.Maintenance, e.End.Maintenance = engine.ReleaseHosts, engine.ReleaseHosts
				}
				if name != "members" {
					e.Start.Cluster = ""
				}
				e.Type, e.Time, e.Took, e.End.Exit = typ, reporttest.Began, engine.Duration(time.Minute), engine.ExitFailed
				e.Etcd.Voters, e.Etcd.Healthy, e.Etcd.Latency[0].WALFsyncP99Seconds = 3, 2, 1
				if failure == nil && typ != event.HostFailed {
					e.Failure = nil
				}
				if err := p.Emit(e); err != nil {
					t.Fatal(err)
				}
			}
		}
		checkHarmless(t, name, b.String())
	}
}

// TestBareEvents checks that the lines of a journal show the other events if the journal was damaged, so that events lack their
// parts.
func TestBareEvents(t *testing.T) {
	for _, start := range []event.RunStart{{}, {Cluster: "main"}, {Maintenance: engine.HoldHosts}} {
		var b bytes.Buffer
		p := lines.Writer{W: &b, Plan: true, Full: true}
		events := []event.Event{{Type: event.RunStarted, Run: "r", Start: &start}}
		for _, typ := range append(eventTypes(), event.StagingGoverned) {
			events = append(events, event.Event{Type: typ})
		}
		for _, e := range append(events, event.Event{Type: event.RunEnded, End: &event.RunEnd{}}) {
			if err := p.Emit(e); err != nil {
				t.Fatal(err)
			}
		}
		if text := b.String(); !strings.Contains(text, "run r of site") || strings.Count(text, "exit 0") != 1 {
			t.Errorf("%+v:\n%s", start, text)
		}
	}
}

// TestUntrustedJSON checks that JSON does not control a terminal, and that
// programs read the exact text of the host.
func TestUntrustedJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		said := rapid.String().Draw(t, "said") + reporttest.Hostile + "\x7f\U000e0041<é>\u2028"
		for name, write := range map[string]func(io.Writer) error{
			"lines": func(w io.Writer) error { return report.JSONLines{W: w}.Emit(event.Event{Message: said}) },
			"whole": func(w io.Writer) error { return wire.WriteJSON(w, event.Event{Message: said}) },
		} {
			var b bytes.Buffer
			var back event.Event
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			for _, r := range b.String() {
				if r != '\n' && !unicode.IsGraphic(r) {
					t.Fatalf("%s: %q reaches the terminal in %q", name, r, b.String())
				}
			}
			if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.Message != said {
				t.Fatalf("%s: %q was read back as %q: %v", name, said, back.Message, err)
			}
		}
	})
}

// TestListsAreNeverNull checks that programs can iterate over every list in
// JSON.
func TestListsAreNeverNull(t *testing.T) {
	for _, v := range []any{engine.Status{}, engine.Inventory{}, engine.Plan{Hosts: []engine.HostPlan{{}}, Batches: []engine.Batch{{}}}, []etcdfacts.ClusterFacts{}, []tables.HeldHost(nil), &engine.Status{}} {
		var b bytes.Buffer
		if err := wire.WriteJSON(&b, v); err != nil || strings.Contains(b.String(), "null") {
			t.Errorf("%T: %v\n%s", v, err, b.String())
		}
	}
	var line bytes.Buffer
	if err := (report.JSONLines{W: &line}).Emit(event.Event{Plan: &engine.Plan{Hosts: []engine.HostPlan{{}}}}); err != nil || strings.Contains(line.String(), "null") {
		t.Errorf("%v: %s", err, line.String())
	}
}

package journal_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/journal"
)

// TestLostHosts tells which hosts an earlier run changed and nobody has seen well since.
func TestLostHosts(t *testing.T) {
	changes := event.Event{Type: event.StepStarted, Host: "w-0", Step: "reboot", Kind: engine.RebootStep, Aim: "A"}
	fails := event.Event{Type: event.HostFailed, Host: "w-0", Failure: &engine.Failure{Host: "w-0", Cause: "it does not answer"}}
	ends := event.Event{Type: event.RunEnded, End: &event.RunEnd{Exit: engine.ExitFailed}}
	releases := event.Event{Type: event.RunEnded, End: &event.RunEnd{Updated: []string{"w-0"}, Maintenance: engine.ReleaseHosts}}
	p := examplePlan()
	for name, c := range map[string]struct {
		runs [][]event.Event // from old to new
		lost string          // the run that lost the host
	}{
		"killed":                     {[][]event.Event{{changes}}, "run-1"},
		"failed":                     {[][]event.Event{{changes, fails, ends}}, "run-1"},
		"failed, and others went on": {[][]event.Event{{changes, fails, ends}, {{Type: event.HostDone, Host: "w-1"}, ends}}, "run-1"},
		"changed again":              {[][]event.Event{{changes, fails, ends}, {changes}}, "run-2"},
		"updated":                    {[][]event.Event{{changes, {Type: event.HostDone, Host: "w-0"}}}, ""},
		"updated by a later run":     {[][]event.Event{{changes}, {changes, {Type: event.HostDone, Host: "w-0"}}}, ""},
		"rolled back":                {[][]event.Event{{changes, {Type: event.HostFailed, Host: "w-0", Outcome: event.RolledBackOutcome, Failure: fails.Failure}}}, "run-1"},
		"rolled back by a later run": {[][]event.Event{{changes, fails, ends}, {{Type: event.HostFailed, Host: "w-0", Outcome: event.RolledBackOutcome, Failure: fails.Failure}}}, "run-1"},
		"given back":                 {[][]event.Event{{changes, {Type: event.HostFailed, Host: "w-0", Outcome: event.GivenBackOutcome, Failure: fails.Failure}}}, ""},
		"it matches in a later run":  {[][]event.Event{{changes, fails, ends}, {{Type: event.Planned, Plan: &p, Regained: []string{"w-0"}}}}, ""},
		"updated by a play": {[][]event.Event{{changes, fails, ends}, {
			{Type: event.RunStarted, Start: &event.RunStart{Site: "berlin", HasPlays: true}}, {Type: event.HostDone, Host: "w-0"},
		}}, "run-1"},
		"updated by a play that proves it": {[][]event.Event{{changes, fails, ends}, {
			{Type: event.RunStarted, Start: &event.RunStart{Site: "berlin", HasPlays: true}}, {Type: event.HostDone, Host: "w-0", Regained: []string{"w-0"}},
		}}, ""},
		"a person has ended the hold": {[][]event.Event{{changes, fails, ends}, {
			{Type: event.RunStarted, Start: &event.RunStart{Site: "berlin", Maintenance: engine.ReleaseHosts}}, releases,
		}}, ""},
		"never changed": {[][]event.Event{{{Type: event.StepStarted, Host: "w-0", Step: "hold"}, fails, ends}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for i, events := range c.runs {
				if events[0].Type != event.RunStarted {
					events = append([]event.Event{{Type: event.RunStarted, Start: &event.RunStart{Site: "berlin"}}}, events...)
				}
				for n := range events {
					events[n].Time = began.Add(time.Duration(i) * time.Hour)
				}
				writeJournal(t, dir, "run-"+string(rune('1'+i)), events)
			}
			runs, err := journal.ListRuns(dir)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]engine.LostHost{}
			if c.lost != "" {
				want["w-0"] = engine.LostHost{Run: c.lost, Aim: "A"}
			}
			if got := journal.SummarizeRuns(runs, "berlin", engine.HoldOwner{}).Lost; !maps.Equal(got, want) {
				t.Errorf("lost: %+v, not %+v", got, want)
			}
		})
	}
}

// TestPruneKeepsProofs: the run that alone proves that a lost host was seen again is kept, so that the host is not lost again.
func TestPruneKeepsProofs(t *testing.T) {
	p := examplePlan()
	for name, c := range map[string]struct {
		start  event.RunStart
		proves []event.Event
		keeps  bool
	}{
		"a run that updated it":  {event.RunStart{}, []event.Event{{Type: event.HostDone, Host: "w-0"}, {Type: event.RunEnded, End: &event.RunEnd{Updated: []string{"w-0"}}}}, true},
		"a run that saw it":      {event.RunStart{}, []event.Event{{Type: event.Planned, Plan: &p, Regained: []string{"w-0"}}, {Type: event.RunEnded, End: &event.RunEnd{}}}, true},
		"a person":               {event.RunStart{Maintenance: engine.ReleaseHosts}, []event.Event{{Type: event.RunEnded, End: &event.RunEnd{Updated: []string{"w-0"}, Maintenance: engine.ReleaseHosts}}}, true},
		"a run that proves less": {event.RunStart{}, []event.Event{{Type: event.RunEnded, End: &event.RunEnd{}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			lost := []event.Event{
				{Type: event.StepStarted, Host: "w-0", Pool: "w", Step: "reboot", Kind: engine.RebootStep, Aim: "A"},
				{Type: event.HostFailed, Host: "w-0", Failure: &engine.Failure{Host: "w-0", Cause: "it does not answer"}},
				{Type: event.RunEnded, End: &event.RunEnd{Exit: engine.ExitFailed, Failed: []string{"w-0"}}},
			}
			later := []event.Event{{Type: event.HostDone, Host: "w-1"}, {Type: event.RunEnded, End: &event.RunEnd{Updated: []string{"w-1"}}}} // nothing is left to retry
			for i, events := range [][]event.Event{lost, c.proves, later, later} {
				start := event.RunStart{Site: "berlin", Bastion: "b1"}
				if i == 1 {
					start.Maintenance = c.start.Maintenance
				}
				events = append([]event.Event{{Type: event.RunStarted, Start: &start}}, events...)
				for n := range events {
					events[n].Time = began.Add(time.Duration(i) * time.Hour)
				}
				writeJournal(t, dir, "run-"+string(rune('1'+i)), events)
			}
			gone, err := journal.Prune(dir, 0, began.Add(24*time.Hour))
			if err != nil || slices.Contains(gone, "run-2") == c.keeps {
				t.Errorf("removed %q, %v", gone, err)
			}
			runs, err := journal.ListRuns(dir)
			if got := journal.SummarizeRuns(runs, "berlin", engine.HoldOwner{Bastion: "b1"}).Lost; err != nil || (len(got) == 0) != c.keeps {
				t.Errorf("lost: %+v, %v", got, err)
			}
		})
	}
}

// TestUpdatedByPlays checks that a run lists a host as updated once, and not if a later play left it unfinished. Such a host
// is not lost, because a play has seen it well.
func TestUpdatedByPlays(t *testing.T) {
	plans := func(hosts ...string) event.Event {
		return event.Event{Type: event.Planned, Plan: &engine.Plan{}, Hosts: hosts}
	}
	done := func(host string) event.Event { return event.Event{Type: event.HostDone, Host: host} }
	holds := func(host string) event.Event { return event.Event{Type: event.StepStarted, Host: host, Step: "hold"} }
	began := []event.Event{
		{Type: event.RunStarted, Start: &event.RunStart{Site: "berlin", HasPlays: true}},
		plans("w-1", "w-0"),
		{Type: event.BatchStarted, Batch: 1},
		{Type: event.HostDone, Host: "w-1", Regained: []string{"w-1"}},
		done("w-0"),
	}
	stages := event.Event{Type: event.StepStarted, Host: "w-0", Step: "stage", Kind: engine.StageStep}
	batch := event.Event{Type: event.BatchStarted, Batch: 2}
	for name, c := range map[string]struct {
		last []event.Event
		want []string
	}{
		"ended":                        {[]event.Event{done("w-0"), {Type: event.RunEnded, End: &event.RunEnd{Exit: engine.ExitStopped, Updated: []string{"w-0"}, Untouched: []string{"w-1"}}}}, []string{"w-0"}},
		"killed in the first play":     {nil, []string{"w-0", "w-1"}},
		"killed while it asks":         {[]event.Event{plans("w-0", "w-1")}, []string{"w-0", "w-1"}},
		"killed in the second":         {[]event.Event{plans("w-0", "w-1"), batch, holds("w-0")}, nil},
		"killed after one of two":      {[]event.Event{plans("w-0", "w-1"), batch, holds("w-0"), done("w-0")}, []string{"w-0"}},
		"killed in the third":          {[]event.Event{plans("w-0"), batch, done("w-0"), plans("w-1"), batch}, []string{"w-0"}},
		"a host was left out":          {[]event.Event{plans("w-0"), batch, plans("w-1"), batch, done("w-1")}, []string{"w-1"}},
		"failed in a later play":       {[]event.Event{plans("w-0"), batch, {Type: event.HostFailed, Host: "w-0", Failure: &engine.Failure{Cause: "exit status 1"}}}, []string{"w-1"}},
		"staged first":                 {[]event.Event{plans(), {Type: event.StageStarted}, stages, {Type: event.StageEnded}, plans("w-0"), batch, done("w-0")}, []string{"w-0", "w-1"}},
		"killed while it stages":       {[]event.Event{plans("w-0"), {Type: event.StageStarted}, stages}, []string{"w-1"}},
		"begun, by an earlier version": {[]event.Event{plans(), batch, holds("w-0")}, []string{"w-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			lost := []event.Event{{Type: event.RunStarted, Start: &event.RunStart{Site: "berlin"}}, {Type: event.StepStarted, Host: "w-1", Step: "write", Aim: "A"}}
			writeJournal(t, dir, "run-1", lost)
			writeJournal(t, dir, "run-2", append(slices.Clip(began), c.last...))
			runs, err := journal.ListRuns(dir)
			if err != nil {
				t.Fatal(err)
			}
			if got := runs[0].Updated; !slices.Equal(got, c.want) {
				t.Errorf("%v updated, not %v", got, c.want)
			}
			if lost := journal.SummarizeRuns(runs, "berlin", engine.HoldOwner{}).Lost; len(lost) > 0 {
				t.Errorf("lost: %v", lost)
			}
		})
	}
}

// TestLostHostsAfterAWrongClock: a run that began by a clock far ahead has seen a host well. That is no news about later runs, by a clock
// that is right again: they have lost this host, and their failure counts.
func TestLostHostsAfterAWrongClock(t *testing.T) {
	now := time.Now()
	dir := t.TempDir()
	start := event.Event{Type: event.RunStarted, Start: &event.RunStart{Site: "berlin"}}
	done := event.Event{Type: event.HostDone, Host: "w-0"}
	changes := event.Event{Type: event.StepStarted, Host: "w-0", Step: "reboot", Kind: engine.RebootStep, Aim: "A"}
	fails := event.Event{Type: event.HostFailed, Host: "w-0", Failure: &engine.Failure{Host: "w-0", Cause: "it does not answer"}}
	write := func(began time.Time, events ...event.Event) string {
		id := engine.NewRunID(began, make([]byte, engine.RunIDBytes))
		for n := range events {
			events[n].Time = began
		}
		writeJournal(t, dir, id, events)
		return id
	}
	ended := func(end event.RunEnd) event.Event { return event.Event{Type: event.RunEnded, End: &end} }
	future := write(now.AddDate(1, 0, 0), start, done, ended(event.RunEnd{Updated: []string{"w-0"}}))
	older := write(now.Add(-2*time.Hour), start, done, ended(event.RunEnd{Updated: []string{"w-0"}}))
	lost := write(now.Add(-time.Hour), start, changes, fails, ended(event.RunEnd{Exit: engine.ExitFailed, Failed: []string{"w-0"}}))
	runs, err := journal.ListRuns(dir)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	if want := []string{lost, older, future}; !slices.Equal(ids, want) {
		t.Errorf("runs %v, not %v", ids, want)
	}
	left := journal.SummarizeRuns(runs, "berlin", engine.HoldOwner{})
	if want := map[string]engine.LostHost{"w-0": {Run: lost, Aim: "A"}}; !maps.Equal(left.Lost, want) || !slices.Equal(left.Failed, []string{"w-0"}) {
		t.Errorf("lost: %+v, not %+v; failed: %v", left.Lost, want, left.Failed)
	}
	if history, err := journal.ReadHistory(dir, "berlin"); err != nil || !slices.Equal(history.Failed, []string{"w-0"}) {
		t.Errorf("failed: %v, %v", history.Failed, err)
	}
}

// TestDeadRunFromTheFuture: right after the clock was set back, a run from the future that did not end is the newest, until another
// run has adopted its holds.
func TestDeadRunFromTheFuture(t *testing.T) {
	now := time.Now()
	dir := t.TempDir()
	write := func(began time.Time, events ...event.Event) string {
		id := engine.NewRunID(began, make([]byte, engine.RunIDBytes))
		for n := range events {
			events[n].Time = began
		}
		writeJournal(t, dir, id, events)
		return id
	}
	start := func(adopting ...string) event.Event {
		return event.Event{Type: event.RunStarted, Start: &event.RunStart{Site: "berlin", Adopting: adopting}}
	}
	done := event.Event{Type: event.HostDone, Host: "w-0"}
	ended := event.Event{Type: event.RunEnded, End: &event.RunEnd{Updated: []string{"w-0"}}}
	write(now.Add(-2*time.Hour), start(), done, ended)
	dead := write(now.AddDate(0, 0, 2), start(), event.Event{Type: event.StepStarted, Host: "w-0", Step: "reboot", Kind: engine.RebootStep, Aim: "A"})
	summarize := func() journal.EarlierRuns {
		runs, err := journal.ListRuns(dir)
		if err != nil {
			t.Fatal(err)
		}
		return journal.SummarizeRuns(runs, "berlin", engine.HoldOwner{})
	}
	if left := summarize(); left.Lost["w-0"].Run != dead || left.Rebooting["w-0"] != dead {
		t.Errorf("lost: %+v, rebooting: %v", left.Lost, left.Rebooting)
	}
	write(now.Add(-time.Minute), start(dead), done, ended)
	if left := summarize(); len(left.Lost) > 0 || len(left.Rebooting) > 0 {
		t.Errorf("after a run that adopted it: lost: %+v, rebooting: %v", left.Lost, left.Rebooting)
	}
}

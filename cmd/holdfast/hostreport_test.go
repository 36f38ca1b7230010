package main

import (
	"os"
	"path/filepath"
	"testing"

	"holdfast/engine"
	"holdfast/engine/event"
)

// TestHostsImitateNoOutcome: a host writes its own hold, and fails with its own words. It cannot add a line about another host.
func TestHostsImitateNoOutcome(t *testing.T) {
	t.Parallel()
	const forged = "ann@b1\nw-2: released\rw-3: \x1b[2J"
	plan := engine.MaintenancePlan{
		Hosts:   []engine.HostMaintenance{{Host: "w-1", Found: "held by " + forged}},
		Notices: []engine.MaintenanceNotice{{Text: "run r1 of " + forged + " is under way"}},
	}
	path := filepath.Join(t.TempDir(), "out")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r := newHostReport(&app{siteOpener: siteOpener{console: console{stdout: out, stderr: out}}})
	for _, e := range []event.Event{
		{Type: event.MaintenancePlanned, Maintenance: &plan},
		{Type: event.StepProgress, Host: "w-1", Step: "drain", Message: forged},
		{Type: event.Warned, Message: forged},
		{Type: event.HostDone, Host: "w-1", Message: forged},
		{Type: event.HostFailed, Host: "w-1", Failure: &engine.Failure{Cause: forged, Stderr: "a\nb\n"}},
	} {
		if err := r.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	if !r.lines.Flush(t.Context()) {
		t.Fatal("its lines are not written")
	}
	const want = `holdfast: warning: run r1 of ann@b1 w-2: released\rw-3: \x1b[2J is under way
w-1: held by ann@b1 w-2: released\rw-3: \x1b[2J
w-1: drain: ann@b1 w-2: released\rw-3: \x1b[2J
holdfast: warning: ann@b1 w-2: released\rw-3: \x1b[2J
w-1: ann@b1 w-2: released\rw-3: \x1b[2J
w-1: ann@b1 w-2: released\rw-3: \x1b[2J: a b
`
	if text, err := os.ReadFile(path); err != nil || string(text) != want {
		t.Errorf("%v:\n%s", err, text)
	}
}

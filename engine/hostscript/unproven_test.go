package hostscript_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
)

func (b *box) unproven() *engine.Hold {
	b.t.Helper()
	text, err := os.ReadFile(b.root + hostscript.UnprovenPath)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	check(b.t, err)
	return readHold(b.t, string(text))
}

// endByForce ends the hold as a person does who was shown it.
func (b *box) endByForce(accept bool) {
	b.t.Helper()
	shown, _, _ := b.run(hostscript.HoldProbeScript())
	b.mustRun(hostscript.EndHoldScript(resource.Digest([]byte(shown)), accept))
	if b.hold() != nil {
		b.t.Fatal("the host is still held")
	}
}

// TestAnEndedHoldKeepsTheUnitsBefore checks that the state before the first
// disruption outlives the hold of a run until a run or a person ends it.
func TestAnEndedHoldKeepsTheUnitsBefore(t *testing.T) {
	b := newBox(t)
	r1 := runHold("r1")
	r1.Units, r1.FailedUnits = []string{"app.service"}, []string{"old.mount"}
	b.mustRun(hostscript.HoldScript(r1, hour, "", nil))
	b.mustRun(hostscript.FailHoldScript(ownerOf("r1"), "app.service has failed", "wait for units", ""))
	b.endByForce(false)
	before := b.unproven()
	if before == nil || before.Run != "r1" || !slices.Equal(before.Units, r1.Units) || !slices.Equal(before.FailedUnits, r1.FailedUnits) {
		t.Fatalf("the host keeps %+v", before)
	}

	person := engine.Hold{Kind: engine.MaintenanceHold, Holder: "bob@b", Run: "m1", Reason: "fans"}
	b.mustRun(hostscript.HoldScript(person, hour, "", nil))
	b.mustBeRefused(hostscript.AcceptScript())
	b.mustRun(hostscript.ReleaseScript(ownerOf("m1"), engine.Release{}))
	b.mustRun(hostscript.HoldScript(person, hour, "", nil))
	b.endByForce(false)
	if b.unproven() == nil {
		t.Error("the end of a maintenance hold forgets the units")
	}

	r2 := runHold("r2")
	r2.FailedUnits = []string{}
	b.mustRun(hostscript.HoldScript(r2, hour, "", nil))
	b.mustRun(hostscript.ReleaseScript(ownerOf("r2"), engine.Release{}))
	if b.unproven() == nil {
		t.Error("a host that is given back as it was forgets the units")
	}
	for _, whole := range []engine.Release{{Whole: true}, {Updated: true}} {
		b.mustRun(hostscript.HoldScript(r1, hour, "", nil))
		b.endByForce(false)
		b.mustRun(hostscript.HoldScript(r2, hour, "", nil))
		b.mustRun(hostscript.ReleaseScript(ownerOf("r2"), whole))
		if b.unproven() != nil {
			t.Errorf("%+v keeps the units", whole)
		}
	}

	b.mustRun(hostscript.HoldScript(r1, hour, "", nil))
	b.endByForce(true)
	if b.unproven() != nil {
		t.Error("a person has accepted the units, and the host keeps them")
	}
	b.mustRun(hostscript.HoldScript(r1, hour, "", nil))
	b.endByForce(false)
	b.mustRun(hostscript.AcceptScript())
	if b.unproven() != nil {
		t.Error("a person has accepted the units without a hold, and the host keeps them")
	}
}

func TestAnUnreadableStateBeforeIsAProblem(t *testing.T) {
	for text, want := range map[string]bool{"": true, "rubbish": true, `{"schema":1,"kind":"run","run":"r1","failed_units":[]}`: false} {
		b := newBox(t)
		check(t, os.MkdirAll(b.root+engine.StateDir, 0o700))
		check(t, os.WriteFile(b.root+hostscript.UnprovenPath, []byte(text), 0o600))
		out, errs, code := b.run(hostscript.UnprovenProbeScript())
		h, problem := hostscript.ReadUnproven(engine.Output{Stdout: out, Stderr: errs, Code: code})
		if (problem != "") != want || (h == nil) != want {
			t.Errorf("%q: %+v, %q", text, h, problem)
		}
	}
	b := newBox(t)
	_, _, code := b.run(hostscript.UnprovenProbeScript())
	if h, problem := hostscript.ReadUnproven(engine.Output{Code: code}); h != nil || problem != "" {
		t.Errorf("without a file: %+v, %q", h, problem)
	}
}

package rollout_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// A run finds the hold of a person while other hosts wait for a budget. It ends
// with the exit code of the hold, and its reason names the hold. A plan that
// finds both has the same exit code.
func TestAHoldDecidesBeforeAUsedUpBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := func() *engine.Hold {
			return &engine.Hold{Kind: engine.MaintenanceHold, Holder: "bob@lap", Reason: "fans"}
		}
		only := func(r *rollout.Run) {
			r.Selected = func(h engine.Host) bool { return h.Name == "red-0" || h.Name == "blue-1" }
		}
		site := newSite(twoCrews(1, 0))
		site.Host("blue-0").SetHold(hold()) // the hold uses up the budget of the other hosts
		b := site.Bastion("run-1")
		b.Watch = func(e event.Event) {
			if e.Type == event.StepStarted && e.Host == "red-0" && e.Step == "hold" {
				site.Host("red-0").SetHold(hold())
			}
		}
		failOnErrors(t, checkEnd(applyRun(b, only), engine.ExitRefused, "red-0: hold: ", "bob@lap"))
		failOnErrors(t, checkEnd(applyRun(site.Bastion("run-2"), only), engine.ExitRefused, "red-0 is held", "blue-1 is blocked", "max_unavailable"))
	})
}

// If the plan has a finding that is worse than the hold, that finding decides,
// and the reason names both.
func TestTheReasonNamesTheFindingThatDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(twoCrews(1, 0))
		site.Host("blue-1").Remember(simulator.Remembered{Rejected: []string{simulator.V2}})
		b := site.Bastion("run-1")
		b.Watch = func(e event.Event) {
			if e.Type == event.StepStarted && e.Host == "red-0" && e.Step == "hold" {
				site.Host("red-0").SetHold(&engine.Hold{Kind: engine.MaintenanceHold, Holder: "bob@lap", Reason: "fans"})
			}
		}
		only := func(r *rollout.Run) {
			r.Selected = func(h engine.Host) bool { return h.Name == "red-0" || h.Name == "blue-1" }
		}
		failOnErrors(t, checkEnd(applyRun(b, only), engine.ExitFailed, "red-0: hold: ", "bob@lap", "blue-1 is rolled-back"))
	})
}

// A run that notices the hold of a person on a host of a later batch tells so at once, and only once.
func TestANewHoldIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(twoCrews(1, 0))
		b := site.Bastion("run-1")
		first, told := "", 0
		b.Watch = func(e event.Event) {
			switch {
			case e.Type == event.BatchEnded && first == "":
				first = "red-4"
				site.Host(first).SetHold(&engine.Hold{Kind: engine.MaintenanceHold, Holder: "bob@lap", Reason: "fans"})
			case e.Type == event.Warned && strings.Contains(e.Message, first+" is held since the plan was approved, and is left alone: ") && strings.Contains(e.Message, "bob@lap"):
				told++
			}
		}
		failOnErrors(t, checkEnd(applyRun(b, func(*rollout.Run) {}), engine.ExitRefused, first))
		if told != 1 {
			t.Errorf("told %d times", told)
		}
	})
}

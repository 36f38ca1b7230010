package rollout_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// After a failed play, no host is both updated and failed, and the end of the
// run names the plays that did not begin.
func TestPlaysThatWereNotBegun(t *testing.T) {
	one := engine.Play{Name: "one", Tasks: []engine.Task{disruptiveTask("one")}}
	two := engine.Play{Name: "two", Tasks: []engine.Task{disruptiveTask("two")}}
	three := engine.Play{Name: "three", Tasks: []engine.Task{disruptiveTask("three")}}
	synctest.Test(t, func(t *testing.T) {
		site := newSite(noOS(simulator.Fleet(0, 2)))
		b := site.Bastion("run-1")
		b.Command = failCommand("two", "worker-0")
		end := applyRun(b, withPlays(aPlay(one), aPlay(two), aPlay(three)))
		failOnErrors(t, checkEnd(end, engine.ExitFailed, "worker-0: two"), checkLaws(site))
		if len(end.Updated) > 0 || !slices.Equal(end.Failed, []string{"worker-0"}) || !slices.Equal(end.Untouched, []string{"worker-1"}) || !slices.Equal(end.NotBegun, []string{"three"}) {
			t.Errorf("%v updated, %v failed, %v not updated, %v not begun", end.Updated, end.Failed, end.Untouched, end.NotBegun)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		site := newSite(noOS(simulator.Fleet(0, 2)))
		asked := 0
		end := applyRun(site.Bastion("run-1"), withPlays(aPlay(one), aPlay(two), aPlay(three)), func(r *rollout.Run) {
			r.Approve = func(context.Context, engine.Plan) error {
				if asked++; asked == 2 {
					return rollout.ErrDeclined
				}
				return nil
			}
		})
		failOnErrors(t, checkEnd(end, engine.ExitStopped, "not approved; 2 hosts updated"), checkLaws(site))
		if !slices.Equal(end.NotBegun, []string{"two", "three"}) {
			t.Errorf("%v not begun", end.NotBegun)
		}
		if len(end.Pools) == 0 || !end.Pools[0].Complete || end.Complete {
			t.Errorf("all hosts match, and the run was stopped, but complete is %t: %+v", end.Complete, end.Pools)
		}
	})
}

// TestStoppedBetweenPlays: a play whose first batch, staging or snapshot never came has not begun, although its plan was approved.
func TestStoppedBetweenPlays(t *testing.T) {
	one, two := playOn("x", engine.FinalizeTask), playOn("y", engine.FinalizeTask)
	for name, c := range map[string]struct {
		inventory func(*engine.Inventory)
		stops     bool // a person stops the run during the last batch of the first play
		exit      engine.ExitCode
	}{
		"a stop in the last batch":   {func(*engine.Inventory) {}, true, engine.ExitStopped},
		"a gate before the play":     {addGate(1, "false", engine.BeforeRun), false, engine.ExitFailed},
		"the stop comes before that": {addGate(1, "false", engine.BeforeRun), true, engine.ExitStopped},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inv := twoPools()
				c.inventory(&inv)
				site := newSite(inv)
				soft, stop := context.WithCancel(t.Context())
				defer stop()
				b := site.Bastion("run-1")
				b.Watch = func(e event.Event) {
					if c.stops && e.Type == event.StepStarted && e.Host == "x-1" && e.Step == "reboot" {
						stop()
					}
				}
				asked := map[string]int{}
				end := applyRun(b, withSimulatedPlays(one, two), func(r *rollout.Run) {
					r.Soft = soft
					r.Approve = func(_ context.Context, plan engine.Plan) error { asked[plan.Play]++; return nil }
				})
				planned := slices.ContainsFunc(b.Events(), func(e event.Event) bool { return e.Plan != nil && e.Plan.Play == two.Name })
				if c.stops && (planned || asked[two.Name] > 0) {
					t.Errorf("after the stop, the second play is planned (%v) and asked about: %v", planned, asked)
				}
				failOnErrors(t, checkEnd(end, c.exit), checkNotBegun(end, two.Name), checkLaws(site), checkUntouched(site.Host("y-0")), checkUntouched(site.Host("y-1")))
				if !slices.Equal(end.Updated, []string{"x-0", "x-1"}) {
					t.Errorf("updated: %q", end.Updated)
				}
			})
		})
	}
}

// TestRefusesHoldsOfAllPlays: with --on-held refuse, a held host of any play refuses the run before anything is touched. A host that
// somebody takes during the run refuses the next play, and the end does not claim that nothing was touched.
func TestRefusesHoldsOfAllPlays(t *testing.T) {
	one, two := playOn("x", engine.FinalizeTask), playOn("y", engine.FinalizeTask)
	refuses := func(r *rollout.Run) { r.RefuseHeld = true }
	synctest.Test(t, func(t *testing.T) {
		site := newSite(twoPools())
		site.Host("y-0").SetHold(byBob())
		end := applyRun(site.Bastion("run-1"), withSimulatedPlays(one, two), refuses)
		failOnErrors(t, checkEnd(end, engine.ExitRefused, "nothing was touched", "on y", "y-0", "bob@b9"), checkNotBegun(end, one.Name, two.Name), checkLaws(site))
		for _, h := range []string{"x-0", "x-1", "y-1"} {
			failOnErrors(t, checkUntouched(site.Host(h)))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		site := newSite(twoPools())
		b := site.Bastion("run-1")
		b.Watch = func(e event.Event) {
			if e.Type == event.HostDone && e.Host == "x-0" {
				site.Host("y-0").SetHold(byBob())
			}
		}
		end := applyRun(b, withSimulatedPlays(one, two), refuses)
		failOnErrors(t, checkEnd(end, engine.ExitRefused, "--on-held is refuse", "y-0"), checkNotBegun(end, two.Name), checkLaws(site),
			checkUpdated(site.Host("x-0")), checkUpdated(site.Host("x-1")), checkUntouched(site.Host("y-1")))
		if strings.Contains(findingsText(end), "nothing was touched") {
			t.Error(findingsText(end))
		}
	})
	synctest.Test(t, func(t *testing.T) { // a play that only stages has touched hosts, too
		site := newSite(twoPools())
		b := site.Bastion("run-1")
		b.Watch = func(e event.Event) {
			if e.Type == event.StageEnded {
				site.Host("y-0").SetHold(byBob())
			}
		}
		end := applyRun(b, withSimulatedPlays(playOn("x", engine.StageTask), two), refuses)
		failOnErrors(t, checkEnd(end, engine.ExitRefused, "--on-held is refuse", "y-0"), checkNotBegun(end, two.Name))
		if strings.Contains(findingsText(end), "nothing was touched") {
			t.Error(findingsText(end))
		}
	})
}

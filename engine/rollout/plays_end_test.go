package rollout_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"holdfast/engine"
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

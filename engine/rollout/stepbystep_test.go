package rollout_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// The operator is asked before each batch. The answer no ends the run at a safe
// point.
func TestStepByStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(0, 3))
		var asked []string
		end := applyRun(site.Bastion("run-1"), func(r *rollout.Run) {
			r.Step = func(_ context.Context, p engine.Plan) error {
				asked = append(asked, strings.Join(p.Batches[0].Hosts, " "))
				if len(asked) == 2 {
					return rollout.ErrNoStep
				}
				return nil
			}
		})
		failOnErrors(t, checkEnd(end, engine.ExitStopped), checkLaws(site), checkUpdated(site.Host("worker-0")), checkUntouched(site.Host("worker-1")), checkUntouched(site.Host("worker-2")))
		if !slices.Equal(asked, []string{"worker-0", "worker-1"}) {
			t.Errorf("asked about %q", asked)
		}
	})
}

// The operator is also asked before a reboot that replaces a failed action.
func TestStepByStepBeforeAFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(noOS(simulator.Fleet(0, 1)))
		h := site.Host("worker-0")
		h.Set("none-1")
		site.Want("worker-0", "restart-2")
		h.Change(func(t *simulator.Traits) { t.ActFails = true })
		asked := 0
		end := applyRun(site.Bastion("run-1"), func(r *rollout.Run) {
			r.Step = func(context.Context, engine.Plan) error { asked++; return nil }
		})
		failOnErrors(t, checkEnd(end, engine.ExitOK), checkLaws(site))
		if n := len(h.State().Reboots); asked != 2 || n != 1 {
			t.Errorf("asked %d times, rebooted %d times", asked, n)
		}
	})
}

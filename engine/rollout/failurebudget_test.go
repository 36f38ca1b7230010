package rollout_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// Failed hosts do not stop the others as long as their number is within the
// failure budget.
func TestFailureBudget(t *testing.T) {
	for _, c := range []struct {
		budget int
		fails  []string
		best   bool
		gone   int
	}{
		{0, []string{"worker-1"}, false, 2},
		{1, []string{"worker-1"}, false, 8},
		{1, []string{"worker-1", "worker-4"}, false, 5},
		{2, []string{"worker-1", "worker-4"}, false, 8},
		{0, []string{"worker-1", "worker-4"}, true, 8},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(workerFleet(8, func(p *engine.Pool) {
					p.MaxUnavailable = engine.CountOrPercent{Count: 1, Set: true}
					p.FailureBudget = engine.CountOrPercent{Count: c.budget, Set: true}
				}))
				site.Inventory.Pools[1].MaxUnavailable.Count = 1 + len(c.fails)
				site.Inventory.Pools[1].Order = engine.Sorted
				for _, h := range c.fails {
					site.Host(h).Change(func(t *simulator.Traits) { t.Missing = []string{"sshd.service"} })
				}
				b := site.Bastion("run-1")
				end := applyRun(b, func(r *rollout.Run) {
					r.BestEffort = c.best
					r.Inventory.Pools = slices.Clone(r.Inventory.Pools)
				})
				failOnErrors(t, checkEnd(end, engine.ExitFailed), checkLaws(site))
				if !slices.Equal(end.Failed, c.fails[:len(end.Failed)]) || len(end.Failed) == 0 {
					t.Errorf("failed: %v", end.Failed)
				}
				if n := len(rebootedHosts(b)); n < c.gone || n > c.gone+len(c.fails) {
					t.Errorf("%d hosts went, not about %d: %v", n, c.gone, rebootedHosts(b))
				}
				for _, h := range end.Failed {
					failOnErrors(t, checkHeldFor(site.Host(h), "run-1", "sshd.service"))
				}
			})
		})
	}
}

// TestRetriedFirst checks that the next run retries failed hosts first, held or
// not.
func TestRetriedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(4, func(*engine.Pool) {}))
		site.Host("worker-2").Change(func(t *simulator.Traits) { t.DiskFull = true })
		failOnErrors(t, checkEnd(applyRun(site.Bastion("run-1")), engine.ExitFailed, "worker-2"))
		site.Host("worker-2").Change(func(t *simulator.Traits) { t.DiskFull = false })
		b := site.Bastion("run-2")
		failOnErrors(t, checkEnd(applyRun(b, func(r *rollout.Run) { r.Retry = []string{"worker-2"} }), engine.ExitOK), checkConverged(site))
		if got := rebootedHosts(b); got[0] != "worker-2" {
			t.Errorf("they went as %v", got)
		}
	})
}

// TestFailedComesBeforeUnreachable checks that a failed host that is
// unreachable counts as failed.
func TestFailedComesBeforeUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(3, func(p *engine.Pool) {
			p.MaxUnavailable = engine.CountOrPercent{Count: 2, Set: true}
			p.FailureBudget = engine.CountOrPercent{Count: 1, Set: true}
		}))
		site.Host("worker-0").Change(func(t *simulator.Traits) { t.NoReturn = true })
		end := applyRun(site.Bastion("run-1"))
		failOnErrors(t, checkEnd(end, engine.ExitFailed, "worker-0 is unreachable"), checkLaws(site), checkUpdated(site.Host("worker-1")), checkUpdated(site.Host("worker-2")))
	})
}

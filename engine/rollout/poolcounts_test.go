package rollout_test

import (
	"context"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// TestCountsAreNotStale checks that the counts at the end of a run are current.
// The counts include the hosts that were staged before the staging was
// interrupted. A run that was stopped at once has no counts.
func TestCountsAreNotStale(t *testing.T) {
	run := func(t *testing.T, at func(event.Event) bool, hard bool) event.RunEnd {
		site := newSite(simulator.Fleet(0, 3))
		b := site.Bastion("run-1")
		all, stop := context.WithCancel(t.Context())
		defer stop()
		soft, stopSoft := context.WithCancel(all)
		defer stopSoft()
		b.Watch = func(e event.Event) {
			switch {
			case !at(e):
			case hard:
				stop()
			default:
				stopSoft()
			}
		}
		r := b.Run()
		r.Soft, r.Forks = soft, 1
		return b.Apply(all, r)
	}
	worker := func(end event.RunEnd) map[engine.HostState]int {
		for _, p := range end.Pools {
			if p.Name == "worker" {
				return p.Counts
			}
		}
		return nil
	}
	synctest.Test(t, func(t *testing.T) {
		end := run(t, func(e event.Event) bool { return e.Type == event.StepEnded && e.Step == "stage" }, false)
		failOnErrors(t, checkEnd(end, engine.ExitStopped))
		if got := worker(end); got[engine.Staged] != 1 || got[engine.Pending] != 2 {
			t.Errorf("one of three is staged, and the counts are %v", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		end := run(t, func(e event.Event) bool { return e.Type == event.StepStarted && e.Step == "wait for boot" }, true)
		failOnErrors(t, checkEnd(end, engine.ExitStopped))
		if len(end.Pools) > 0 {
			t.Errorf("nobody has looked, and the counts are %v", worker(end))
		}
	})
	synctest.Test(t, func(t *testing.T) { // nothing began, so the facts are current
		site := newSite(simulator.Fleet(0, 3))
		end := applyRun(site.Bastion("run-1"), func(r *rollout.Run) {
			r.Approve = func(context.Context, engine.Plan) error { return rollout.ErrDeclined }
		})
		if got := worker(end); got[engine.Pending] != 3 {
			t.Errorf("the counts are %v", got)
		}
	})
}

// TestLimitedRunCallsNoSickSiteComplete checks that a site with an unhealthy
// etcd cluster is not complete, even for a run whose own hosts all match.
func TestLimitedRunCallsNoSickSiteComplete(t *testing.T) {
	workers := func(r *rollout.Run) { r.Selected = func(h engine.Host) bool { return h.Cluster == "" } }
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 2))
		failOnErrors(t, checkEnd(applyRun(site.Bastion("run-1")), engine.ExitOK), checkConverged(site))
		if end := applyRun(site.Bastion("run-2"), workers); !end.Complete || end.Exit != engine.ExitOK {
			t.Errorf("exit %d, complete %v", end.Exit, end.Complete)
		}
		site.Host("etcd-1").StopEtcd()
		if end := applyRun(site.Bastion("run-3"), workers); end.Complete || end.Exit != engine.ExitOK {
			t.Errorf("exit %d, complete %v with a stopped etcd member", end.Exit, end.Complete)
		}
	})
}

// TestStatusHasEveryCluster checks that the state of the site after a failure has the etcd
// clusters at which the run has nothing left to do, as the metrics of the site need it.
func TestStatusHasEveryCluster(t *testing.T) {
	noteStatus := func(site *simulator.Site, change ...func(*rollout.Run)) (end event.RunEnd, noted engine.Status) {
		end = applyRun(site.Bastion("run-1"), append(change, func(r *rollout.Run) { r.NoteStatus = func(s engine.Status) { noted = s } })...)
		return end, noted
	}
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 0))
		site.Host("etcd-0").Change(func(t *simulator.Traits) { t.NoReturn = true }) // the leader is the last
		end, noted := noteStatus(site)
		failOnErrors(t, checkEnd(end, engine.ExitFailed, "etcd-0: wait for boot"))
		if len(noted.Clusters) != 1 || noted.Clusters[0].CountHealthy() != 2 {
			t.Errorf("two of three voters are healthy: %+v", noted.Clusters)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 1))
		site.Host("worker-0").Change(func(t *simulator.Traits) { t.NoReturn = true })
		end, noted := noteStatus(site, func(r *rollout.Run) { r.Selected = func(h engine.Host) bool { return h.Cluster == "" } })
		failOnErrors(t, checkEnd(end, engine.ExitFailed, "worker-0: wait for boot"))
		if len(noted.Clusters) != 1 || noted.Clusters[0].CountHealthy() != 3 {
			t.Errorf("three voters are healthy: %+v", noted.Clusters)
		}
	})
}

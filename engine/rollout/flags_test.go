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

// TestFlagged: a host in maintenance is not touched, uses up the budget, and keeps the run incomplete. A leaving host is not even
// connected to, and a run without it is complete.
func TestFlagged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := simulator.Fleet(3, 3)
		inv.Hosts[3].Maintenance, inv.Hosts[4].Leaving = "new fans", true
		inv.Pools[1].MaxUnavailable = engine.CountOrPercent{Count: 2, Set: true}
		site := newSite(inv)
		plan, _, err := site.Bastion("run-1").Run().Plan(context.Background())
		want := []engine.Reservation{
			{Host: "worker-0", Kind: engine.FlaggedHost, Reason: "maintenance in the inventory: new fans"},
			{Host: "worker-1", Kind: engine.LeavingHost, Reason: "the inventory says that it is leaving"},
		}
		if err != nil || !slices.Equal(plan.Reserved, want) || plan.Total != 5 {
			t.Fatalf("%v, %+v, %d hosts", err, plan.Reserved, plan.Total)
		}
		end := applyRun(site.Bastion("run-2"))
		failOnErrors(t, checkEnd(end, engine.ExitRefused, "worker-0 is maintenance"), checkLaws(site), checkUpdated(site.Host("etcd-0")), checkUpdated(site.Host("worker-2")))
		failOnErrors(t, checkUntouched(site.Host("worker-0")), checkUntouched(site.Host("worker-1")))
		if counts := end.Pools[1].Counts; end.Complete || counts[engine.MaintenanceState] != 1 || counts[engine.Updated] != 1 || end.Pools[1].Total != 2 {
			t.Errorf("%+v", end.Pools)
		}
		site.Inventory.Hosts[3].Maintenance = ""
		site.Host("worker-1").Cut()
		end = applyRun(site.Bastion("run-3"))
		failOnErrors(t, checkEnd(end, engine.ExitOK), checkUpdated(site.Host("worker-0")), checkUntouched(site.Host("worker-1")))
	})
}

// TestNobodyConnectsToLeavingHosts checks the calls of a whole run.
func TestNobodyConnectsToLeavingHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := simulator.Fleet(3, 2)
		inv.Hosts[4].Leaving = true
		site := newSite(inv)
		watch := func(r *rollout.Run) { r.Hosts = strictHosts{r.Hosts, t} }
		failOnErrors(t, checkEnd(applyRun(site.Bastion("run-1"), watch), engine.ExitOK))
	})
}

type strictHosts struct {
	rollout.Hosts
	t *testing.T
}

func (s strictHosts) Connect(ctx context.Context, h engine.Host) (rollout.Conn, error) {
	if h.Leaving {
		s.t.Errorf("a connection to %s", h.Name)
	}
	return s.Hosts.Connect(ctx, h)
}

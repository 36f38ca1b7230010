package main

import (
	"slices"
	"testing"

	"holdfast/engine"
	"holdfast/engine/rollout"
)

// TestSavedPlanKeepsPermissions: apply --plan has the permissions with which the plan was approved, without their flags.
func TestSavedPlanKeepsPermissions(t *testing.T) {
	saved := engine.Plan{FullReboot: true, AnyEtcdVersion: true, RetryRolledBack: true, OverriddenRun: "run-0", Repair: []string{"etcd-0"}}
	s := &site{run: &rollout.Run{}}
	s.inv = engine.Inventory{Hosts: []engine.Host{{Name: "etcd-0", Cluster: "main"}}}
	a := applyRun{saved: &saved}
	if err := a.setPermissions(s); err != nil {
		t.Fatal(err)
	}
	if r := s.run; !r.FullReboot || !r.AnyEtcdVersion || !r.RetryRejected || !r.OverIncomplete || !slices.Equal(r.Repair, saved.Repair) {
		t.Errorf("%+v", r.Request)
	}
	saved = engine.Plan{OverriddenHosts: []string{"w-0"}}
	if err := a.setPermissions(s); err != nil || !s.run.OverIncomplete {
		t.Errorf("over a roll-out of another version: %+v, %v", s.run.Request, err)
	}
	a.saved = nil
	if err := a.setPermissions(s); err != nil {
		t.Fatal(err)
	}
	if r := s.run; r.FullReboot || r.AnyEtcdVersion || r.RetryRejected || r.OverIncomplete || len(r.Repair) > 0 {
		t.Errorf("without a saved plan: %+v", r.Request)
	}
}

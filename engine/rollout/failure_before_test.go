package rollout_test

import (
	"context"

	"holdfast/engine"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// casesBeforeRun returns obstacles that exist before the run begins.
func casesBeforeRun() map[string]failureCase {
	return map[string]failureCase{
		"ill member with work": {
			breaks: func(s failureWorld) { s.Host("etcd-2").StopEtcd() },
			exit:   engine.ExitFailed, words: []string{"not safe", "etcd-2 is not healthy", "--repair-member etcd-2"},
			hosts:  map[string]hostCheck{"": checkUntouched},
			repair: func(s failureWorld) { s.Host("etcd-2").StartEtcd() },
		},
		"ill member is to be repaired": {
			breaks: func(s failureWorld) { s.Host("etcd-2").StopEtcd() },
			change: func(r *rollout.Run) { r.Repair = []string{"etcd-2"} },
			exit:   engine.ExitOK,
			hosts:  map[string]hostCheck{"": checkUpdated},
		},
		"member ill": {
			breaks: func(s failureWorld) { s.Host("etcd-2").Boot(simulator.V2); s.Host("etcd-2").StopEtcd() },
			exit:   engine.ExitFailed, words: []string{"not safe", "etcd-2 is not healthy"},
			hosts:  map[string]hostCheck{"etcd-2": checkFree, "": checkUntouched},
			repair: func(s failureWorld) { s.Host("etcd-2").StartEtcd() },
		},
		"member unreachable": {
			breaks: func(s failureWorld) { s.Host("etcd-1").Cut() },
			exit:   engine.ExitFailed, words: []string{"etcd-1"},
			hosts:  map[string]hostCheck{"": checkUntouched},
			repair: func(s failureWorld) { s.Host("etcd-1").Heal() },
		},
		"worker unreachable takes the budget": {
			breaks: func(s failureWorld) { s.Host("worker-2").Cut() },
			exit:   engine.ExitUnreachable, words: []string{"worker-2 is unreachable", "connection refused"},
			hosts:  map[string]hostCheck{"worker": checkUntouched, "etcd": checkUpdated},
			repair: func(s failureWorld) { s.Host("worker-2").Heal() },
		},
		"worker unreachable": {
			inventory: twoAtOnce,
			breaks:    func(s failureWorld) { s.Host("worker-2").Cut() },
			exit:      engine.ExitUnreachable, words: []string{"worker-2 is unreachable"},
			hosts:  map[string]hostCheck{"worker-2": checkUntouched, "": checkUpdated},
			repair: func(s failureWorld) { s.Host("worker-2").Heal() },
		},
		"worker in maintenance": {
			inventory: twoAtOnce,
			breaks: func(s failureWorld) {
				s.Host("worker-0").SetHold(&engine.Hold{Kind: engine.MaintenanceHold, Holder: "bob@b9", Run: "m-1", Reason: "DIMM swap"})
			},
			exit: engine.ExitRefused, words: []string{"worker-0 is held", "DIMM swap", "bob@b9"},
			hosts:  map[string]hostCheck{"worker-0": allOf(checkNotRebooted, isHeldBy("m-1")), "": checkUpdated},
			repair: func(s failureWorld) { s.Host("worker-0").SetHold(nil) },
		},
		"hold that cannot be read": {
			inventory: twoAtOnce,
			breaks:    func(s failureWorld) { s.Host("worker-0").Garble() },
			exit:      engine.ExitRefused, words: []string{"worker-0 is held", "is not a hold"},
			hosts: map[string]hostCheck{"worker-0": checkUntouched, "": checkUpdated},
			again: engine.ExitRefused,
		},
		"refuse": {
			breaks: func(s failureWorld) { s.Host("worker-0").SetHold(byBob()) },
			change: func(r *rollout.Run) { r.RefuseHeld = true },
			exit:   engine.ExitRefused, words: []string{"held by somebody else", "nothing was touched"},
			hosts:  map[string]hostCheck{"worker-0": isHeldBy("run-9"), "": checkUntouched},
			repair: func(s failureWorld) { s.Host("worker-0").SetHold(nil) },
		},
		"member held": {
			breaks: func(s failureWorld) { s.Host("etcd-1").SetHold(byBob()) },
			exit:   engine.ExitRefused, words: []string{"etcd-1 is held"},
			hosts:  map[string]hostCheck{"etcd-1": isHeldBy("run-9"), "": checkUntouched},
			repair: func(s failureWorld) { s.Host("etcd-1").SetHold(nil) },
		},
		"unclear": {
			inventory: twoAtOnce,
			breaks:    setTrait("worker-0", func(t *simulator.Traits) { t.Unclear = "two deployments are booted" }),
			exit:      engine.ExitFailed, words: []string{"worker-0 is unclear", "two deployments", "failure_budget is 0"},
			hosts:  map[string]hostCheck{"etcd": checkUpdated, "": checkUntouched},
			repair: setTrait("worker-0", func(t *simulator.Traits) { t.Unclear = "" }),
		},
		"unclear, within the failure budget": {
			inventory: func(inv *engine.Inventory) {
				twoAtOnce(inv)
				inv.Pools[1].FailureBudget = engine.CountOrPercent{Count: 1, Set: true}
			},
			breaks: setTrait("worker-0", func(t *simulator.Traits) { t.Unclear = "two deployments are booted" }),
			exit:   engine.ExitFailed, words: []string{"worker-0 is unclear", "two deployments"},
			hosts:  map[string]hostCheck{"worker-0": checkUntouched, "": checkUpdated},
			repair: setTrait("worker-0", func(t *simulator.Traits) { t.Unclear = "" }),
		},
		"unclear, and best effort": {
			inventory: twoAtOnce,
			breaks:    setTrait("worker-0", func(t *simulator.Traits) { t.Unclear = "two deployments are booted" }),
			change:    func(r *rollout.Run) { r.BestEffort = true },
			exit:      engine.ExitFailed, words: []string{"worker-0 is unclear"},
			hosts:  map[string]hostCheck{"worker-0": checkUntouched, "": checkUpdated},
			repair: setTrait("worker-0", func(t *simulator.Traits) { t.Unclear = "" }),
		},
		"disk full": {
			breaks: setTrait("worker-1", func(t *simulator.Traits) { t.DiskFull = true }),
			exit:   engine.ExitFailed, words: []string{"worker-1: stage: ", "12 MiB are free"},
			hosts: map[string]hostCheck{"": checkUntouched},
		},
		"staging does nothing": {
			breaks: setTrait("etcd-0", func(t *simulator.Traits) { t.Forgetful = true }),
			exit:   engine.ExitFailed, words: []string{"etcd-0: stage: "},
			hosts:  map[string]hostCheck{"etcd-0": checkUntouched, "etcd": checkUpdated, "worker": checkUntouched},
			repair: setTrait("etcd-0", func(t *simulator.Traits) { t.Forgetful = false }),
		},
		"declined": {
			breaks: func(failureWorld) {},
			change: func(r *rollout.Run) {
				r.Approve = func(context.Context, engine.Plan) error { return rollout.ErrDeclined }
			},
			exit: engine.ExitStopped, words: []string{"not approved"},
			hosts: map[string]hostCheck{"": checkUntouched},
		},
		"no snapshot": {
			breaks: func(s failureWorld) {
				s.run.Fault = func(c simulator.Call) simulator.Fault {
					if c.Verb == "snapshot" {
						return simulator.Fails
					}
					return simulator.NoFault
				}
			},
			exit: engine.ExitFailed, words: []string{"snapshot etcd"},
			hosts: map[string]hostCheck{"": checkUntouched},
		},
		"gate before the batch": {
			inventory: addGate(0, "false", engine.BeforeBatch),
			breaks:    func(failureWorld) {},
			exit:      engine.ExitFailed, words: []string{"gate g"},
			hosts: map[string]hostCheck{"": checkUntouched},
			again: engine.ExitFailed,
		},
	}
}

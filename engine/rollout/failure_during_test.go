package rollout_test

import (
	"context"
	"fmt"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// casesDuringRun returns failures of a host that is held and can still be
// released unchanged.
func casesDuringRun() map[string]failureCase {
	return map[string]failureCase{
		"drain": {
			breaks: func(s failureWorld) { s.failCommand("drain") },
			exit:   engine.ExitFailed, words: []string{"worker-0: drain: exit status 1"},
			hosts: map[string]hostCheck{"etcd": checkUpdated, "worker-0": allOf(checkNotRebooted, checkDrained, isHeldBy("run-1", "exit status 1")), "worker": checkUntouched},
		},
		"gate before the host": {
			inventory: addGate(1, "ready", engine.BeforeHost),
			breaks:    func(s failureWorld) { s.failCommand("ready") },
			exit:      engine.ExitFailed, words: []string{"worker-0: gate g"},
			hosts: map[string]hostCheck{"etcd": checkUpdated, "worker": checkUntouched},
		},
		"rebooted by itself": {
			breaks: func(s failureWorld) {
				s.doAtStep("etcd-1", "move etcd leader", func() {
					s.Host("etcd-1").Change(func(t *simulator.Traits) { t.Boot, t.Settle = 0, 0 })
					s.Host("etcd-1").Reset()
				})
			},
			exit: engine.ExitFailed, words: []string{"etcd-1: reboot: finalize: the host has rebooted since it was planned"},
			hosts: map[string]hostCheck{"etcd-1": allOf(checkNotRebooted, checkFree), "": checkUntouched},
		},
		"rebooted by itself, drained": {
			breaks: func(s failureWorld) {
				s.doAtStep("worker-0", "reboot", func() {
					s.Host("worker-0").Change(func(t *simulator.Traits) { t.Boot, t.Settle = 0, 0 })
					s.Host("worker-0").Reset()
				})
			},
			exit: engine.ExitFailed, words: []string{"worker-0: reboot: finalize: the host has rebooted since it was planned"},
			hosts: map[string]hostCheck{"etcd": checkUpdated, "worker-0": allOf(checkNotRebooted, checkDrained, isHeldBy("run-1", "rebooted since")), "worker": checkUntouched},
		},
		"quorum gone": {
			breaks: func(s failureWorld) {
				s.doAtStep("etcd-1", "move etcd leader", func() { s.Host("etcd-2").StopEtcd() })
			},
			exit: engine.ExitFailed, words: []string{"etcd-1: check quorum", "etcd-2 is not healthy"},
			hosts:  map[string]hostCheck{"": checkUntouched},
			repair: func(s failureWorld) { s.Host("etcd-2").StartEtcd() },
		},
		"quorum gone during the drain": {
			inventory: func(inv *engine.Inventory) { inv.Pools[0].Drain = inv.Pools[1].Drain },
			breaks: func(s failureWorld) {
				s.doAtStep("etcd-1", "drain", func() { s.Host("etcd-2").StopEtcd() })
			},
			exit: engine.ExitFailed, words: []string{"etcd-1: check quorum", "etcd-2 is not healthy"},
			hosts:  map[string]hostCheck{"etcd-1": allOf(checkNotRebooted, checkDrained, isHeldBy("run-1", "etcd-2 is not healthy")), "": checkUntouched},
			repair: func(s failureWorld) { s.Host("etcd-2").StartEtcd() },
		},
		"member held meanwhile": {
			breaks: func(s failureWorld) {
				s.doAtStep("etcd-1", "move etcd leader", func() { s.Host("etcd-2").SetHold(byBob()) })
			},
			exit: engine.ExitRefused, words: []string{"etcd-1: check quorum", "held: etcd-2"},
			hosts:  map[string]hostCheck{"etcd-2": isHeldBy("run-9"), "": checkUntouched},
			repair: func(s failureWorld) { s.Host("etcd-2").SetHold(nil) },
		},
	}
}

func inMaintenance() *engine.Hold {
	return &engine.Hold{Kind: engine.MaintenanceHold, Holder: "bob@b9", Run: "m-1", Reason: "DIMM swap"}
}

func checkUndrained(h *simulator.Host) error {
	if h.State().Drained {
		return fmt.Errorf("%s is drained", h.Name)
	}
	return nil
}

// casesOfInterference returns operations of somebody else on a host during the run.
func casesOfInterference() map[string]failureCase {
	var soft context.Context
	return map[string]failureCase{
		"held before the hold": {
			breaks: func(s failureWorld) { s.doAtStep("etcd-1", "hold", func() { s.Host("etcd-1").SetHold(byBob()) }) },
			exit:   engine.ExitRefused, words: []string{"etcd-1: hold: held by bob@b9", "his update"},
			hosts:  map[string]hostCheck{"etcd-1": isHeldBy("run-9"), "": checkUntouched},
			repair: func(s failureWorld) { s.Host("etcd-1").SetHold(nil) },
		},
		"hold removed": {
			breaks: func(s failureWorld) { s.doAtStep("etcd-1", "reboot", func() { s.Host("etcd-1").SetHold(nil) }) },
			exit:   engine.ExitRefused, words: []string{"etcd-1: reboot: hold: the host is not held by this run"},
			hosts: map[string]hostCheck{"": checkUntouched},
		},
		"hold replaced": {
			breaks: func(s failureWorld) { s.doAtStep("worker-0", "reboot", func() { s.Host("worker-0").SetHold(byBob()) }) },
			exit:   engine.ExitRefused, words: []string{"worker-0: reboot: hold: "},
			hosts:  map[string]hostCheck{"etcd": checkUpdated, "worker-0": allOf(checkNotRebooted, checkDrained, isHeldBy("run-9", "his update")), "worker": checkUntouched},
			repair: func(s failureWorld) { s.Host("worker-0").SetHold(nil) },
		},
		"held before the drain": {
			breaks: func(s failureWorld) {
				s.doAtStep("worker-0", "drain", func() { s.Host("worker-0").SetHold(inMaintenance()) })
			},
			exit: engine.ExitRefused, words: []string{"worker-0: drain: the hold is not ours any more: held by bob@b9", "DIMM swap", "drain was not done"},
			hosts:  map[string]hostCheck{"etcd": checkUpdated, "worker-0": allOf(checkNotRebooted, checkUndrained, isHeldBy("m-1", "DIMM swap")), "worker": checkUntouched},
			repair: func(s failureWorld) { s.Host("worker-0").SetHold(nil) },
		},
		"held while a gate is asked": {
			inventory: addGate(1, "slow", engine.BeforeHost),
			breaks: func(s failureWorld) {
				s.run.Takes = func(simulator.Command) time.Duration { return 2 * time.Minute }
				s.doAtStep("worker-0", "gate g", func() { s.After(time.Minute, func() { s.Host("worker-0").SetHold(inMaintenance()) }) })
			},
			exit: engine.ExitRefused, words: []string{"worker-0: drain: ", "DIMM swap"},
			hosts:  map[string]hostCheck{"etcd": checkUpdated, "worker-0": allOf(checkNotRebooted, checkUndrained, isHeldBy("m-1", "DIMM swap")), "worker": checkUntouched},
			repair: func(s failureWorld) { s.Host("worker-0").SetHold(nil) },
		},
		"hold gone before the drain": {
			breaks: func(s failureWorld) { s.doAtStep("worker-0", "drain", func() { s.Host("worker-0").SetHold(nil) }) },
			exit:   engine.ExitRefused, words: []string{"worker-0: drain: the hold of this run is gone; drain was not done"},
			hosts: map[string]hostCheck{"etcd": checkUpdated, "worker": checkUntouched},
		},
		"held before the undrain": {
			breaks: func(s failureWorld) {
				s.doAtStep("worker-0", "undrain", func() { s.Host("worker-0").SetHold(inMaintenance()) })
			},
			exit: engine.ExitRefused, words: []string{"worker-0: undrain: ", "DIMM swap", "undrain was not done"},
			hosts:  map[string]hostCheck{"etcd": checkUpdated, "worker-0": allOf(checkDrained, isHeldBy("m-1", "DIMM swap")), "worker": checkUntouched},
			repair: func(s failureWorld) { s.Host("worker-0").SetHold(nil); s.Host("worker-0").Undrain() },
		},
		"held before the drain is taken back": {
			breaks: func(s failureWorld) {
				var stop func()
				soft, stop = context.WithCancel(context.Background())
				s.run.Watch = func(e event.Event) {
					switch {
					case e.Host != "worker-0":
					case e.Type == event.StepEnded && e.Step == "drain": // otherwise the step may be interrupted before it begins
						stop()
					case e.Type == event.StepStarted && e.Step == "undo drain":
						s.Host("worker-0").SetHold(inMaintenance())
					}
				}
				s.run.Takes = func(simulator.Command) time.Duration { return time.Minute }
			},
			change: func(r *rollout.Run) { r.Soft = soft },
			exit:   engine.ExitStopped,
			hosts:  map[string]hostCheck{"etcd": checkUpdated, "worker-0": allOf(checkNotRebooted, checkDrained, isHeldBy("m-1", "DIMM swap")), "worker": checkUntouched},
			repair: func(s failureWorld) { s.Host("worker-0").SetHold(nil); s.Host("worker-0").Undrain() },
		},
		"leader held by somebody else": {
			breaks: func(s failureWorld) {
				s.doAtStep("etcd-0", "move etcd leader", func() { s.Host("etcd-0").SetHold(byBob()) })
			},
			exit: engine.ExitRefused, words: []string{"etcd-0: move etcd leader: the hold is not ours any more: held by bob@b9"},
			hosts:  map[string]hostCheck{"etcd-0": allOf(checkNotRebooted, isHeldBy("run-9")), "etcd": checkUpdated, "worker": checkUntouched},
			repair: func(s failureWorld) { s.Host("etcd-0").SetHold(nil) },
		},
		"expired hold renewed before it is taken over": {
			breaks: func(s failureWorld) {
				hold := byBob()
				hold.Renewed, hold.Expires = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
				s.Host("worker-0").SetHold(hold)
				s.doAtStep("worker-0", "hold", func() {
					again := *hold
					again.Renewed, again.Expires, again.Step = time.Now(), time.Time{}, "wait for units"
					s.Host("worker-0").SetHold(&again)
				})
			},
			exit: engine.ExitRefused, words: []string{"worker-0: hold: held by bob@b9", "as it failed at wait for units"},
			hosts:  map[string]hostCheck{"worker-0": allOf(checkNotRebooted, isHeldBy("run-9")), "": checkUntouched},
			repair: func(s failureWorld) { s.Host("worker-0").SetHold(nil) },
		},
		"one held and one failed": {
			inventory: twoAtOnce,
			breaks: func(s failureWorld) {
				s.doAtStep("worker-0", "hold", func() { s.Host("worker-0").SetHold(byBob()) })
				s.Host("worker-1").Change(func(t *simulator.Traits) { t.NoReturn = true })
			},
			exit: engine.ExitFailed, words: []string{"worker-1: wait for boot"},
			hosts: map[string]hostCheck{"etcd": checkUpdated, "worker-0": isHeldBy("run-9"), "worker-1": isHeldBy("run-1"), "worker-2": checkUntouched},
			repair: func(s failureWorld) {
				s.Host("worker-0").SetHold(nil)
				s.Host("worker-1").PowerOn()
				time.Sleep(time.Minute)
			},
		},
		"staging lost": {
			breaks: func(s failureWorld) {
				s.doAtStep("etcd-1", "reboot", func() { s.Host("worker-0").Reset() })
			},
			exit:  engine.ExitOK,
			hosts: map[string]hostCheck{"worker-0": checkMatching, "": checkUpdated},
		},
		"unreachable meanwhile": {
			inventory: twoAtOnce,
			breaks:    func(s failureWorld) { s.doAtStep("etcd-1", "reboot", func() { s.Host("worker-0").Cut() }) },
			exit:      engine.ExitUnreachable, words: []string{"worker-0 is unreachable"},
			hosts:  map[string]hostCheck{"worker-0": checkUntouched, "": checkUpdated},
			repair: func(s failureWorld) { s.Host("worker-0").Heal() },
		},
		"updated by hand": {
			breaks: func(s failureWorld) { s.doAtStep("etcd-1", "reboot", func() { s.Host("worker-0").Boot(simulator.V2) }) },
			exit:   engine.ExitOK,
			hosts:  map[string]hostCheck{"worker-0": checkMatching, "": checkUpdated},
		},
		"other OS by hand": {
			breaks: func(s failureWorld) { s.doAtStep("etcd-1", "reboot", func() { s.Host("worker-0").Boot("v0") }) },
			exit:   engine.ExitOK,
			hosts:  map[string]hostCheck{"worker-0": checkMatching, "": checkUpdated},
		},
		"undone by hand": {
			breaks: func(s failureWorld) {
				s.Host("worker-0").Boot(simulator.V2)
				s.doAtStep("etcd-1", "reboot", func() { s.Host("worker-0").Boot(simulator.V1) })
			},
			exit: engine.ExitFailed, words: []string{"changed since the plan was approved", "worker-0: os v1 → v2", "plan again"},
			hosts: map[string]hostCheck{"etcd-1": checkUpdated, "worker-0": checkFree, "": checkUntouched},
		},
		"undone by hand after this run": {
			breaks: func(s failureWorld) { s.doAtStep("etcd-2", "reboot", func() { s.Host("etcd-1").Boot(simulator.V1) }) },
			exit:   engine.ExitFailed, words: []string{"etcd-1", "does not match"},
			hosts: map[string]hostCheck{"etcd-1": checkFree, "etcd-2": checkUpdated, "": checkUntouched},
		},
	}
}

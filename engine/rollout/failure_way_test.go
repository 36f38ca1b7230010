package rollout_test

import (
	"time"

	"holdfast/engine"
	"holdfast/engine/hosttest"
)

// onTheWay: the host has its hold, and there is a way back.
func onTheWay() map[string]failureCase {
	return map[string]failureCase{
		"drain": {
			breaks: func(s scene) { s.refuse("drain") },
			exit:   engine.ExitFailed, words: []string{"worker-0: drain: exit status 1"},
			hosts: map[string]is{"etcd": updated, "worker-0": all(still, drained, heldBy("run-1", "exit status 1")), "worker": untouched},
		},
		"gate before the host": {
			inventory: gate(1, "ready", engine.BeforeHost),
			breaks:    func(s scene) { s.refuse("ready") },
			exit:      engine.ExitFailed, words: []string{"worker-0: gate g"},
			hosts: map[string]is{"etcd": updated, "worker": untouched},
		},
		"rebooted by itself": {
			breaks: func(s scene) {
				s.when("etcd-1", "move etcd leader", func() {
					s.Host("etcd-1").Change(func(t *hosttest.Traits) { t.Boot, t.Settle = 0, 0 })
					s.Host("etcd-1").Reset()
				})
			},
			exit: engine.ExitFailed, words: []string{"etcd-1: reboot: finalize: the host has rebooted since it was planned"},
			hosts: map[string]is{"etcd-1": all(still, free), "": untouched},
		},
		"rebooted by itself, drained": {
			breaks: func(s scene) {
				s.when("worker-0", "reboot", func() {
					s.Host("worker-0").Change(func(t *hosttest.Traits) { t.Boot, t.Settle = 0, 0 })
					s.Host("worker-0").Reset()
				})
			},
			exit: engine.ExitFailed, words: []string{"worker-0: reboot: finalize: the host has rebooted since it was planned"},
			hosts: map[string]is{"etcd": updated, "worker-0": all(still, drained, heldBy("run-1", "rebooted since")), "worker": untouched},
		},
		"quorum gone": {
			breaks: func(s scene) {
				s.when("etcd-1", "move etcd leader", func() { s.Host("etcd-2").StopEtcd() })
			},
			exit: engine.ExitFailed, words: []string{"etcd-1: check quorum", "etcd-2 is not healthy"},
			hosts:  map[string]is{"": untouched},
			repair: func(s scene) { s.Host("etcd-2").StartEtcd() },
		},
		"quorum gone during the drain": {
			inventory: func(inv *engine.Inventory) { inv.Pools[0].Drain = inv.Pools[1].Drain },
			breaks: func(s scene) {
				s.when("etcd-1", "drain", func() { s.Host("etcd-2").StopEtcd() })
			},
			exit: engine.ExitFailed, words: []string{"etcd-1: check quorum", "etcd-2 is not healthy"},
			hosts:  map[string]is{"etcd-1": all(still, drained, heldBy("run-1", "etcd-2 is not healthy")), "": untouched},
			repair: func(s scene) { s.Host("etcd-2").StartEtcd() },
		},
		"member held meanwhile": {
			breaks: func(s scene) {
				s.when("etcd-1", "move etcd leader", func() { s.Host("etcd-2").SetHold(byBob()) })
			},
			exit: engine.ExitRefused, words: []string{"etcd-1: check quorum", "held: etcd-2"},
			hosts:  map[string]is{"etcd-2": heldBy("run-9"), "": untouched},
			repair: func(s scene) { s.Host("etcd-2").SetHold(nil) },
		},
	}
}

// interference: somebody else does something to a host meanwhile.
func interference() map[string]failureCase {
	return map[string]failureCase{
		"held before the hold": {
			breaks: func(s scene) { s.when("etcd-1", "hold", func() { s.Host("etcd-1").SetHold(byBob()) }) },
			exit:   engine.ExitRefused, words: []string{"etcd-1: hold: held by bob@b9", "his update"},
			hosts:  map[string]is{"etcd-1": heldBy("run-9"), "": untouched},
			repair: func(s scene) { s.Host("etcd-1").SetHold(nil) },
		},
		"hold removed": {
			breaks: func(s scene) { s.when("etcd-1", "reboot", func() { s.Host("etcd-1").SetHold(nil) }) },
			exit:   engine.ExitRefused, words: []string{"etcd-1: reboot: hold: the host is not held by this run"},
			hosts: map[string]is{"": untouched},
		},
		"hold replaced": {
			breaks: func(s scene) { s.when("worker-0", "reboot", func() { s.Host("worker-0").SetHold(byBob()) }) },
			exit:   engine.ExitRefused, words: []string{"worker-0: reboot: hold: "},
			hosts:  map[string]is{"etcd": updated, "worker-0": all(still, drained, heldBy("run-9", "his update")), "worker": untouched},
			repair: func(s scene) { s.Host("worker-0").SetHold(nil) },
		},
		"one held and one failed": {
			inventory: twoAtOnce,
			breaks: func(s scene) {
				s.when("worker-0", "hold", func() { s.Host("worker-0").SetHold(byBob()) })
				s.Host("worker-1").Change(func(t *hosttest.Traits) { t.NoReturn = true })
			},
			exit: engine.ExitFailed, words: []string{"worker-1: wait for boot"},
			hosts: map[string]is{"etcd": updated, "worker-0": heldBy("run-9"), "worker-1": heldBy("run-1"), "worker-2": untouched},
			repair: func(s scene) {
				s.Host("worker-0").SetHold(nil)
				s.Host("worker-1").PowerOn()
				time.Sleep(time.Minute)
			},
		},
		"staging lost": {
			breaks: func(s scene) {
				s.when("etcd-1", "reboot", func() { s.Host("worker-0").Reset() })
			},
			exit:  engine.ExitOK,
			hosts: map[string]is{"worker-0": matching, "": updated},
		},
		"unreachable meanwhile": {
			inventory: twoAtOnce,
			breaks:    func(s scene) { s.when("etcd-1", "reboot", func() { s.Host("worker-0").Cut() }) },
			exit:      engine.ExitUnreachable, words: []string{"worker-0 is unreachable"},
			hosts:  map[string]is{"worker-0": untouched, "": updated},
			repair: func(s scene) { s.Host("worker-0").Heal() },
		},
		"updated by hand": {
			breaks: func(s scene) { s.when("etcd-1", "reboot", func() { s.Host("worker-0").Boot(hosttest.V2) }) },
			exit:   engine.ExitOK,
			hosts:  map[string]is{"worker-0": matching, "": updated},
		},
		"other OS by hand": {
			breaks: func(s scene) { s.when("etcd-1", "reboot", func() { s.Host("worker-0").Boot("v0") }) },
			exit:   engine.ExitOK,
			hosts:  map[string]is{"worker-0": matching, "": updated},
		},
		"undone by hand": {
			breaks: func(s scene) {
				s.Host("worker-0").Boot(hosttest.V2)
				s.when("etcd-1", "reboot", func() { s.Host("worker-0").Boot(hosttest.V1) })
			},
			exit: engine.ExitFailed, words: []string{"changed since the plan was approved", "worker-0: os v1 → v2", "plan again"},
			hosts: map[string]is{"etcd-1": updated, "worker-0": free, "": untouched},
		},
		"undone by hand after this run": {
			breaks: func(s scene) { s.when("etcd-2", "reboot", func() { s.Host("etcd-1").Boot(hosttest.V1) }) },
			exit:   engine.ExitFailed, words: []string{"etcd-1", "does not match"},
			hosts: map[string]is{"etcd-1": free, "etcd-2": updated, "": untouched},
		},
	}
}

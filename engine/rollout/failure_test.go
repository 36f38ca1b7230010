package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/hosttest"
	"holdfast/engine/rollout"
)

// scene is a site and the first run on it.
type scene struct {
	*hosttest.Site
	run *hosttest.Bastion
}

// when lets something happen once, at the start of a step of a host.
func (s scene) when(host, step string, do func()) {
	s.run.Watch = func(e engine.Event) {
		if e.Type == engine.StepStarted && e.Host == host && e.Step == step && do != nil {
			happens := do
			do = nil
			happens()
		}
	}
}

// refuse lets a command of the bastion fail, having done what it does.
func (s scene) refuse(text string) {
	s.run.Command = func(c hosttest.Command) *rollout.Reply {
		if c.Text == text {
			return &rollout.Reply{Code: 1, Stderr: text + " does not work\n"}
		}
		return nil
	}
}

// is is what must be true of a host.
type is func(*hosttest.Host) error

func heldBy(run string, words ...string) is {
	return func(h *hosttest.Host) error { return heldFor(h, run, words...) }
}

// all demands several things.
func all(demands ...is) is {
	return func(h *hosttest.Host) error {
		var errs []error
		for _, d := range demands {
			errs = append(errs, d(h))
		}
		return errors.Join(errs...)
	}
}

// still: the host runs the old OS and was not ordered to reboot.
func still(h *hosttest.Host) error {
	if st := h.State(); st.Booted != hosttest.V1 || len(st.Reboots) > 0 {
		return fmt.Errorf("%s was touched: %+v", h.Name, st)
	}
	return nil
}

func drained(h *hosttest.Host) error {
	if !h.State().Drained {
		return fmt.Errorf("%s is not drained", h.Name)
	}
	return nil
}

// matching: the host runs the new OS, is well and nobody's, however it got there.
func matching(h *hosttest.Host) error {
	if st := h.State(); st.Booted != hosttest.V2 || !st.Well {
		return fmt.Errorf("%s does not match: %+v", h.Name, st)
	}
	return free(h)
}

// failureCase is one thing that goes wrong in a run of three members and three
// workers.
type failureCase struct {
	inventory func(*engine.Inventory)
	breaks    func(scene)
	change    func(*rollout.Run)
	exit      engine.ExitCode
	words     []string      // in the reason of the end
	hosts     map[string]is // of the first run; "etcd", "worker" and "" stand for those not named
	repair    func(scene)   // before the next run, which is to finish
	again     engine.ExitCode
}

func (c failureCase) run(t *testing.T) {
	inv := hosttest.Fleet(3, 3)
	if c.inventory != nil {
		c.inventory(&inv)
	}
	s := scene{Site: newSite(inv)}
	s.run = s.Bastion("run-1")
	c.breaks(s)
	if c.change == nil {
		c.change = func(*rollout.Run) {}
	}
	end := apply(s.run, c.change)
	errs := []error{ended(end, c.exit, c.words...), lawful(s.Site)}
	for i, h := range s.Hosts() {
		demand := c.hosts[h.Name]
		if demand == nil {
			demand = c.hosts[inv.Hosts[i].Pool]
		}
		if demand == nil {
			demand = c.hosts[""]
		}
		errs = append(errs, demand(h))
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("%v\n%s", err, story(s.run))
	}
	for _, h := range s.Hosts() {
		h.Change(func(t *hosttest.Traits) {
			t.NoReturn, t.OldOS, t.Missing, t.Failing, t.NoEtcd, t.DiskFull, t.Stubborn = false, false, nil, nil, false, false, false
		})
	}
	if c.repair != nil {
		c.repair(s)
	}
	next := s.Bastion("run-2")
	errs = []error{ended(apply(next, successor(s.run)), c.again), lawful(s.Site)}
	for _, h := range s.Hosts() {
		if c.again == engine.ExitOK {
			errs = append(errs, matching(h))
		}
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("the next run: %v\n%s", err, story(next))
	}
}

// TestFailures: in every case no law is broken, the hosts are as said, nobody
// else is touched; and once the cause is gone, the next run finishes.
func TestFailures(t *testing.T) {
	for name, c := range failureCases() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, c.run)
		})
	}
}

func trait(host string, f func(*hosttest.Traits)) func(scene) {
	return func(s scene) { s.Host(host).Change(f) }
}

func gate(pool int, command string, when engine.GateWhen) func(*engine.Inventory) {
	return func(inv *engine.Inventory) {
		inv.Pools[pool].Gates = []engine.Gate{{Name: "g", Command: command, When: []engine.GateWhen{when}}}
	}
}

func twoAtOnce(inv *engine.Inventory) { inv.Pools[1].MaxUnavailable = engine.Limit{Count: 2} }

func byBob() *engine.Hold {
	return &engine.Hold{Kind: engine.RunHold, Holder: "bob@b9", Run: "run-9", Reason: "his update"}
}

func failureCases() map[string]failureCase {
	cases := map[string]failureCase{}
	for _, more := range []map[string]failureCase{beforehand(), whileRebooting(), onTheWay(), interference()} {
		for name, c := range more {
			cases[name] = c
		}
	}
	return cases
}

// beforehand: what speaks against the run is there when it begins.
func beforehand() map[string]failureCase {
	return map[string]failureCase{
		"ill member goes first": {
			breaks: func(s scene) { s.Host("etcd-2").StopEtcd() },
			exit:   engine.ExitOK,
			hosts:  map[string]is{"": updated},
		},
		"member ill": {
			breaks: func(s scene) { s.Host("etcd-2").Boot(hosttest.V2); s.Host("etcd-2").StopEtcd() },
			exit:   engine.ExitFailed, words: []string{"not safe", "etcd-2 is not healthy"},
			hosts:  map[string]is{"etcd-2": free, "": untouched},
			repair: func(s scene) { s.Host("etcd-2").StartEtcd() },
		},
		"member unreachable": {
			breaks: func(s scene) { s.Host("etcd-1").Cut() },
			exit:   engine.ExitFailed, words: []string{"etcd-1"},
			hosts:  map[string]is{"": untouched},
			repair: func(s scene) { s.Host("etcd-1").Heal() },
		},
		"worker unreachable takes the budget": {
			breaks: func(s scene) { s.Host("worker-2").Cut() },
			exit:   engine.ExitUnreachable, words: []string{"worker-2 is unreachable", "connection refused"},
			hosts:  map[string]is{"worker": untouched, "etcd": updated},
			repair: func(s scene) { s.Host("worker-2").Heal() },
		},
		"worker unreachable": {
			inventory: twoAtOnce,
			breaks:    func(s scene) { s.Host("worker-2").Cut() },
			exit:      engine.ExitUnreachable, words: []string{"worker-2 is unreachable"},
			hosts:  map[string]is{"worker-2": untouched, "": updated},
			repair: func(s scene) { s.Host("worker-2").Heal() },
		},
		"worker in maintenance": {
			inventory: twoAtOnce,
			breaks: func(s scene) {
				s.Host("worker-0").SetHold(&engine.Hold{Kind: engine.MaintenanceHold, Holder: "bob@b9", Run: "m-1", Reason: "DIMM swap"})
			},
			exit: engine.ExitRefused, words: []string{"worker-0 is held", "DIMM swap", "holdfast release worker-0"},
			hosts:  map[string]is{"worker-0": all(still, heldBy("m-1")), "": updated},
			repair: func(s scene) { s.Host("worker-0").SetHold(nil) },
		},
		"hold that cannot be read": {
			inventory: twoAtOnce,
			breaks:    func(s scene) { s.Host("worker-0").Garble() },
			exit:      engine.ExitRefused, words: []string{"worker-0 is held", "is not a hold"},
			hosts: map[string]is{"worker-0": untouched, "": updated},
			again: engine.ExitRefused,
		},
		"refuse": {
			breaks: func(s scene) { s.Host("worker-0").SetHold(byBob()) },
			change: func(r *rollout.Run) { r.Refuse = true },
			exit:   engine.ExitRefused, words: []string{"held by somebody else", "nothing was touched"},
			hosts:  map[string]is{"worker-0": heldBy("run-9"), "": untouched},
			repair: func(s scene) { s.Host("worker-0").SetHold(nil) },
		},
		"member held": {
			breaks: func(s scene) { s.Host("etcd-1").SetHold(byBob()) },
			exit:   engine.ExitRefused, words: []string{"etcd-1 is held"},
			hosts:  map[string]is{"etcd-1": heldBy("run-9"), "": untouched},
			repair: func(s scene) { s.Host("etcd-1").SetHold(nil) },
		},
		"unclear": {
			inventory: twoAtOnce,
			breaks:    trait("worker-0", func(t *hosttest.Traits) { t.Unclear = "two deployments are booted" }),
			exit:      engine.ExitFailed, words: []string{"worker-0 is unclear", "two deployments"},
			hosts:  map[string]is{"worker-0": untouched, "": updated},
			repair: trait("worker-0", func(t *hosttest.Traits) { t.Unclear = "" }),
		},
		"disk full": {
			breaks: trait("worker-1", func(t *hosttest.Traits) { t.DiskFull = true }),
			exit:   engine.ExitFailed, words: []string{"worker-1: stage: ", "12 MiB are free"},
			hosts: map[string]is{"": untouched},
		},
		"staging does nothing": {
			breaks: trait("etcd-0", func(t *hosttest.Traits) { t.Forgetful = true }),
			exit:   engine.ExitFailed, words: []string{"etcd-0: stage: "},
			hosts:  map[string]is{"etcd-0": untouched, "etcd": updated, "worker": untouched},
			repair: trait("etcd-0", func(t *hosttest.Traits) { t.Forgetful = false }),
		},
		"declined": {
			breaks: func(scene) {},
			change: func(r *rollout.Run) {
				r.Approve = func(context.Context, engine.Plan) error { return rollout.ErrDeclined }
			},
			exit: engine.ExitStopped, words: []string{"not approved"},
			hosts: map[string]is{"": untouched},
		},
		"no snapshot": {
			breaks: func(s scene) {
				s.run.Fault = func(c hosttest.Call) hosttest.Fault {
					if c.Verb == "snapshot" {
						return hosttest.Fails
					}
					return hosttest.NoFault
				}
			},
			exit: engine.ExitFailed, words: []string{"snapshot etcd"},
			hosts: map[string]is{"": untouched},
		},
		"gate before the batch": {
			inventory: gate(0, "false", engine.BeforeBatch),
			breaks:    func(scene) {},
			exit:      engine.ExitFailed, words: []string{"gate g"},
			hosts: map[string]is{"": untouched},
			again: engine.ExitFailed,
		},
	}
}

// whileRebooting: the host is out of hand when it fails.
func whileRebooting() map[string]failureCase {
	return map[string]failureCase{
		"does not come back": {
			breaks: trait("etcd-1", func(t *hosttest.Traits) { t.NoReturn = true }),
			exit:   engine.ExitFailed, words: []string{"etcd-1: wait for boot: not done within 20m0s", "connection refused"},
			hosts:  map[string]is{"etcd-1": heldBy("run-1"), "": untouched},
			repair: func(s scene) { s.Host("etcd-1").PowerOn(); time.Sleep(time.Minute) },
		},
		"old OS": {
			breaks: trait("etcd-1", func(t *hosttest.Traits) { t.OldOS = true }),
			exit:   engine.ExitFailed, words: []string{"etcd-1: wait for boot: it came back with v1", "No space left"},
			hosts: map[string]is{"etcd-1": heldBy("run-1", "it came back with v1"), "": untouched},
		},
		"unit missing": {
			breaks: trait("etcd-1", func(t *hosttest.Traits) { t.Missing = []string{"sshd.service"} }),
			exit:   engine.ExitFailed, words: []string{"etcd-1: wait for units: not done within 10m0s: sshd.service ran before and does not run"},
			hosts: map[string]is{"etcd-1": heldBy("run-1", "sshd.service ran before"), "": untouched},
		},
		"unit failed": {
			breaks: trait("etcd-1", func(t *hosttest.Traits) { t.Failing = []string{"sshd.service"} }),
			exit:   engine.ExitFailed, words: []string{"etcd-1: wait for units: not done within 10m0s: sshd.service has failed"},
			hosts: map[string]is{"etcd-1": heldBy("run-1", "sshd.service has failed"), "": untouched},
		},
		"member lost": {
			breaks: trait("etcd-1", func(t *hosttest.Traits) { t.NoEtcd = true }),
			exit:   engine.ExitFailed, words: []string{"etcd-1: wait for etcd", "2 of 3 members are healthy"},
			hosts:  map[string]is{"etcd-1": heldBy("run-1", "2 of 3"), "": untouched},
			repair: func(s scene) { s.Host("etcd-1").StartEtcd() },
		},
		"refuses to reboot": {
			breaks: trait("etcd-1", func(t *hosttest.Traits) { t.Stubborn = true }),
			exit:   engine.ExitFailed, words: []string{"etcd-1: reboot: exit status 1, and the host is not going down"},
			hosts: map[string]is{"etcd-1": all(still, heldBy("run-1", "not going down")), "": untouched},
		},
		"one of a batch": {
			inventory: twoAtOnce,
			breaks:    trait("worker-0", func(t *hosttest.Traits) { t.NoReturn = true }),
			exit:      engine.ExitFailed, words: []string{"worker-0: wait for boot"},
			hosts:  map[string]is{"etcd": updated, "worker-0": heldBy("run-1"), "worker-1": updated, "worker-2": untouched},
			repair: func(s scene) { s.Host("worker-0").PowerOn(); time.Sleep(time.Minute) },
		},
		"gate after the host": {
			inventory: func(inv *engine.Inventory) {
				gate(1, "ready", engine.AfterHost)(inv)
			},
			breaks: func(s scene) { s.refuse("ready") },
			exit:   engine.ExitFailed, words: []string{"worker-0: gate g"},
			hosts: map[string]is{"etcd": updated, "worker-0": heldBy("run-1"), "worker": untouched},
		},
		"gate after the batch": {
			inventory: gate(1, "ready", engine.AfterBatch),
			breaks:    func(s scene) { s.refuse("ready") },
			exit:      engine.ExitFailed, words: []string{"gate g"},
			hosts: map[string]is{"etcd": updated, "worker-0": updated, "worker": untouched},
		},
	}
}

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

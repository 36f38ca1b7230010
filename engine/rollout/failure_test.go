package rollout_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// failureWorld is a site and its first run.
type failureWorld struct {
	*simulator.Site
	run *simulator.Bastion
}

func (s failureWorld) doAtStep(host, step string, do func()) {
	s.run.Watch = func(e event.Event) {
		if e.Type == event.StepStarted && e.Host == host && e.Step == step && do != nil {
			happens := do
			do = nil
			happens()
		}
	}
}

// failCommand lets a command of the bastion fail after the command has done its
// work.
func (s failureWorld) failCommand(text string) {
	s.run.Command = func(c simulator.Command) *rollout.Reply {
		if c.Text == text {
			return &rollout.Reply{Code: 1, Stderr: text + " does not work\n"}
		}
		return nil
	}
}

type hostCheck func(*simulator.Host) error

func isHeldBy(run string, words ...string) hostCheck {
	return func(h *simulator.Host) error { return checkHeldFor(h, run, words...) }
}

func allOf(demands ...hostCheck) hostCheck {
	return func(h *simulator.Host) error {
		var errs []error
		for _, d := range demands {
			errs = append(errs, d(h))
		}
		return errors.Join(errs...)
	}
}

// checkNotRebooted checks that the host runs the old OS and was not ordered to reboot.
func checkNotRebooted(h *simulator.Host) error {
	if st := h.State(); st.Booted != simulator.V1 || len(st.Reboots) > 0 {
		return fmt.Errorf("%s was touched: %+v", h.Name, st)
	}
	return nil
}

func checkDrained(h *simulator.Host) error {
	if !h.State().Drained {
		return fmt.Errorf("%s is not drained", h.Name)
	}
	return nil
}

// checkMatching checks that the host has its desired state, is healthy and is not held.
func checkMatching(h *simulator.Host) error {
	if st := h.State(); !st.Matches || !st.Well {
		return fmt.Errorf("%s does not match: %+v", h.Name, st)
	}
	return checkFree(h)
}

// failureCase is one failure in a run of three members and three workers.
type failureCase struct {
	inventory func(*engine.Inventory)
	breaks    func(failureWorld)
	change    func(*rollout.Run)
	exit      engine.ExitCode
	words     []string             // words in the reason of the end
	hosts     map[string]hostCheck // checks after the first run, by host; "etcd", "worker" and "" stand for the hosts without an entry
	repair    func(failureWorld)   // repairs the cause before the next run, which must finish
	again     engine.ExitCode
}

func (c failureCase) runCase(t *testing.T) {
	inv := simulator.Fleet(3, 3)
	if c.inventory != nil {
		c.inventory(&inv)
	}
	s := failureWorld{Site: newSite(inv)}
	s.run = s.Bastion("run-1")
	c.breaks(s)
	if c.change == nil {
		c.change = func(*rollout.Run) {}
	}
	end := applyRun(s.run, c.change)
	errs := []error{checkEnd(end, c.exit, c.words...), checkLaws(s.Site)}
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
		t.Fatalf("%v\n%s", err, runTranscript(s.run))
	}
	for _, h := range s.Hosts() {
		h.Change(func(t *simulator.Traits) {
			t.NoReturn, t.OldOS, t.Missing, t.Failing, t.NoEtcd, t.DiskFull, t.Stubborn = false, false, nil, nil, false, false, false
		})
	}
	if c.repair != nil {
		c.repair(s)
	}
	next := s.Bastion("run-2")
	errs = []error{checkEnd(applyRun(next, successorOf(s.run)), c.again), checkLaws(s.Site)}
	for _, h := range s.Hosts() {
		if c.again == engine.ExitOK {
			errs = append(errs, checkMatching(h))
		}
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("the next run: %v\n%s", err, runTranscript(next))
	}
}

// TestFailures checks for every case that no law is broken, that the hosts are
// in the listed state, and that no other host is touched. After the repair of
// the cause the next run finishes.
func TestFailures(t *testing.T) {
	for name, c := range failureCases() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, c.runCase)
		})
	}
}

func setTrait(host string, f func(*simulator.Traits)) func(failureWorld) {
	return func(s failureWorld) { s.Host(host).Change(f) }
}

func addGate(pool int, command string, when engine.GateWhen) func(*engine.Inventory) {
	return func(inv *engine.Inventory) {
		inv.Pools[pool].Gates = []engine.Gate{{Name: "g", Command: command, When: []engine.GateWhen{when}}}
	}
}

func twoAtOnce(inv *engine.Inventory) { inv.Pools[1].MaxUnavailable = engine.CountOrPercent{Count: 2} }

func byBob() *engine.Hold {
	return &engine.Hold{Kind: engine.RunHold, Holder: "bob@b9", Run: "run-9", Reason: "his update"}
}

func failureCases() map[string]failureCase {
	cases := map[string]failureCase{}
	for _, more := range []map[string]failureCase{casesBeforeRun(), casesWhileRebooting(), casesDuringRun(), casesOfInterference()} {
		for name, c := range more {
			cases[name] = c
		}
	}
	return cases
}

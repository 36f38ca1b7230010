package rollout_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/planner"
	"holdfast/engine/planner/approval"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// siteWanting returns a site without an OS. Its hosts have the setting
// "none-1", and their desired setting is word.
func siteWanting(members, workers int, word string) *simulator.Site {
	return wantingOf(noOS(simulator.Fleet(members, workers)), word)
}

func wantingOf(inv engine.Inventory, word string) *simulator.Site {
	site := newSite(inv)
	for _, h := range site.Hosts() {
		h.Set("none-1")
		site.Want(h.Name, word)
	}
	return site
}

// changeAll changes the traits of all hosts.
func changeAll(site *simulator.Site, f func(*simulator.Traits)) {
	for _, h := range site.Hosts() {
		h.Change(f)
	}
}

func actFails(t *simulator.Traits) { t.ActFails = true }

// checkSettings checks that every host has its setting after that many reboots.
func checkSettings(site *simulator.Site, reboots int) error {
	errs := []error{checkLaws(site)}
	for _, h := range site.Hosts() {
		if n := len(h.State().Reboots); n != reboots {
			errs = append(errs, fmt.Errorf("%s was rebooted %d times, not %d", h.Name, n, reboots))
		}
		errs = append(errs, checkMatching(h))
	}
	return errors.Join(errs...)
}

// TestQuiet checks that non-disruptive changes reach all hosts in one batch,
// with three calls for each host. The members of one cluster and the hosts of
// all zones are in the same batch.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := noOS(simulator.Fleet(3, 50))
		for i := range inv.Hosts {
			inv.Hosts[i].Zone = string(rune('a' + i%3))
		}
		inv.Pools[1].After = nil
		site := wantingOf(inv, "reload-2")
		b := site.Bastion("run-1")
		failOnErrors(t, checkEnd(applyRun(b), engine.ExitOK, "every host matches"), checkSettings(site, 0))
		calls := map[string]int{}
		for _, c := range b.Calls() {
			if c.Host == "" && c.Verb == "observe" {
				continue
			}
			if calls[c.Host]++; c.Verb != "probe" && c.Verb != "quiet" || calls[c.Host] > 3 {
				t.Errorf("call %d of a host: %+v", calls[c.Host], c)
			}
		}
		batches := 0
		for _, e := range b.Events() {
			if e.Type == event.BatchStarted {
				batches++
			}
		}
		if batches != 1 {
			t.Errorf("%d batches", batches)
		}
		checkSecondRun(t, site)
	})
}

// An action fails on every host. No reboot exceeds budgets and quorum, which
// the laws check, and no host reboots twice.
func TestFallback(t *testing.T) {
	for _, word := range []string{"reload-2", "restart-2", "drain-reload-2"} {
		t.Run(word, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inv := noOS(simulator.Fleet(3, 10))
				inv.Pools[1].MaxUnavailable = engine.CountOrPercent{Count: 2}
				site := wantingOf(inv, word)
				changeAll(site, actFails)
				b := site.Bastion("run-1")
				end := applyRun(b)
				if err := errors.Join(checkEnd(end, engine.ExitOK), checkSettings(site, 1)); err != nil {
					t.Fatalf("%v\n%s", err, runTranscript(b))
				}
				if len(end.Updated) != 13 || len(end.Failed)+len(end.Untouched) > 0 {
					t.Errorf("%+v", end)
				}
				checkSecondRun(t, site)
			})
		})
	}
}

// A host that was drained when its action failed stays held until it has
// rebooted.
func TestFallbackKeepsHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := siteWanting(0, 1, "drain-restart-2")
		changeAll(site, actFails)
		b, h := site.Bastion("run-1"), site.Host("worker-0")
		failed := false
		b.Watch = func(e event.Event) {
			failed = failed || e.Failure != nil && e.Failure.Kind == engine.ActionFailure
			if back := e.Step == "undrain" || e.Step == "release" || e.Type == event.HostDone; back || len(h.State().Reboots) > 0 {
				failed = false
			}
			if hold := h.Hold(); failed && (hold == nil || hold.Run != "run-1" || !h.State().Drained) {
				t.Errorf("%s: %v, %+v", eventLabel(e), hold, h.State())
			}
		}
		failOnErrors(t, checkEnd(applyRun(b), engine.ExitOK), checkSettings(site, 1))
	})
}

// A host cannot record the failure of an action, so the next plan has the
// action again. The run ends nevertheless.
func TestFallbackForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for word, demand := range map[string]hostCheck{"reload-2": checkFree, "restart-2": isHeldBy("run-1", "exit status 1")} {
			site := siteWanting(0, 2, word)
			site.Host("worker-0").Change(func(t *simulator.Traits) { t.ActFails, t.Forgets = true, true })
			b := site.Bastion("run-1")
			end := applyRun(b)
			failOnErrors(t, checkEnd(end, engine.ExitFailed, "worker-0: "), checkLaws(site), demand(site.Host("worker-0")))
			changeAll(site, func(t *simulator.Traits) { t.ActFails, t.Forgets = false, false })
			failOnErrors(t, checkEnd(applyRun(site.Bastion("run-2"), successorOf(b)), engine.ExitOK), checkSettings(site, 0))
		}
	})
}

// A failed action stops its service. After the reboot that service must run
// again; otherwise the next host does not start.
func TestFallbackWatchesUnits(t *testing.T) {
	for _, word := range []string{"reload-2", "drain-restart-2"} {
		synctest.Test(t, func(t *testing.T) {
			site := siteWanting(0, 3, word)
			changeAll(site, func(t *simulator.Traits) { t.ActFails, t.AppDies = true, true })
			b := site.Bastion("run-1")
			failOnErrors(t, checkEnd(applyRun(b), engine.ExitFailed, "wait for units", "app.service has failed"), checkLaws(site))
			for _, h := range site.Hosts()[1:] {
				if n := len(h.State().Reboots); n > 0 {
					t.Errorf("%s was rebooted too\n%s", h.Name, runTranscript(b))
				}
			}
		})
	}
}

// With on_action_failure = "stop", a failed action does not lead to a reboot:
// the run fails, and the next run tries the action again.
func TestStopOnError(t *testing.T) {
	for word, demand := range map[string]hostCheck{"reload-2": checkFree, "drain-reload-2": allOf(checkDrained, isHeldBy("run-1", "exit status 1")), "restart-2": isHeldBy("run-1", "exit status 1")} {
		t.Run(word, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inv := noOS(simulator.Fleet(0, 2))
				inv.Pools[1].OnActionFailure = engine.StopOnFailure
				site := wantingOf(inv, word)
				site.Host("worker-0").Change(actFails)
				b := site.Bastion("run-1")
				end := applyRun(b)
				failOnErrors(t, checkEnd(end, engine.ExitFailed, "worker-0: ", "exit status 1"), checkLaws(site), demand(site.Host("worker-0")))
				if fmt.Sprint(end.Failed) != "[worker-0]" {
					t.Errorf("%+v", end)
				}
				failOnErrors(t, checkEnd(applyRun(site.Bastion("run-2"), successorOf(b)), engine.ExitFailed), checkLaws(site))
				site.Host("worker-0").Change(func(t *simulator.Traits) { t.ActFails = false })
				failOnErrors(t, checkEnd(applyRun(site.Bastion("run-3"), func(r *rollout.Run) { r.Dead = []string{"run-1", "run-2"} }), engine.ExitOK), checkSettings(site, 0))
			})
		})
	}
}

// A person edits a host. The run repairs the edit, with the necessary action,
// or only reports it.
func TestDrift(t *testing.T) {
	for _, word := range []string{"reload-2", "drain-restart-2", "reboot-2"} {
		synctest.Test(t, func(t *testing.T) {
			inv := noOS(simulator.Fleet(0, 2))
			inv.Pools[0].Drift, inv.Pools[1].Drift = engine.RepairDrift, engine.RepairDrift
			inv.Hosts[1].Pool = inv.Pools[0].Name
			inv.Pools[1].Drift = engine.ReportDrift
			site := wantingOf(inv, word)
			for _, h := range site.Hosts() {
				h.Set(word)
				h.Edit("mine")
			}
			end := applyRun(site.Bastion("run-1"))
			failOnErrors(t, checkEnd(end, engine.ExitWork, "worker-0", "drift"), checkLaws(site), checkMatching(site.Host("worker-1")), checkFree(site.Host("worker-0")))
			if st := site.Host("worker-0").State(); st.Disk != "mine" || st.Writes > 0 || st.Boots > 1 {
				t.Errorf("%+v", st)
			}
			end = applyRun(site.Bastion("run-2"))
			failOnErrors(t, checkEnd(end, engine.ExitWork, "drift"))
			state := statusOf(t, site)
			if state["worker-0"] != engine.Drifted || state["worker-1"] != engine.Updated {
				t.Errorf("%v", state)
			}
		})
	}
}

func statusOf(t *testing.T, site *simulator.Site) map[string]engine.HostState {
	t.Helper()
	b := site.Bastion("run-status")
	states := map[string]engine.HostState{}
	r := b.Run()
	in := planner.Input{Request: planner.Request{Inventory: r.Inventory, Desired: r.Desired, Modules: r.Modules}, Facts: r.GatherHosts(t.Context()), Run: r.ID}
	for _, h := range planner.NewStatus(in).Hosts {
		states[h.Host] = h.State
	}
	return states
}

func planOf(t *testing.T, site *simulator.Site, run string, change ...func(*rollout.Run)) engine.Plan {
	t.Helper()
	b := site.Bastion(run)
	r := b.Run()
	for _, c := range change {
		c(r)
	}
	plan, _, err := r.Plan(t.Context())
	failOnErrors(t, err)
	return plan
}

// An approved or saved plan allows the reboot in place of a failed action, and
// no other reboot.
func TestFallbackIsApproved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, word := range []string{"reload-2", "drain-restart-2"} {
			site := siteWanting(0, 1, word)
			plan := planOf(t, site, "run-0")
			text, err := json.Marshal(plan)
			var saved engine.Plan
			failOnErrors(t, err, json.Unmarshal(text, &saved), approval.CheckSame(plan, saved))
			changeAll(site, actFails)
			b := site.Bastion("run-1")
			b.Watch = func(e event.Event) {
				if e.Type == event.Warned {
					b.Kill()
				}
			}
			applyRun(b)
			later := planOf(t, site, "run-2", successorOf(b))
			if hp := later.Host("worker-0"); hp == nil || len(hp.Actions) != 2 || hp.Actions[1].Type != engine.RebootAction {
				t.Errorf("%s: it is not to be rebooted: %+v", word, hp)
			}
			failOnErrors(t, approval.CheckApproved(later, plan), approval.CheckApproved(later, saved))
			stops := saved
			stops.Hosts = nil
			if approval.CheckApproved(later, stops) == nil {
				t.Errorf("%s: a plan without the host allows the reboot", word)
			}
		}
	})
}

// A run does not wait for a service that it stops on purpose, and neither does
// a later run.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := siteWanting(3, 1, "restart-end-2")
		began := time.Now()
		failOnErrors(t, checkEnd(applyRun(site.Bastion("run-1")), engine.ExitOK), checkSettings(site, 0))
		if took := time.Since(began); took > 5*time.Minute {
			t.Errorf("it took %s", took)
		}
		checkSecondRun(t, site)
	})
}

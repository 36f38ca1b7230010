package rollout_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// TestLostHostStopsTheNextRun: an OS breaks the network of the canary. The run fails, or is killed while it waits for the host.
// Later runs give this OS to no other host, unless a person allows it or the inventory asks for another OS.
func TestLostHostStopsTheNextRun(t *testing.T) {
	setPool := func(change func(*engine.Pool)) func(*simulator.Site, *rollout.Run) {
		return func(site *simulator.Site, r *rollout.Run) {
			r.Inventory.Pools = slices.Clone(r.Inventory.Pools)
			for i := range r.Inventory.Pools {
				change(&r.Inventory.Pools[i])
			}
			site.Inventory.Pools = r.Inventory.Pools
			r.Desired = site.Desired()
		}
	}
	for name, c := range map[string]struct {
		change func(*simulator.Site, *rollout.Run) // of the second run
		exit   engine.ExitCode
		others int // hosts that the second run reboots
		says   string
	}{
		"the same again": {func(*simulator.Site, *rollout.Run) {}, engine.ExitFailed, 0, "the change of run run-1 has not succeeded on it"},
		"a setting that decides nothing": {
			setPool(func(p *engine.Pool) { p.MaxUnavailable.Count = 2 }), engine.ExitFailed, 0, "the change of run run-1 has not succeeded on it",
		},
		"best effort": {func(_ *simulator.Site, r *rollout.Run) { r.BestEffort = true }, engine.ExitFailed, 3, "the change of run run-1 has not succeeded on it"},
		"maintenance": {func(_ *simulator.Site, r *rollout.Run) {
			r.Inventory.Hosts = slices.Clone(r.Inventory.Hosts)
			r.Inventory.Hosts[0].Maintenance = "no network"
		}, engine.ExitRefused, 3, "maintenance"},
		"another OS": {func(site *simulator.Site, r *rollout.Run) {
			r.OverIncomplete = true
			setPool(func(p *engine.Pool) { p.OS = &engine.OS{Driver: "simulator", Commit: simulator.V3} })(site, r)
		}, engine.ExitUnreachable, 3, "unreachable"},
		"outside the limit": {func(_ *simulator.Site, r *rollout.Run) {
			r.Selected = func(h engine.Host) bool { return h.Name != "worker-0" }
		}, engine.ExitOK, 3, ""},
		"it has come back": {func(site *simulator.Site, _ *rollout.Run) {
			site.Host("worker-0").Change(func(t *simulator.Traits) { t.NoReturn = false })
			site.Host("worker-0").Boot(simulator.V2)
		}, engine.ExitOK, 3, ""},
	} {
		for _, killed := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", after a kill"}[killed], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					site := newSite(workerFleet(4, func(p *engine.Pool) {
						p.MaxUnavailable = engine.CountOrPercent{Count: 3, Set: true}
						p.Canary = &engine.Canary{Hosts: engine.CountOrPercent{Count: 1, Set: true}}
						p.Order = engine.Sorted
					}))
					site.Host("worker-0").Change(func(t *simulator.Traits) { t.NoReturn = true })
					runs := []*simulator.Bastion{site.Bastion("run-1")}
					runs[0].Watch = func(e event.Event) {
						if killed && e.Type == event.StepStarted && e.Step == "wait for boot" {
							runs[0].Kill()
						}
					}
					applyRun(runs[0])
					for _, id := range []string{"run-2", "run-3"} { // what the second run learns, the third still knows
						b := site.Bastion(id)
						end := applyRun(b, successorOf(runs...), func(r *rollout.Run) { c.change(site, r) })
						failOnErrors(t, checkEnd(end, c.exit), checkLaws(site))
						if others := rebootedHosts(b); id == "run-2" && len(others) != c.others || !strings.Contains(findingsText(end), c.says) {
							t.Errorf("%s rebooted %v: %s\n%s", id, others, findingsText(end), runTranscript(b))
						}
						runs = append(runs, b)
					}
				})
			})
		}
	}
}

// TestFoundHostIsNotLost: a run has seen the lost host match. That it is unreachable afterwards has another cause, and stops no other host.
func TestFoundHostIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(2, func(p *engine.Pool) {
			p.MaxUnavailable = engine.CountOrPercent{Count: 2, Set: true}
			p.Order = engine.Sorted
		}))
		h := site.Host("worker-0")
		h.Change(func(t *simulator.Traits) { t.NoReturn = true })
		first, second, third := site.Bastion("run-1"), site.Bastion("run-2"), site.Bastion("run-3")
		applyRun(first, func(r *rollout.Run) { r.Selected = func(h engine.Host) bool { return h.Name == "worker-0" } })
		h.Change(func(t *simulator.Traits) { t.NoReturn = false })
		h.Boot(simulator.V2)
		h.SetHold(nil)
		second.Watch = func(e event.Event) { // before it changes another host
			if e.Type == event.StageStarted {
				second.Kill()
			}
		}
		applyRun(second, successorOf(first))
		h.Cut()
		end := applyRun(third, successorOf(first, second))
		failOnErrors(t, checkEnd(end, engine.ExitUnreachable), checkUpdated(site.Host("worker-1")), checkLaws(site))
	})
}

// TestHostSeenByThisRunIsNotLost: a run has taken up the lost host, or seen it match. That it does not answer later in the same run stops no other host.
func TestHostSeenByThisRunIsNotLost(t *testing.T) {
	for name, c := range map[string]struct {
		held bool
		cut  event.Type // event of the second run at which the host is cut off
	}{
		"taken up": {true, event.HostDone},
		"matching": {false, event.StageStarted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(workerFleet(2, func(p *engine.Pool) {
					p.MaxUnavailable = engine.CountOrPercent{Count: 2, Set: true}
					p.Order = engine.Sorted
				}))
				h := site.Host("worker-0")
				h.Change(func(t *simulator.Traits) { t.NoReturn = true })
				first, second := site.Bastion("run-1"), site.Bastion("run-2")
				applyRun(first, func(r *rollout.Run) { r.Selected = func(h engine.Host) bool { return h.Name == "worker-0" } })
				h.Change(func(t *simulator.Traits) { t.NoReturn = false })
				h.Boot(simulator.V2)
				if !c.held {
					h.SetHold(nil)
				}
				second.Watch = func(e event.Event) {
					if e.Type == c.cut && (e.Host == "" || e.Host == "worker-0") {
						h.Cut()
					}
				}
				end := applyRun(second, successorOf(first))
				failOnErrors(t, checkEnd(end, engine.ExitUnreachable), checkUpdated(site.Host("worker-1")), checkLaws(site))
			})
		})
	}
}

// TestHostGivenBackIsNotLost: a host refused its first write, so the run gave it back unchanged. When it is unreachable later, the
// write is not the cause, and the other hosts go on.
func TestHostGivenBackIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := wantingOf(noOS(workerFleet(2, func(p *engine.Pool) {
			p.MaxUnavailable = engine.CountOrPercent{Count: 2, Set: true}
			p.Order = engine.Sorted
		})), "restart-2")
		h := site.Host("worker-0")
		h.Change(func(t *simulator.Traits) { t.DiskFull = true })
		first, second := site.Bastion("run-1"), site.Bastion("run-2")
		end := applyRun(first, func(r *rollout.Run) { r.Selected = func(h engine.Host) bool { return h.Name == "worker-0" } })
		failOnErrors(t, checkEnd(end, engine.ExitFailed, "no space left on device"), checkFree(h))
		h.Cut()
		end = applyRun(second, successorOf(first))
		failOnErrors(t, checkEnd(end, engine.ExitUnreachable), checkLaws(site))
		if got := site.Host("worker-1").State(); got.Disk != "restart-2" {
			t.Errorf("worker-1: %+v", got)
		}
	})
}

// TestKilledRunForgetsCompleteness: a run that was killed may have begun another OS only in the pools that its journal names. A run that was killed while it
// changed a configuration, or staged an OS, has begun none.
func TestKilledRunForgetsCompleteness(t *testing.T) {
	wantOS := func(site *simulator.Site, r *rollout.Run) {
		r.Inventory.Pools = slices.Clone(r.Inventory.Pools)
		r.Inventory.Pools[1].OS = &engine.OS{Driver: "simulator", Commit: simulator.V3}
		site.Inventory.Pools = r.Inventory.Pools
		r.Desired = site.Desired()
	}
	wantSetting := func(site *simulator.Site, r *rollout.Run) {
		for _, h := range site.Hosts() {
			site.Want(h.Name, "restart-2")
		}
		r.Desired = site.Desired()
	}
	for name, c := range map[string]struct {
		change   func(*simulator.Site, *rollout.Run)
		step     string // of the second run, before which it is killed
		complete bool   // the third run still knows that the pool was complete
	}{
		"another OS":           {wantOS, "hold", false},
		"another OS, staged":   {wantOS, "stage", true},
		"a configuration":      {wantSetting, "write", true},
		"a reboot for another": {wantOS, "reboot", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := wantingOf(workerFleet(2, func(p *engine.Pool) { p.Order = engine.Sorted }), "none-1")
				first, second := site.Bastion("run-1"), site.Bastion("run-2")
				failOnErrors(t, checkEnd(applyRun(first), engine.ExitOK))
				killed := false
				second.Watch = func(e event.Event) {
					if e.Type == event.StepStarted && e.Step == c.step {
						killed = true
						second.Kill()
					}
				}
				applyRun(second, successorOf(first), func(r *rollout.Run) { c.change(site, r) })
				third := site.Bastion("run-3").Run()
				simulator.Inherit(third, first, second)
				if _, known := third.CompletedOS["worker"]; !killed || known != c.complete {
					t.Errorf("killed: %t; complete: %v\n%s", killed, third.CompletedOS, runTranscript(second))
				}
			})
		})
	}
}

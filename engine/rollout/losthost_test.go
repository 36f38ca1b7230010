package rollout_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/hold"
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
		for _, e := range first.Events() {
			if e.Type == event.StepStarted && e.Step == "release" && e.Limit < engine.Duration(hold.LockTime) {
				t.Errorf("the release may take %s, less than it waits for the lock of the hold", e.Limit)
			}
		}
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

// TestLostHostCountsInPlaybooks: a host that a playbook has lost counts in the next run, with or without a playbook, and the other
// way round, if that run may give the same change to other hosts.
func TestLostHostCountsInPlaybooks(t *testing.T) {
	finalize, config := withSimulatedPlays(playOn("worker", engine.FinalizeTask)), withSimulatedPlays(playOn("worker", engine.ConfigTask))
	work := withSimulatedPlays(engine.Play{Name: "uptime", Hosts: "worker", Tasks: []engine.Task{plainTask(simulator.PlainCommand)}})
	skip := func(r *rollout.Run) {
		p := playOn("worker", engine.FinalizeTask)
		p.Tasks[0].Skip = map[string]bool{"worker-0": true}
		withSimulatedPlays(p)(r)
	}
	plain := func(*rollout.Run) {}
	for name, c := range map[string]struct {
		first, then func(*rollout.Run)
		others      int // hosts that the second run reboots
		exit        engine.ExitCode
	}{
		"a play twice":                      {finalize, finalize, 0, engine.ExitFailed},
		"a play, then all":                  {finalize, plain, 0, engine.ExitFailed},
		"all, then a play":                  {plain, finalize, 0, engine.ExitFailed},
		"then a play of another part":       {finalize, config, 0, engine.ExitUnreachable},
		"then a play of a command":          {finalize, work, 0, engine.ExitUnreachable},
		"then a play that leaves it out":    {finalize, skip, 3, engine.ExitUnreachable},
		"a play, then all with best effort": {finalize, func(r *rollout.Run) { r.BestEffort = true }, 3, engine.ExitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(workerFleet(4, func(p *engine.Pool) {
					p.MaxUnavailable = engine.CountOrPercent{Count: 3, Set: true}
					p.Canary = &engine.Canary{Hosts: engine.CountOrPercent{Count: 1, Set: true}}
					p.Order = engine.Sorted
				}))
				site.Host("worker-0").Change(func(t *simulator.Traits) { t.NoReturn = true })
				b1, b2 := site.Bastion("run-1"), site.Bastion("run-2")
				failOnErrors(t, checkEnd(applyRun(b1, c.first), engine.ExitFailed, "worker-0"))
				end := applyRun(b2, successorOf(b1), c.then)
				if others := rebootedHosts(b2); len(others) != c.others {
					t.Errorf("run-2 rebooted %v\n%s", others, runTranscript(b2))
				}
				failOnErrors(t, checkEnd(end, c.exit, "worker-0"))
			})
		})
	}
}

// TestPlaysThatProveALostHost: a run sees a lost host again, and the host is cut off afterwards. Whether it still counts as lost
// depends on the tasks of that run: only those that compare the host with the OS that lost it prove that it has this OS.
func TestPlaysThatProveALostHost(t *testing.T) {
	reboots := engine.Play{Name: "reboot", Hosts: "worker", Tasks: []engine.Task{{Name: "reboot", Module: engine.RebootTask}}}
	work := engine.Play{Name: "uptime", Hosts: "worker", Tasks: []engine.Task{plainTask(simulator.PlainCommand)}}
	for name, c := range map[string]struct {
		play  engine.Play
		held  bool   // the hold of the first run is still there
		boots string // OS that the host runs when it is seen again
		exit  engine.ExitCode
	}{
		"it matches":                               {playOn("worker", engine.FinalizeTask), false, simulator.V2, engine.ExitUnreachable},
		"it is taken up":                           {playOn("worker", engine.FinalizeTask), true, simulator.V2, engine.ExitUnreachable},
		"it is updated":                            {playOn("worker", engine.FinalizeTask), false, simulator.V1, engine.ExitUnreachable},
		"its configuration matches":                {playOn("worker", engine.ConfigTask), false, simulator.V1, engine.ExitFailed},
		"it is taken up for its configuration":     {playOn("worker", engine.ConfigTask), true, simulator.V1, engine.ExitFailed},
		"a command has run":                        {work, false, simulator.V1, engine.ExitFailed},
		"a command has run, and it was taken up":   {work, true, simulator.V1, engine.ExitFailed},
		"it has rebooted":                          {reboots, false, simulator.V1, engine.ExitFailed},
		"it has rebooted, with the OS that is new": {reboots, false, simulator.V2, engine.ExitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(workerFleet(2, func(p *engine.Pool) {
					p.MaxUnavailable = engine.CountOrPercent{Count: 2, Set: true}
					p.Order = engine.Sorted
				}))
				only := func(r *rollout.Run) {
					r.Selected = func(h engine.Host) bool { return h.Name == "worker-0" }
					for i := range r.Plays {
						r.Plays[i].Selected = r.Selected
					}
				}
				h := site.Host("worker-0")
				h.Change(func(t *simulator.Traits) { t.NoReturn = true })
				first, second, third := site.Bastion("run-1"), site.Bastion("run-2"), site.Bastion("run-3")
				applyRun(first, only)
				h.Change(func(t *simulator.Traits) { t.NoReturn = false })
				h.Boot(c.boots)
				if !c.held {
					h.SetHold(nil)
				}
				failOnErrors(t, checkEnd(applyRun(second, successorOf(first), withSimulatedPlays(c.play), only), engine.ExitOK))
				h.Cut()
				failOnErrors(t, checkEnd(applyRun(third, successorOf(first, second)), c.exit))
				if updated := site.Host("worker-1").State().Matches; updated != (c.exit == engine.ExitUnreachable) {
					t.Errorf("worker-1 is updated: %t\n%s", updated, runTranscript(third))
				}
			})
		})
	}
}

// TestHostOfAnEarlierPlayIsNotLost: the first play of a run brings a lost host up to date. That it does not answer in the next play stops no other host.
func TestHostOfAnEarlierPlayIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(2, func(p *engine.Pool) {
			p.MaxUnavailable = engine.CountOrPercent{Count: 2, Set: true}
			p.Order = engine.Sorted
		}))
		h := site.Host("worker-0")
		h.Change(func(t *simulator.Traits) { t.NoReturn = true })
		first, second := site.Bastion("run-1"), site.Bastion("run-2")
		only := func(h engine.Host) bool { return h.Name == "worker-0" }
		applyRun(first, func(r *rollout.Run) { r.Selected = only })
		h.Change(func(t *simulator.Traits) { t.NoReturn = false })
		h.Boot(simulator.V1)
		second.Watch = func(e event.Event) {
			if e.Type == event.HostDone && e.Host == "worker-0" {
				h.Cut()
			}
		}
		play := playOn("worker", engine.FinalizeTask)
		end := applyRun(second, successorOf(first), withSimulatedPlays(play, play), func(r *rollout.Run) { r.Plays[0].Selected = only })
		failOnErrors(t, checkEnd(end, engine.ExitUnreachable), checkUpdated(site.Host("worker-1")))
	})
}

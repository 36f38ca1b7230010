package rollout_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
	"holdfast/engine/simulator/laws"
)

// twoPools returns an inventory of two independent pools with two hosts each.
func twoPools() engine.Inventory {
	inv := engine.Inventory{Site: "test"}
	for _, pool := range []string{"x", "y"} {
		inv.Pools = append(inv.Pools, engine.Pool{Name: pool, OS: &engine.OS{Driver: "simulator", Commit: simulator.V2}})
		for _, n := range []string{"-0", "-1"} {
			inv.Hosts = append(inv.Hosts, engine.Host{Name: pool + n, Pool: pool})
		}
	}
	return inv
}

// setPools changes the OS of each pool in the inventory, and sets the paused
// pools.
func setPools(site *simulator.Site, x, y string, paused ...string) {
	site.Inventory.Pools = slices.Clone(site.Inventory.Pools)
	for i, os := range []string{x, y} {
		p := &site.Inventory.Pools[i]
		p.OS = &engine.OS{Driver: "simulator", Commit: os}
		p.Paused = slices.Contains(paused, p.Name)
	}
}

func continueOverIncomplete(r *rollout.Run) { r.OverIncomplete = true }

// withAskedPlays returns an option with the plays in b.Asked.
func withAskedPlays(b *simulator.Bastion) func(*rollout.Run) {
	return func(r *rollout.Run) {
		for _, p := range b.Asked.Plays {
			r.Plays = append(r.Plays, simulator.NewPlay(p))
		}
	}
}

// A pool that gets another OS in the inventory while it is paused does not get
// this OS on its hosts before the roll-out of the other pools is finished. This
// also holds if another run has continued that roll-out.
func TestNothingElseBeginsWherePoolsWerePaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(twoPools())
		oldOS := func(old bool) { site.Host("x-1").Change(func(t *simulator.Traits) { t.OldOS = old }) }
		oldOS(true)
		setPools(site, simulator.V2, simulator.V2, "y")
		b1, b2, b3, b4 := site.Bastion("run-1"), site.Bastion("run-2"), site.Bastion("run-3"), site.Bastion("run-4")
		failOnErrors(t, checkEnd(applyRun(b1), engine.ExitFailed, "x-1"))
		setPools(site, simulator.V2, simulator.V3, "y")
		failOnErrors(t, checkEnd(applyRun(b2, successorOf(b1)), engine.ExitFailed, "x-1"))
		setPools(site, simulator.V2, simulator.V3)
		failOnErrors(t, checkEnd(applyRun(b3, successorOf(b2)), engine.ExitRefused, "x-1 runs v1, and not v2 of run run-1"), checkUntouched(site.Host("y-0")), checkUntouched(site.Host("y-1")))
		oldOS(false)
		setPools(site, simulator.V2, simulator.V2)
		failOnErrors(t, checkEnd(applyRun(b4, successorOf(b2)), engine.ExitOK, "every host matches"), checkLaws(site))
	})
}

// If a roll-out is begun, replaced by another and then begun again, it counts
// as the last one: it may continue, and the other may not.
func TestARollOutThatIsBegunAgainIsTheLast(t *testing.T) {
	for _, next := range []string{simulator.V2, simulator.V3} {
		t.Run(next, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(twoPools())
				site.Host("x-0").Change(func(t *simulator.Traits) { t.OldOS = true })
				var dead []string
				run := func(id, os string, change func(*rollout.Run), paused ...string) event.RunEnd {
					setPools(site, os, os, paused...)
					b := site.Bastion(id)
					end := applyRun(b, runSerially, func(r *rollout.Run) {
						if r.Dead = slices.Clone(dead); change != nil {
							change(r)
						}
					})
					dead = append(dead, id)
					return end
				}
				failOnErrors(t, checkEnd(run("run-1", simulator.V2, nil, "y"), engine.ExitFailed, "x-0"))
				failOnErrors(t, checkEnd(run("run-2", simulator.V3, continueOverIncomplete, "x"), engine.ExitRefused, "paused"))
				failOnErrors(t, checkEnd(run("run-3", simulator.V2, continueOverIncomplete, "y"), engine.ExitFailed, "x-0"))
				site.Host("x-0").Change(func(t *simulator.Traits) { t.OldOS = false })
				end := run("run-4", next, nil)
				if next == simulator.V3 {
					failOnErrors(t, checkEnd(end, engine.ExitRefused, "of run run-3"), checkLaws(site))
					return
				}
				failOnErrors(t, checkEnd(end, engine.ExitOK, "every host matches"), checkLaws(site))
			})
		})
	}
}

// TestFailuresOfAPlayAreOfAllItsPools checks that max_fail_percentage of a play counts failed hosts
// of all plays and pools, reachable or not.
func TestFailuresOfAPlayAreOfAllItsPools(t *testing.T) {
	for name, fails := range map[string]func(*simulator.Traits){
		"held": func(t *simulator.Traits) { t.OldOS = true },
		"gone": func(t *simulator.Traits) { t.NoReturn = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inv := twoPools()
				inv.Pools[0].FailureBudget = engine.CountOrPercent{Count: 1, Set: true}
				inv.Pools[0].Timeouts, inv.Pools[0].MaxUnavailable = shortTimeouts(), engine.CountOrPercent{Count: 2, Set: true}
				site := newSite(inv)
				site.Host("x-0").Change(fails)
				b := site.Bastion("run-1")
				b.Asked = &laws.Asked{Plays: []engine.Play{
					{Name: "one", Hosts: "x", Tasks: []engine.Task{newTask("finalize")}},
					{Name: "two", Hosts: "x,y", Tasks: []engine.Task{newTask("upset")}, AnyErrorsFatal: true},
				}}
				end := applyRun(b, runSerially, withAskedPlays(b))
				failOnErrors(t, checkEnd(end, engine.ExitFailed), checkLaws(site), checkUpdated(site.Host("x-1")))
				for _, c := range b.Commands() {
					if c.Text == simulator.DisruptingCommand {
						t.Errorf("%s is disrupted by a play of which a host has failed", c.Host)
					}
				}
			})
		})
	}
}

// TestAPlayIsOverWhenNoRebootIsLeft checks that a host whose reboot after a
// failed action is still missing counts as failed at the end of its play, and
// that the next play does not begin.
func TestAPlayIsOverWhenNoRebootIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(noOS(twoPools()))
		for _, h := range site.Hosts() {
			h.Set("none-1")
			site.Want(h.Name, "reload-2")
		}
		site.Host("x-0").Change(func(t *simulator.Traits) { t.ActFails = true })
		site.Host("x-1").PowerOff()
		b := site.Bastion("run-1")
		b.Asked = &laws.Asked{Plays: []engine.Play{
			{Name: "one", Hosts: "x", Tasks: []engine.Task{newTask("config")}},
			{Name: "two", Hosts: "y", Tasks: []engine.Task{newTask("upset")}},
		}}
		end := applyRun(b, runSerially, withAskedPlays(b))
		failOnErrors(t, checkEnd(end, engine.ExitFailed, "x-0: write: reload app.service"), checkLaws(site))
		if c := b.Commands(); len(c) > 0 {
			t.Errorf("the play after it has begun: %v", c)
		}
	})
}

// TestUnfinished checks that another OS is refused while a roll-out is unfinished, on every
// bastion, unless the operator asks for it.
func TestUnfinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := simulator.Fleet(3, 2)
		inv.Pools[1].Paused = true
		site := newSite(inv)
		failOnErrors(t, checkEnd(applyRun(site.Bastion("run-1")), engine.ExitRefused))
		for i := range site.Inventory.Pools {
			site.Inventory.Pools[i].OS, site.Inventory.Pools[i].Paused = &engine.OS{Driver: "simulator", Commit: "v3"}, false
		}
		b := site.Bastion("run-2")
		refused := applyRun(b)
		failOnErrors(t, checkEnd(refused, engine.ExitRefused, "worker-0 runs v1, and not v2 of run run-1"), checkLaws(site))
		for _, h := range site.Hosts() {
			if st := h.State(); st.Staged != "" || st.Booted == "v3" {
				t.Errorf("%s: %+v", h.Name, st)
			}
		}
		for _, e := range b.Events() {
			want := []engine.UnfinishedHost{{Host: "worker-0", Reason: "runs v1, and not v2 of run run-1", Target: simulator.V2}, {Host: "worker-1", Reason: "runs v1, and not v2 of run run-1", Target: simulator.V2}}
			if e.Plan != nil && !slices.Equal(e.Plan.Unfinished, want) {
				t.Errorf("%+v", e.Plan.Unfinished)
			}
		}
		over := applyRun(site.Bastion("run-3"), func(r *rollout.Run) { r.OverIncomplete = true })
		failOnErrors(t, checkEnd(over, engine.ExitOK), checkLaws(site))
	})
}

// A finished roll-out does not refuse the next one, even if a host is lost
// after it.
func TestFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(0, 3))
		failOnErrors(t, checkEnd(applyRun(site.Bastion("run-1")), engine.ExitOK))
		site.Host("worker-2").PowerOff()
		site.Inventory.Pools[1].OS = &engine.OS{Driver: "simulator", Commit: "v3"}
		site.Inventory.Pools[1].MaxUnavailable = engine.CountOrPercent{Count: 2, Set: true}
		failOnErrors(t, checkEnd(applyRun(site.Bastion("run-2")), engine.ExitRefused, "worker-2 is not known to run v2"))
		known := func(r *rollout.Run) { r.CompletedOS = map[string]string{"worker": "v2"} }
		failOnErrors(t, checkEnd(applyRun(site.Bastion("run-3"), known), engine.ExitUnreachable, "worker-2 is unreachable"), checkLaws(site))
	})
}

// TestUnfinishedIsAskedOnce checks that an approved run does not stop because
// it later finds an unfinished roll-out: the clock of a bastion was ahead, a
// host became unavailable within the budget, or a host came back with the old
// OS.
func TestUnfinishedIsAskedOnce(t *testing.T) {
	remember := func(site *simulator.Site, run string) {
		for _, h := range site.Hosts() {
			h.Remember(simulator.Remembered{Rollout: &engine.Rollout{Run: run, Targets: map[string]string{"worker": simulator.V1}}})
		}
	}
	tolerant := func(p *engine.Pool) {
		p.FailureBudget = engine.CountOrPercent{Count: 2, Set: true}
		p.MaxUnavailable = engine.CountOrPercent{Count: 2, Set: true}
	}
	t.Run("another clock was ahead", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			site := newSite(simulator.Fleet(0, 3))
			remember(site, "20000101-130000-aa11")
			first := site.Bastion("20000101-003000-bb22")
			first.Watch = func(e event.Event) {
				if e.Type == event.HostDone && e.Host == "worker-1" {
					first.Kill()
				}
			}
			applyRun(first)
			failOnErrors(t, checkUpdated(site.Host("worker-0")), checkUntouched(site.Host("worker-2")))
			failOnErrors(t, checkEnd(applyRun(site.Bastion("20000101-004500-cc33"), successorOf(first)), engine.ExitOK), checkConverged(site))
		})
	})
	t.Run("a host is lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			inv := workerFleet(4, tolerant)
			for i := range inv.Hosts { // worker-0 goes alone, so that no other host records this run
				inv.Hosts[i].Zone = fmt.Sprint(min(i, 1))
			}
			site := newSite(inv)
			remember(site, "run-0")
			site.Host("worker-0").Change(func(t *simulator.Traits) { t.NoReturn = true })
			failOnErrors(t, checkEnd(applyRun(site.Bastion("run-1")), engine.ExitFailed, "worker-0 is unreachable"), checkLaws(site),
				checkUpdated(site.Host("worker-1")), checkUpdated(site.Host("worker-2")), checkUpdated(site.Host("worker-3")))
			if r := site.Host("worker-1").Remembers().Rollout; r.Run != "run-1" || r.Targets["worker"] != simulator.V2 {
				t.Errorf("worker-1 remembers %+v", r)
			}
		})
	})
	t.Run("a host comes back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			site := newSite(workerFleet(4, tolerant))
			for _, h := range site.Hosts() {
				h.Remember(simulator.Remembered{Rollout: &engine.Rollout{Run: "run-0", Targets: map[string]string{"worker": "v0"}}})
				if h.Name != "worker-3" {
					h.Boot("v0")
				}
			}
			site.Host("worker-3").PowerOff()
			b := site.Bastion("run-1")
			b.Watch = func(e event.Event) {
				if e.Type == event.StepStarted && e.Step == "stage" && e.Host == "worker-0" {
					site.After(time.Second, site.Host("worker-3").PowerOn)
				}
			}
			end := applyRun(b, func(r *rollout.Run) { r.CompletedOS = map[string]string{"worker": "v0"} })
			failOnErrors(t, checkLaws(site), checkUpdated(site.Host("worker-1")), checkUpdated(site.Host("worker-2")))
			if len(end.Verdict.Unfinished) > 0 {
				t.Errorf("%+v", end)
			}
		})
	})
}

// A run stops if somebody else begins a roll-out of another OS after the
// approval was requested.
func TestUnfinishedSinceApproved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(0, 3))
		end := applyRun(site.Bastion("run-1"), func(r *rollout.Run) {
			r.Approve = func(context.Context, engine.Plan) error {
				time.Sleep(time.Hour)
				h := site.Host("worker-2")
				h.Boot("v3")
				h.Remember(simulator.Remembered{Rollout: &engine.Rollout{Run: "run-2", Targets: map[string]string{"worker": "v3"}}})
				return nil
			}
		})
		failOnErrors(t, checkEnd(end, engine.ExitRefused, "worker-0 runs v1, and not v3 of run run-2"), checkUntouched(site.Host("worker-0")), checkUntouched(site.Host("worker-1")))
	})
}

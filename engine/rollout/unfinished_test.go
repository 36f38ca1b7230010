package rollout_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
	"holdfast/engine/simulator/laws"
)

// twoPools returns two independent pools with two hosts each.
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

// setPools changes the OS of each pool in the inventory, and the paused pools.
func setPools(site *simulator.Site, x, y string, paused ...string) {
	site.Inventory.Pools = slices.Clone(site.Inventory.Pools)
	for i, os := range []string{x, y} {
		p := &site.Inventory.Pools[i]
		p.OS = &engine.OS{Driver: "simulator", Commit: os}
		p.Paused = slices.Contains(paused, p.Name)
	}
}

func continueOverIncomplete(r *rollout.Run) { r.OverIncomplete = true }

// withAskedPlays returns an option that sets the plays of the bastion's Asked.
func withAskedPlays(b *simulator.Bastion) func(*rollout.Run) {
	return func(r *rollout.Run) {
		for _, p := range b.Asked.Plays {
			r.Plays = append(r.Plays, simulator.NewPlay(p))
		}
	}
}

// A pool that is given another OS while it is paused does not get that before the
// roll-out is finished that the others are in the middle of, also if a run has gone
// on with them meanwhile.
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

// A roll-out that was begun once before, and left for another, is the last one
// when it is begun again: it goes on, and the other does not.
func TestARollOutThatIsBegunAgainIsTheLast(t *testing.T) {
	for _, next := range []string{simulator.V2, simulator.V3} {
		t.Run(next, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(twoPools())
				site.Host("x-0").Change(func(t *simulator.Traits) { t.OldOS = true })
				var dead []string
				run := func(id, os string, change func(*rollout.Run), paused ...string) engine.RunEnd {
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
					{Name: "two", Hosts: "x,y", Tasks: []engine.Task{newTask("upset")}, AnyFatal: true},
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

// TestAPlayIsOverWhenNoRebootIsLeft checks that a host that still needs a reboot after a failed
// action counts as failed at the end of its play, and the next play does not begin.
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

package rollout_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// workerFleet returns an inventory of workers only.
func workerFleet(n int, say func(*engine.Pool)) engine.Inventory {
	inv := simulator.Fleet(0, n)
	say(&inv.Pools[1])
	return inv
}

// rebootMinutes returns the minute of the run in which each host was ordered to reboot.
func rebootMinutes(b *simulator.Bastion) map[string]int {
	at := map[string]int{}
	for _, e := range b.Events() {
		if e.Type == engine.StepStarted && e.Step == "reboot" {
			at[e.Host] = int(e.Time.Sub(b.Events()[0].Time).Minutes())
		}
	}
	return at
}

// rebootedHosts returns the hosts that were ordered to reboot, in order.
func rebootedHosts(b *simulator.Bastion) []string {
	var names []string
	for _, e := range b.Events() {
		if e.Type == engine.StepStarted && e.Step == "reboot" {
			names = append(names, e.Host)
		}
	}
	return names
}

// TestCanarySoaks checks that canaries begin alone, run for their soak, and the others follow.
func TestCanarySoaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(5, func(p *engine.Pool) {
			p.MaxUnavailable = engine.CountOrPercent{Count: 4, Set: true}
			p.Canary = &engine.Canary{Hosts: engine.CountOrPercent{Count: 1}, Soak: engine.Duration(time.Hour)}
		}))
		b := site.Bastion("run-1")
		end := applyRun(b)
		failOnErrors(t, checkEnd(end, engine.ExitOK), checkConverged(site))
		at := rebootMinutes(b)
		if at["worker-0"] > 5 {
			t.Errorf("the canary went after %d minutes", at["worker-0"])
		}
		for _, h := range []string{"worker-1", "worker-2", "worker-3", "worker-4"} {
			if at[h] < 61 || at[h] > 70 {
				t.Errorf("%s went after %d minutes, and the canary has to run for 60", h, at[h])
			}
		}
		for _, e := range b.Events() {
			if (e.Type == engine.BatchStarted || e.Type == engine.BatchEnded) && slices.Equal(e.Canaries, []string{"worker"}) != (e.Batch == 1) {
				t.Errorf("batch %d is canary of %q", e.Batch, e.Canaries)
			}
			if e.Step == "soak" && e.Type == engine.StepStarted && (e.Until.Sub(e.Time) < 50*time.Minute || e.Until.Sub(e.Time) > time.Hour) {
				t.Errorf("at %s it is to soak until %s", e.Time, e.Until)
			}
		}
	})
}

// A run that is killed while its canary soaks leaves it to the next to wait for
// the rest of that time: the host knows when it was updated.
func TestCanarySoaksOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(3, func(p *engine.Pool) {
			p.Canary = &engine.Canary{Hosts: engine.CountOrPercent{Count: 1}, Soak: engine.Duration(time.Hour)}
		}))
		first := site.Bastion("run-1")
		first.Watch = func(e engine.Event) {
			if e.Type == engine.StepStarted && e.Step == "soak" {
				first.Kill()
			}
		}
		applyRun(first)
		time.Sleep(40 * time.Minute)
		second := site.Bastion("run-2")
		failOnErrors(t, checkEnd(applyRun(second, successorOf(first)), engine.ExitOK), checkConverged(site))
		if at := rebootMinutes(second)["worker-1"]; at < 15 || at > 22 {
			t.Errorf("worker-1 went after %d minutes, and 20 of 60 were left", at)
		}
	})
}

// A canary after which a gate fails is the last host that is touched, in this
// run and in the next, as long as the gate fails.
func TestCanaryFailsItsGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(4, func(p *engine.Pool) {
			p.MaxUnavailable = engine.CountOrPercent{Count: 3, Set: true}
			p.FailureBudget = engine.CountOrPercent{Count: 3, Set: true}
			p.Canary = &engine.Canary{Hosts: engine.CountOrPercent{Count: 1}}
			p.Gates = []engine.Gate{{Name: "ceph", Command: "false", When: []engine.GateWhen{engine.AfterBatch}}}
		}))
		for run := range 2 {
			b := site.Bastion(fmt.Sprint("run-", run))
			end := applyRun(b)
			failOnErrors(t, checkEnd(end, engine.ExitFailed, "gate ceph"), checkLaws(site), checkUpdated(site.Host("worker-0")),
				checkUntouched(site.Host("worker-1")), checkUntouched(site.Host("worker-2")), checkUntouched(site.Host("worker-3")))
		}
	})
}

// A canary that fails stops the run, however many hosts may fail otherwise.
func TestCanaryFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(4, func(p *engine.Pool) {
			p.MaxUnavailable = engine.CountOrPercent{Count: 3, Set: true}
			p.FailureBudget = engine.CountOrPercent{Count: 3, Set: true}
			p.Canary = &engine.Canary{Hosts: engine.CountOrPercent{Count: 1}}
		}))
		site.Host("worker-0").Change(func(t *simulator.Traits) { t.NoReturn = true })
		failOnErrors(t, checkEnd(applyRun(site.Bastion("run-1")), engine.ExitFailed, "worker-0"), checkLaws(site),
			checkUntouched(site.Host("worker-1")), checkUntouched(site.Host("worker-2")), checkUntouched(site.Host("worker-3")))
	})
}

// Outside of a window everything is staged and nothing disrupted. In it, no
// batch begins that would not end in it; the next run goes on.
func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // bubbles begin at midnight UTC
		site := newSite(workerFleet(8, func(p *engine.Pool) {
			p.Windows = []engine.Window{{From: 60, To: 70}}
			p.BatchTakes = engine.Duration(6 * time.Minute)
		}))
		first := site.Bastion("run-1")
		failOnErrors(t, checkEnd(applyRun(first), engine.ExitRefused, "window", "01:00"), checkLaws(site))
		for _, h := range site.Hosts() {
			if st := h.State(); st.Staged != simulator.V2 || len(st.Reboots) > 0 {
				t.Errorf("%s is %+v", h.Name, st)
			}
		}
		time.Sleep(time.Until(time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)))
		second := site.Bastion("run-2")
		failOnErrors(t, checkEnd(applyRun(second), engine.ExitRefused, "window"), checkLaws(site))
		want := 0
		for h, at := range rebootMinutes(second) {
			if want++; at > 5 {
				t.Errorf("%s went after %d minutes, and after 4 its batch does not fit into the window", h, at)
			}
		}
		if want == 0 || want == 8 {
			t.Errorf("%d hosts went within the window", want)
		}
	})
}

// Hosts that fail do not stop the others as long as that is within the budget.
func TestFailureBudget(t *testing.T) {
	for _, c := range []struct {
		budget int
		fails  []string
		best   bool
		gone   int
	}{
		{0, []string{"worker-1"}, false, 2},
		{1, []string{"worker-1"}, false, 8},
		{1, []string{"worker-1", "worker-4"}, false, 5},
		{2, []string{"worker-1", "worker-4"}, false, 8},
		{0, []string{"worker-1", "worker-4"}, true, 8},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(workerFleet(8, func(p *engine.Pool) {
					p.MaxUnavailable = engine.CountOrPercent{Count: 1, Set: true}
					p.FailureBudget = engine.CountOrPercent{Count: c.budget, Set: true}
				}))
				site.Inventory.Pools[1].MaxUnavailable.Count = 1 + len(c.fails)
				site.Inventory.Pools[1].Order = engine.Sorted
				for _, h := range c.fails {
					site.Host(h).Change(func(t *simulator.Traits) { t.Missing = []string{"sshd.service"} })
				}
				b := site.Bastion("run-1")
				end := applyRun(b, func(r *rollout.Run) {
					r.BestEffort = c.best
					r.Inventory.Pools = slices.Clone(r.Inventory.Pools)
				})
				failOnErrors(t, checkEnd(end, engine.ExitFailed), checkLaws(site))
				if !slices.Equal(end.Failed, c.fails[:len(end.Failed)]) || len(end.Failed) == 0 {
					t.Errorf("failed: %v", end.Failed)
				}
				if n := len(rebootedHosts(b)); n < c.gone || n > c.gone+len(c.fails) {
					t.Errorf("%d hosts went, not about %d: %v", n, c.gone, rebootedHosts(b))
				}
				for _, h := range end.Failed {
					failOnErrors(t, checkHeldFor(site.Host(h), "run-1", "sshd.service"))
				}
			})
		})
	}
}

// TestRetriedFirst checks that the next run retries failed hosts first, held or not.
func TestRetriedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(4, func(*engine.Pool) {}))
		site.Host("worker-2").Change(func(t *simulator.Traits) { t.DiskFull = true })
		failOnErrors(t, checkEnd(applyRun(site.Bastion("run-1")), engine.ExitFailed, "worker-2"))
		site.Host("worker-2").Change(func(t *simulator.Traits) { t.DiskFull = false })
		b := site.Bastion("run-2")
		failOnErrors(t, checkEnd(applyRun(b, func(r *rollout.Run) { r.Retry = []string{"worker-2"} }), engine.ExitOK), checkConverged(site))
		if got := rebootedHosts(b); got[0] != "worker-2" {
			t.Errorf("they went as %v", got)
		}
	})
}

// A paused pool, or host, is not touched, and the run is not complete.
func TestPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := simulator.Fleet(3, 2)
		inv.Pools[1].Paused = true
		site := newSite(inv)
		end := applyRun(site.Bastion("run-1"))
		failOnErrors(t, checkEnd(end, engine.ExitRefused, "worker-[0-1] are paused"), checkLaws(site), checkUpdated(site.Host("etcd-0")))
		for _, h := range []string{"worker-0", "worker-1"} {
			if st := site.Host(h).State(); st.Staged != "" {
				t.Errorf("%s is staged", h)
			}
			failOnErrors(t, checkUntouched(site.Host(h)))
		}
		if end.Complete || len(end.Pools) != 2 || !end.Pools[0].Complete || end.Pools[1].Counts[engine.PausedState] != 2 {
			t.Errorf("%+v", end.Pools)
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

// A finished roll-out is no reason to refuse the next, and neither is a host
// that got lost after it.
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

// The operator is asked before each batch; a no ends the run at a safe point.
func TestStepByStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(0, 3))
		var asked []string
		end := applyRun(site.Bastion("run-1"), func(r *rollout.Run) {
			r.Step = func(_ context.Context, p engine.Plan) error {
				asked = append(asked, strings.Join(p.Batches[0].Hosts, " "))
				if len(asked) == 2 {
					return rollout.ErrNoStep
				}
				return nil
			}
		})
		failOnErrors(t, checkEnd(end, engine.ExitStopped), checkLaws(site), checkUpdated(site.Host("worker-0")), checkUntouched(site.Host("worker-1")), checkUntouched(site.Host("worker-2")))
		if !slices.Equal(asked, []string{"worker-0", "worker-1"}) {
			t.Errorf("asked about %q", asked)
		}
	})
}

// The operator is asked before a reboot that stands in for an action, too.
func TestStepByStepBeforeAFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(noOS(simulator.Fleet(0, 1)))
		h := site.Host("worker-0")
		h.Set("none-1")
		site.Want("worker-0", "restart-2")
		h.Change(func(t *simulator.Traits) { t.ActFails = true })
		asked := 0
		end := applyRun(site.Bastion("run-1"), func(r *rollout.Run) {
			r.Step = func(context.Context, engine.Plan) error { asked++; return nil }
		})
		failOnErrors(t, checkEnd(end, engine.ExitOK), checkLaws(site))
		if n := len(h.State().Reboots); asked != 2 || n != 1 {
			t.Errorf("asked %d times, rebooted %d times", asked, n)
		}
	})
}

// The gates of a run are asked once, before anything is staged.
func TestGatesBeforeRun(t *testing.T) {
	for _, command := range []string{"true", "false"} {
		t.Run(command, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(workerFleet(2, func(p *engine.Pool) {
					p.Gates = []engine.Gate{{Name: "ready", Command: command, When: []engine.GateWhen{engine.BeforeRun}, Timeout: engine.Duration(time.Minute)}}
				}))
				b := site.Bastion("run-1")
				end := applyRun(b)
				if command == "true" {
					failOnErrors(t, checkEnd(end, engine.ExitOK), checkConverged(site))
					if n := len(b.Commands()); n != 1+4 { // drained and undrained twice
						t.Errorf("%d commands: %v", n, b.Commands())
					}
					return
				}
				failOnErrors(t, checkEnd(end, engine.ExitFailed, "gate ready"), checkUntouched(site.Host("worker-0")), checkUntouched(site.Host("worker-1")))
				if st := site.Host("worker-0").State(); st.Staged != "" {
					t.Errorf("worker-0 is staged: %+v", st)
				}
			})
		})
	}
}

// The plays of a playbook follow each other; one that stages disrupts nothing.
func TestPlaysFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := simulator.Fleet(3, 4)
		inv.Pools[1].MaxUnavailable = engine.CountOrPercent{Count: 4, Set: true}
		site := newSite(inv)
		b := site.Bastion("run-1")
		pool := func(name string) func(engine.Host) bool { return func(h engine.Host) bool { return h.Pool == name } }
		end := applyRun(b, func(r *rollout.Run) {
			r.Plays = []rollout.Play{
				{Play: engine.Play{Name: "members"}, Modules: r.Modules, Selected: pool("etcd")},
				{Play: engine.Play{Name: "workers", Serial: []engine.CountOrPercent{{Count: 1}, {Count: 2}}}, Modules: r.Modules, Selected: pool("worker")},
			}
		})
		failOnErrors(t, checkEnd(end, engine.ExitOK), checkConverged(site))
		var sizes []int
		var plays []string
		for _, e := range b.Events() {
			switch e.Type {
			case engine.BatchStarted:
				sizes = append(sizes, len(strings.Split(e.Message, ", ")))
			case engine.Planned:
				plays = append(plays, e.Plan.Play)
			}
		}
		if !slices.Equal(sizes, []int{1, 1, 1, 1, 2, 1}) || !slices.Equal(plays, []string{"members", "workers"}) {
			t.Errorf("batches of %v, plays %q", sizes, plays)
		}
	})
}

// TestFailedComesBeforeUnreachable checks that a failed host that is unreachable counts as failed.
func TestFailedComesBeforeUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(3, func(p *engine.Pool) {
			p.MaxUnavailable = engine.CountOrPercent{Count: 2, Set: true}
			p.FailureBudget = engine.CountOrPercent{Count: 1, Set: true}
		}))
		site.Host("worker-0").Change(func(t *simulator.Traits) { t.NoReturn = true })
		end := applyRun(site.Bastion("run-1"))
		failOnErrors(t, checkEnd(end, engine.ExitFailed, "worker-0 is unreachable"), checkLaws(site), checkUpdated(site.Host("worker-1")), checkUpdated(site.Host("worker-2")))
	})
}

// TestGateAfterCanariesAsksThem checks that a gate after canaries is asked about the canaries again
// before others follow, and not about the others.
func TestGateAfterCanariesAsksThem(t *testing.T) {
	for _, when := range [][]engine.GateWhen{{engine.AfterBatch}, {engine.BeforeBatch, engine.AfterBatch}} {
		synctest.Test(t, func(t *testing.T) {
			site := newSite(workerFleet(3, func(p *engine.Pool) {
				p.Canary = &engine.Canary{Hosts: engine.CountOrPercent{Count: 1}, Soak: engine.Duration(time.Minute)}
				p.Gates = []engine.Gate{{Name: "well", HTTP: &engine.HTTPGate{URL: "http://{host}/version", Match: "v"}, When: when}}
			}))
			site.Host("worker-0").Boot(simulator.V2)
			b := site.Bastion("run-1")
			var mu sync.Mutex
			var first []string
			went, runsNew := false, map[string]bool{"worker-0": true}
			b.Watch = func(e engine.Event) {
				mu.Lock()
				defer mu.Unlock()
				went = went || e.Type == engine.BatchStarted
				if e.Type == engine.StepEnded && e.Step == "wait for boot" {
					runsNew[e.Host] = true
				}
			}
			b.Answer = func(url string) (int, string) {
				host := strings.Split(url, "/")[2]
				mu.Lock()
				defer mu.Unlock()
				if !went {
					first = append(first, host)
				}
				if len(when) == 1 && !runsNew[host] {
					return 200, "old"
				}
				return 200, "v2"
			}
			failOnErrors(t, checkEnd(applyRun(b), engine.ExitOK))
			slices.Sort(first)
			want := []string{"worker-0"}
			if len(when) == 2 {
				want = append(want, "worker-1")
			}
			if !slices.Equal(first, want) {
				t.Errorf("%v: before the first host goes, asked of %v, not %v", when, first, want)
			}
		})
	}
}

// TestUnfinishedIsAskedOnce checks that a run does not stop halfway because a roll-out is
// unfinished, if it was allowed to start: the clock of a bastion was ahead, a host became
// unavailable within the budget, or came back with the old OS.
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
			remember(site, "20261120-130000-aa11")
			first := site.Bastion("20261120-123000-bb22")
			first.Watch = func(e engine.Event) {
				if e.Type == engine.HostDone && e.Host == "worker-1" {
					first.Kill()
				}
			}
			applyRun(first)
			failOnErrors(t, checkUpdated(site.Host("worker-0")), checkUntouched(site.Host("worker-2")))
			failOnErrors(t, checkEnd(applyRun(site.Bastion("20261120-124500-cc33"), successorOf(first)), engine.ExitOK), checkConverged(site))
		})
	})
	t.Run("a host is lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			inv := workerFleet(4, tolerant)
			for i := range inv.Hosts { // worker-0 goes alone, so that no other host knows of this run
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
			b.Watch = func(e engine.Event) {
				if e.Type == engine.StepStarted && e.Step == "stage" && e.Host == "worker-0" {
					site.After(time.Second, site.Host("worker-3").PowerOn)
				}
			}
			end := applyRun(b, func(r *rollout.Run) { r.CompletedOS = map[string]string{"worker": "v0"} })
			failOnErrors(t, checkLaws(site), checkUpdated(site.Host("worker-1")), checkUpdated(site.Host("worker-2")))
			if end.Cause.Kind == engine.UnfinishedEnd {
				t.Errorf("%+v", end)
			}
		})
	})
}

// Another OS that somebody begins while the operator thinks is not mixed with
// the one that was approved.
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

// A canary that is said to have been updated in the future soaks once, from the
// beginning of the run.
func TestCanaryOfTheFutureSoaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(3, func(p *engine.Pool) {
			p.Canary = &engine.Canary{Hosts: engine.CountOrPercent{Count: 1}, Soak: engine.Duration(10 * time.Minute)}
		}))
		site.Host("worker-0").Boot(simulator.V2)
		site.Host("worker-0").Remember(simulator.Remembered{Updated: time.Now().Add(365 * 24 * time.Hour)})
		b := site.Bastion("run-1")
		failOnErrors(t, checkEnd(applyRun(b), engine.ExitOK))
		if at := rebootMinutes(b)["worker-1"]; at < 10 || at > 12 {
			t.Errorf("worker-1 went after %d minutes", at)
		}
	})
}

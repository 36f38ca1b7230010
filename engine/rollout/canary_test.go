package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/simulator"
)

// TestCanarySoaks checks that canaries begin alone, that they run for their
// soak, and that the others follow.
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
			if (e.Type == event.BatchStarted || e.Type == event.BatchEnded) && slices.Equal(e.Canaries, []string{"worker"}) != (e.Batch == 1) {
				t.Errorf("batch %d is canary of %q", e.Batch, e.Canaries)
			}
			if e.Step == "soak" && e.Type == event.StepStarted && (e.Until.Sub(e.Time) < 50*time.Minute || e.Until.Sub(e.Time) > time.Hour) {
				t.Errorf("at %s it is to soak until %s", e.Time, e.Until)
			}
		}
	})
}

// If a run is killed while its canary soaks, the next run waits only for the
// rest of the soak, because the host has recorded when it was updated.
func TestCanarySoaksOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(3, func(p *engine.Pool) {
			p.Canary = &engine.Canary{Hosts: engine.CountOrPercent{Count: 1}, Soak: engine.Duration(time.Hour)}
		}))
		first := site.Bastion("run-1")
		first.Watch = func(e event.Event) {
			if e.Type == event.StepStarted && e.Step == "soak" {
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

// A canary after which a gate fails is the last host that this run touches, and
// the next run touches none as long as the gate fails.
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

// A failed canary stops the run, whatever the failure budget is.
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

// TestGateAfterCanariesAsksThem checks that a gate after canaries is asked
// about the canaries again before other hosts follow, and not about these
// hosts.
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
			b.Watch = func(e event.Event) {
				mu.Lock()
				defer mu.Unlock()
				went = went || e.Type == event.BatchStarted
				if e.Type == event.StepEnded && e.Step == "wait for boot" {
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

// A canary whose recorded time of update is in the future soaks once, from the
// start of the run.
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

// TestCanarySoaksAfterItsClockIsSet: the clock of the canary is years behind when it is released after its reboot, and right afterwards. A
// later run waits for the rest of its soak, not for less.
func TestCanarySoaksAfterItsClockIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(3, func(p *engine.Pool) {
			p.Canary = &engine.Canary{Hosts: engine.CountOrPercent{Count: 1}, Soak: engine.Duration(time.Hour)}
		}))
		canary := site.Host("worker-0")
		canary.Change(func(t *simulator.Traits) { t.Skew = -3 * 365 * 24 * time.Hour })
		first := site.Bastion("run-1")
		first.Watch = func(e event.Event) {
			if e.Type == event.StepStarted && e.Step == "soak" {
				first.Kill()
			}
		}
		applyRun(first)
		canary.Change(func(t *simulator.Traits) { t.Skew = 0 })
		time.Sleep(10 * time.Minute)
		second := site.Bastion("run-2")
		failOnErrors(t, checkEnd(applyRun(second), engine.ExitOK), checkConverged(site))
		if at := rebootMinutes(second)["worker-1"]; at < 45 || at > 52 {
			t.Errorf("worker-1 went after %d minutes of the second run, and the canary had to run for about 50 more", at)
		}
	})
}

// TestHeldHostsDoNotWaitForOneThatFails: a run is killed in a batch of four hosts, and another OS follows. One of the four fails each
// time, as the only canary. It keeps the other three from their work once, and not in each run.
func TestHeldHostsDoNotWaitForOneThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(5, func(p *engine.Pool) {
			p.MaxUnavailable = engine.CountOrPercent{Count: 4, Set: true}
			p.Canary = &engine.Canary{Hosts: engine.CountOrPercent{Count: 1}}
		}))
		first, drained := site.Bastion("run-1"), 0
		first.Watch = func(e event.Event) {
			if e.Type == event.StepEnded && e.Step == "drain" && e.Host != "worker-0" {
				if drained++; drained == 4 {
					first.Kill()
				}
			}
		}
		applyRun(first)
		if drained != 4 {
			t.Fatalf("%d hosts are drained", drained)
		}
		time.Sleep(10 * time.Minute)
		site.Host("worker-1").Change(func(t *simulator.Traits) { t.OldOS = true })
		site.Inventory.Pools[1].OS = &engine.OS{Driver: "simulator", Commit: simulator.V3}
		second, third := site.Bastion("run-2"), site.Bastion("run-3")
		failOnErrors(t, checkEnd(applyRun(second, successorOf(first), continueOverIncomplete), engine.ExitFailed, "worker-1"))
		time.Sleep(10 * time.Minute)
		failOnErrors(t, checkEnd(applyRun(third, successorOf(first, second), continueOverIncomplete), engine.ExitFailed, "worker-1"), checkLaws(site))
		for _, name := range []string{"worker-2", "worker-3", "worker-4"} {
			if err := checkMatching(site.Host(name)); err != nil {
				t.Errorf("%v\n%s", err, runTranscript(third))
			}
		}
	})
}

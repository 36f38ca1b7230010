package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// playOn returns a play with these tasks on the hosts of a pool.
func playOn(pool string, tasks ...string) engine.Play {
	p := engine.Play{Name: "on " + pool, Hosts: pool}
	for _, module := range tasks {
		p.Tasks = append(p.Tasks, engine.Task{Name: module, Module: module})
	}
	return p
}

func withFatalErrors(p engine.Play) engine.Play {
	p.AnyErrorsFatal = true
	return p
}

// withSimulatedPlays returns an option with plays whose tasks the simulator carries out.
func withSimulatedPlays(plays ...engine.Play) func(*rollout.Run) {
	return func(r *rollout.Run) {
		for _, p := range plays {
			r.Plays = append(r.Plays, simulator.NewPlay(p))
		}
	}
}

// TestSpentBudgetEndsAPlaybook: hosts of a play were rolled back by an earlier run, or are not understood, so the failure budget of
// the play is exceeded before its first batch. No later play begins, whether or not other hosts of the play have work.
func TestSpentBudgetEndsAPlaybook(t *testing.T) {
	one, two := withFatalErrors(playOn("x", engine.FinalizeTask)), playOn("y", engine.FinalizeTask)
	rollBack := func(t *testing.T, site *simulator.Site) func(*rollout.Run) {
		t.Helper()
		site.Host("x-0").Change(failNewOS)
		b := site.Bastion("run-1")
		end := applyRun(b, withSimulatedPlays(one, two))
		failOnErrors(t, checkEnd(end, engine.ExitFailed, "x-0"), checkNotBegun(end, two.Name))
		return successorOf(b)
	}
	obscure := func(_ *testing.T, site *simulator.Site) func(*rollout.Run) {
		site.Host("x-0").Change(func(t *simulator.Traits) { t.Unclear = "two deployments are booted" })
		return func(*rollout.Run) {}
	}
	for name, c := range map[string]struct {
		prepares func(*testing.T, *simulator.Site) func(*rollout.Run)
		one      engine.Play
		done     bool // the other host of the first play is updated already
		begun    bool // the second play begins
	}{
		"rolled back":                                    {rollBack, one, false, false},
		"rolled back, and the other is done":             {rollBack, one, true, false},
		"unclear":                                        {obscure, one, false, false},
		"unclear, and the other is done":                 {obscure, one, true, false},
		"unclear, and the pool has the budget":           {obscure, playOn("x", engine.FinalizeTask), false, false},
		"unclear, and the budget of the pool stops none": {obscure, playOn("x", engine.StageTask), false, true},
		"unclear, in a fatal play that stages":           {obscure, withFatalErrors(playOn("x", engine.StageTask)), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inv := twoPools()
				for i := range inv.Pools {
					inv.Pools[i].OnFailure, inv.Pools[i].Order = engine.RollbackFailed, engine.Sorted
				}
				site := newSite(inv)
				knowing := c.prepares(t, site)
				if c.done {
					site.Host("x-1").Boot(simulator.V2)
				}
				b := site.Bastion("run-2")
				end := applyRun(b, knowing, withSimulatedPlays(c.one, two))
				failOnErrors(t, checkEnd(end, engine.ExitFailed, "x-0"), checkLaws(site))
				if c.begun {
					failOnErrors(t, checkNotBegun(end), checkUpdated(site.Host("y-0")), checkUpdated(site.Host("y-1")))
					return
				}
				failOnErrors(t, checkEnd(end, engine.ExitFailed, "no later play begins"), checkNotBegun(end, two.Name), checkUntouched(site.Host("y-0")), checkUntouched(site.Host("y-1")))
			})
		})
	}
}

// TestLeftHostOfALaterPlay: a run was killed in its second play. The next run ends in its first play, so it does not take up the
// host that the dead run holds. Its failure names that host, and the limit with which the same playbook recovers it.
func TestLeftHostOfALaterPlay(t *testing.T) {
	one, two := withFatalErrors(playOn("x", engine.FinalizeTask)), playOn("y", engine.FinalizeTask)
	synctest.Test(t, func(t *testing.T) {
		site := newSite(twoPools())
		first, second, third := site.Bastion("run-1"), site.Bastion("run-2"), site.Bastion("run-3")
		first.Watch = func(e event.Event) {
			if e.Type == event.StepStarted && e.Host == "y-0" && e.Step == "reboot" {
				first.Kill()
			}
		}
		applyRun(first, withSimulatedPlays(one, two))
		site.Host("x-0").Change(func(t *simulator.Traits) { t.Unclear = "two deployments are booted" })
		end := applyRun(second, successorOf(first), withSimulatedPlays(one, two))
		failOnErrors(t, checkEnd(end, engine.ExitFailed, "no later play begins"), checkNotBegun(end, two.Name), checkHeldFor(site.Host("y-0"), "run-1"))
		if f := end.Verdict.Failures[0]; !strings.Contains(f.Hint, "y-0") || !strings.Contains(f.Hint, "--limit y-0") || strings.Contains(f.Hint, "y-1") {
			t.Errorf("hint: %s", f.Hint)
		}
		end = applyRun(third, successorOf(first, second), withSimulatedPlays(one, two), func(r *rollout.Run) {
			for i := range r.Plays {
				of := r.Plays[i].Selected
				r.Plays[i].Selected = func(h engine.Host) bool { return h.Name == "y-0" && of(h) }
			}
		})
		failOnErrors(t, checkEnd(end, engine.ExitOK), checkUpdated(site.Host("y-0")), checkUntouched(site.Host("y-1")), checkLaws(site))
	})
}

// TestAdoptedHostIsNotLeft: the next run adopts the host that a dead run holds, and the host fails. Its failure does not tell that an
// earlier run still holds it, although a play that did not begin has the host, too.
func TestAdoptedHostIsNotLeft(t *testing.T) {
	one, two := withFatalErrors(playOn("y", engine.FinalizeTask)), playOn("y", engine.ConfigTask)
	synctest.Test(t, func(t *testing.T) {
		site := newSite(twoPools())
		first, second := site.Bastion("run-1"), site.Bastion("run-2")
		first.Watch = func(e event.Event) {
			if e.Type == event.StepStarted && e.Host == "y-0" && e.Step == "reboot" {
				first.Kill()
			}
		}
		applyRun(first, withSimulatedPlays(one, two))
		site.Host("y-0").Change(failNewOS)
		end := applyRun(second, successorOf(first), withSimulatedPlays(one, two))
		failOnErrors(t, checkEnd(end, engine.ExitFailed, "y-0"), checkNotBegun(end, two.Name), checkHeldFor(site.Host("y-0"), "run-2"))
		for _, f := range end.Verdict.Failures {
			if strings.Contains(f.Hint, "earlier runs") {
				t.Errorf("hint: %s", f.Hint)
			}
		}
	})
}

// TestPlannedHostsOfPlays: the event of a plan names the hosts that its play is to finish. A play that only stages finishes none.
func TestPlannedHostsOfPlays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSite(twoPools()).Bastion("run-1")
		var planned [][]string
		b.Watch = func(e event.Event) {
			if e.Type == event.Planned {
				planned = append(planned, e.Hosts)
			}
		}
		failOnErrors(t, checkEnd(applyRun(b, withSimulatedPlays(playOn("x", engine.StageTask), playOn("x", engine.FinalizeTask))), engine.ExitOK))
		if len(planned) != 2 || len(planned[0]) > 0 || !slices.Equal(planned[1], []string{"x-0", "x-1"}) {
			t.Errorf("planned: %v", planned)
		}
	})
}

// TestPlanTellsOfPlaysThatDoNotBegin: the plan of a playbook tells after which play the run would end.
func TestPlanTellsOfPlaysThatDoNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(twoPools())
		site.Host("y-0").Change(func(t *simulator.Traits) { t.Unclear = "two deployments are booted" })
		r := site.Bastion("run-1").Run()
		withSimulatedPlays(playOn("x", engine.FinalizeTask), playOn("y", engine.FinalizeTask), withFatalErrors(playOn("y", engine.ConfigTask)))(r)
		plans, err := r.PlanPlays(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, warns := range []bool{false, true, false} { // the last play has no later one
			if got := strings.Join(plans[i].Warnings, "\n"); strings.Contains(got, "the failure budget of pool y is exceeded") != warns {
				t.Errorf("play %d warns: %q", i, got)
			}
		}
	})
}

// TestBestEffortPassesASpentBudget: with --best-effort, the later plays begin, unless the first error is fatal.
func TestBestEffortPassesASpentBudget(t *testing.T) {
	for name, one := range map[string]engine.Play{"budget of the pool": playOn("x", engine.FinalizeTask), "fatal": withFatalErrors(playOn("x", engine.FinalizeTask))} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(twoPools())
				site.Host("x-0").Change(func(t *simulator.Traits) { t.Unclear = "two deployments are booted" })
				end := applyRun(site.Bastion("run-1"), withSimulatedPlays(one, playOn("y", engine.FinalizeTask)), func(r *rollout.Run) { r.BestEffort = true })
				failOnErrors(t, checkEnd(end, engine.ExitFailed, "x-0"), checkLaws(site))
				if one.AnyErrorsFatal {
					failOnErrors(t, checkNotBegun(end, "on y"), checkUntouched(site.Host("y-0")))
				} else {
					failOnErrors(t, checkNotBegun(end), checkUpdated(site.Host("x-1")), checkUpdated(site.Host("y-0")))
				}
			})
		})
	}
}

// TestPoolBudgetOutlivesAPlay: the failure budget of a pool counts its hosts in all plays of a run. A budget of a play counts only its own.
func TestPoolBudgetOutlivesAPlay(t *testing.T) {
	half := engine.CountOrPercent{Percent: 50, Set: true} // one of the two hosts of the play with worker-0 and worker-1, two of four
	for name, c := range map[string]struct {
		budget *engine.CountOrPercent
		goes   bool
	}{"of the pool": {nil, false}, "of the play": {&half, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(workerFleet(6, func(p *engine.Pool) {
					p.MaxUnavailable, p.FailureBudget, p.Order = engine.CountOrPercent{Count: 6, Set: true}, engine.CountOrPercent{Count: 1, Set: true}, engine.Sorted
				}))
				for _, h := range []string{"worker-0", "worker-2"} {
					site.Host(h).Change(func(t *simulator.Traits) { t.NoReturn = true })
				}
				var plays []rollout.Play
				for i, hosts := range [][]string{{"worker-0", "worker-1"}, {"worker-2", "worker-3", "worker-4", "worker-5"}} {
					p := playOn("worker", engine.FinalizeTask)
					p.Name, p.Serial, p.MaxFailPercentage = []string{"one", "two"}[i], []engine.CountOrPercent{{Count: 1, Set: true}}, c.budget
					play := simulator.NewPlay(p)
					play.Selected = func(h engine.Host) bool { return slices.Contains(hosts, h.Name) }
					plays = append(plays, play)
				}
				b := site.Bastion("run-1")
				end := applyRun(b, withPlays(plays...))
				failOnErrors(t, checkEnd(end, engine.ExitFailed))
				if !slices.Equal(end.Failed, []string{"worker-0", "worker-2"}) {
					t.Errorf("failed: %v", end.Failed)
				}
				if got := rebootedHosts(b); slices.Contains(got, "worker-3") != c.goes {
					t.Errorf("rebooted: %v\n%s", got, runTranscript(b))
				}
			})
		})
	}
}

func checkNotBegun(end event.RunEnd, plays ...string) error {
	if !slices.Equal(end.NotBegun, plays) {
		return fmt.Errorf("%q not begun, not %q", end.NotBegun, plays)
	}
	return nil
}

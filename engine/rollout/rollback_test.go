package rollout_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// goesBack returns an inventory whose hosts roll back a failed OS.
func goesBack(members, workers int) engine.Inventory {
	inv := simulator.Fleet(members, workers)
	for i := range inv.Pools {
		inv.Pools[i].OnFailure = engine.RollbackFailed
	}
	return inv
}

func failNewOS(t *simulator.Traits) { t.Bad = simulator.V2 }

// checkRolledBack checks that the host booted the new OS once, and has run the
// old OS since.
func checkRolledBack(h *simulator.Host) error {
	st, r := h.State(), h.Remembers()
	switch {
	case st.Booted != simulator.V1 || !st.Well || st.Staged != "":
		return fmt.Errorf("%s is not back: %+v", h.Name, st)
	case !slices.Equal(st.Reboots, []string{simulator.V2, simulator.V1}):
		return fmt.Errorf("%s was rebooted into %v", h.Name, st.Reboots)
	case !slices.Equal(r.Rejected, []string{simulator.V2}):
		return fmt.Errorf("%s has rejected %v", h.Name, r.Rejected)
	case !r.Updated.IsZero():
		return fmt.Errorf("%s counts as updated since %s", h.Name, r.Updated)
	}
	return checkFree(h)
}

// A host on which the new OS fails runs the old OS again and is not held, and
// the next runs exclude it.
func TestAHostGoesBackToItsPreviousOSOnce(t *testing.T) {
	for name, inv := range map[string]engine.Inventory{"worker-1": goesBack(0, 3), "worker-0": goesBack(3, 1), "etcd-1": goesBack(3, 0)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(inv)
				site.Host(name).Change(failNewOS)
				end := applyRun(site.Bastion("run-1"))
				failOnErrors(t, checkEnd(end, engine.ExitFailed), checkRolledBack(site.Host(name)), checkLaws(site))

				boots := site.Host(name).State().Boots
				applyRun(site.Bastion("run-2"))
				failOnErrors(t, checkRolledBack(site.Host(name)), checkLaws(site))
				if got := site.Host(name).State().Boots; got != boots {
					t.Errorf("%s was booted %d times more", name, got-boots)
				}
			})
		})
	}
}

// No step comes between the last check of etcd and the order to reboot or to
// roll back, and all data are on disk before that check.
func TestEtcdIsAskedRightBeforeEachReboot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(goesBack(3, 0))
		site.Host("etcd-1").Change(failNewOS)
		b := site.Bastion("run-1")
		end := applyRun(b)
		failOnErrors(t, checkEnd(end, engine.ExitFailed), checkRolledBack(site.Host("etcd-1")), checkLaws(site))
		var did []string
		for _, e := range b.Events() {
			if e.Type == event.StepStarted && e.Host == "etcd-1" {
				did = append(did, e.Step)
			}
		}
		for _, order := range []string{"reboot", "roll back"} {
			i := slices.Index(did, order)
			if want := []string{"sync disks", "move etcd leader", "check quorum"}; i < len(want) || !slices.Equal(did[i-len(want):i], want) {
				t.Errorf("before %q came %v", order, did)
			}
		}
	})
}

// If an OS that a host rejects is tried again and fails again, there is no
// second rollback: the host stays held until a person examines it.
func TestAHostDoesNotGoBackAndForth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(goesBack(0, 1))
		h := site.Host("worker-0")
		h.Change(failNewOS)
		applyRun(site.Bastion("run-1"))
		failOnErrors(t, checkRolledBack(h))
		end := applyRun(site.Bastion("run-2"), onceMore)
		failOnErrors(t, checkEnd(end, engine.ExitFailed), checkHeldFor(h, "run-2", "app.service has failed"), checkLaws(site))
		if got := h.State().Booted; got != simulator.V2 {
			t.Errorf("it runs %s", got)
		}
	})
}

// A run that updates a host and rolls it back dies at some event. The next run
// brings the host back to its previous OS, and the host rolls back only once.
func TestARunThatDiesWhileItRollsBack(t *testing.T) {
	inv := goesBack(0, 1)
	var events []event.Event
	failOnErrors(t, runInBubble(t, func() error {
		site := newSite(inv)
		site.Host("worker-0").Change(failNewOS)
		b := site.Bastion("run-1")
		applyRun(b)
		events = b.Events()
		return checkRolledBack(site.Host("worker-0"))
	}))
	for _, e := range events {
		for _, pause := range []time.Duration{0, time.Hour} {
			failOnErrors(t, runInBubble(t, func() error {
				site := newSite(inv)
				h := site.Host("worker-0")
				h.Change(failNewOS)
				first, second := site.Bastion("run-1"), site.Bastion("run-2")
				doAtEvent(first, e.Seq, first.Kill)
				applyRun(first)
				time.Sleep(pause)
				end := applyRun(second, successorOf(first))
				time.Sleep(time.Hour)
				if err := errors.Join(checkLaws(site), checkEnd(end, engine.ExitFailed), checkRolledBack(h), checkReportedRolledBack(second)); err != nil {
					return fmt.Errorf("%w\n%s, and %s\nfirst\n%s\nsecond\n%s", err, eventLabel(e), pause, runTranscript(first), runTranscript(second))
				}
				return nil
			}))
		}
	}
}

func checkReportedRolledBack(b *simulator.Bastion) error {
	for _, e := range b.Events() {
		want := event.RolledBackOutcome
		if e.Failure != nil && strings.Contains(e.Failure.Cause, "has rolled it back") {
			want = event.RolledBackEarlierOutcome
		}
		if e.Type == event.HostFailed && e.Outcome != want {
			return fmt.Errorf("%s was rolled back, and is reported as %q: %s", e.Host, e.Outcome, e.Message)
		}
	}
	return nil
}

// TestADeadRunOfTheOnlyMember: the only member of a cluster boots an OS whose service fails, and the run dies. The next run takes the
// host up without a check of the quorum, and rolls it back: there is nobody to whom the leadership could go.
func TestADeadRunOfTheOnlyMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := onlyMember()
		inv.Pools[0].OnFailure = engine.RollbackFailed
		site := newSite(inv)
		h := site.Host("etcd-0")
		h.Change(failNewOS)
		first, second := site.Bastion("run-1"), site.Bastion("run-2")
		first.Watch = func(e event.Event) {
			if e.Type == event.StepStarted && e.Step == "wait for units" {
				first.Kill()
			}
		}
		applyRun(first)
		end := applyRun(second, successorOf(first))
		if err := errors.Join(checkLaws(site), checkEnd(end, engine.ExitFailed), checkRolledBack(h), checkReportedRolledBack(second)); err != nil {
			t.Errorf("%v\nfirst\n%s\nsecond\n%s", err, runTranscript(first), runTranscript(second))
		}
	})
}

// TestAHostThatCannotGoBackStaysHeld checks that a host stays held if its
// previous OS does not boot, or is no longer on its disk.
func TestAHostThatCannotGoBackStaysHeld(t *testing.T) {
	cases := map[string]struct {
		do   func(*simulator.Site, *simulator.Host)
		says string
	}{
		"refuses to reboot": {func(s *simulator.Site, h *simulator.Host) {
			s.After(90*time.Second, func() { h.Change(func(t *simulator.Traits) { t.Stubborn = true }) })
		}, "roll back"},
		"would boot another OS": {func(s *simulator.Site, h *simulator.Host) {
			s.After(90*time.Second, func() { h.Change(func(t *simulator.Traits) { t.Stubborn, t.HalfDone = true, true }) })
		}, "roll back: rollback: the host does not reboot, and would boot v1 next, not the running v2"},
		"does not come back": {func(s *simulator.Site, h *simulator.Host) {
			s.After(90*time.Second, func() { h.Change(func(t *simulator.Traits) { t.NoReturn = true }) })
		}, "wait for the previous OS"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(goesBack(0, 1))
				h := site.Host("worker-0")
				h.Change(failNewOS)
				c.do(site, h)
				b := site.Bastion("run-1")
				end := applyRun(b)
				var told []string
				for _, e := range b.Events() {
					if e.Type == event.HostFailed {
						told = append(told, e.Failure.Cause)
					}
				}
				failOnErrors(t, checkEnd(end, engine.ExitFailed), checkLaws(site))
				if hold := h.Hold(); hold == nil || h.State().Up && !strings.Contains(hold.Reason, c.says) {
					t.Errorf("it is held by %v", hold)
				}
				if all := strings.Join(told, "; "); !strings.Contains(all, c.says) {
					t.Errorf("it says %q, without %q", all, c.says)
				}
			})
		})
	}
}

// TestHostsRememberTheirRollOut checks the entry that a host keeps about its
// roll-out.
func TestHostsRememberTheirRollOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 1))
		failOnErrors(t, checkEnd(applyRun(site.Bastion("run-1")), engine.ExitOK), checkConverged(site))
		var errs []error
		for _, h := range site.Hosts() {
			r := h.Remembers()
			if r.Rollout == nil || r.Rollout.Run != "run-1" || r.Rollout.Targets["etcd"] != simulator.V2 || r.Rollout.Targets["worker"] != simulator.V2 {
				errs = append(errs, fmt.Errorf("%s remembers %+v", h.Name, r.Rollout))
			}
			if ago := time.Since(r.Updated); ago < 0 || ago > time.Hour || len(r.Rejected) > 0 {
				errs = append(errs, fmt.Errorf("%s remembers %+v", h.Name, r))
			}
		}
		failOnErrors(t, errors.Join(errs...))
	})
}

// TestRollsBack checks that a host leaves a failed OS once: it runs the old OS,
// is not held, and does not get the failed OS again.
func TestRollsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(2, func(p *engine.Pool) { p.OnFailure = engine.RollbackFailed }))
		site.Host("worker-0").Change(failNewOS)
		for run := range 2 {
			end := applyRun(site.Bastion(fmt.Sprint("run-", run)))
			failOnErrors(t, checkEnd(end, engine.ExitFailed, "worker-0"), checkLaws(site), checkFree(site.Host("worker-0")), checkUntouched(site.Host("worker-1")))
			if st := site.Host("worker-0").State(); st.Booted != simulator.V1 || !st.Well || len(st.Reboots) != 2 {
				t.Errorf("after run %d: %+v", run, st)
			}
		}
		failOnErrors(t, checkEnd(applyRun(site.Bastion("run-3"), onceMore), engine.ExitFailed, "worker-0"), checkLaws(site), checkHeldFor(site.Host("worker-0"), "run-3"))
		if st := site.Host("worker-0").State(); st.Booted != simulator.V2 || len(st.Reboots) != 3 {
			t.Errorf("it was tried again, and rolled back again: %+v", st)
		}
	})
}

// checkAccepted checks that the host runs the new OS, is not held, and does not
// reject that OS.
func checkAccepted(h *simulator.Host) error {
	st, r := h.State(), h.Remembers()
	switch {
	case st.Booted != simulator.V2 || !st.Well:
		return fmt.Errorf("%s is not updated: %+v", h.Name, st)
	case len(r.Rejected) > 0:
		return fmt.Errorf("%s runs %s, and has rejected %v", h.Name, st.Booted, r.Rejected)
	}
	return checkFree(h)
}

// A host that fails a gate with the new OS boots its previous OS.
func TestAGateRollsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := goesBack(0, 1)
		inv.Pools[1].Gates = []engine.Gate{{Name: "well", Command: "well", When: []engine.GateWhen{engine.AfterHost}}}
		site := newSite(inv)
		b := site.Bastion("run-1")
		b.Command = func(c simulator.Command) *rollout.Reply {
			if c.Text == "well" && site.Host("worker-0").State().Booted == simulator.V2 {
				return &rollout.Reply{Code: 1}
			}
			return nil
		}
		failOnErrors(t, checkEnd(applyRun(b), engine.ExitFailed, "worker-0: gate well"), checkRolledBack(site.Host("worker-0")), checkLaws(site))
	})
}

// TestAWellHostIsNotRolledBack checks that a failure on a host that is healthy
// with the new OS does not reject that OS. The host stays held, and keeps the
// new OS.
func TestAWellHostIsNotRolledBack(t *testing.T) {
	for name, breaks := range map[string]func(*simulator.Bastion){
		"undrain": func(b *simulator.Bastion) { b.Command = failCommand("undrain", "worker-0") },
		"release": func(b *simulator.Bastion) {
			tries := 0
			b.Fault = func(c simulator.Call) simulator.Fault {
				if c.Verb == "release" {
					if tries++; tries <= 2 { // the run tries a release twice
						return simulator.Fails
					}
				}
				return 0
			}
		},
		"record": func(b *simulator.Bastion) {
			b.Fault = func(c simulator.Call) simulator.Fault {
				if c.Verb == "record" {
					return simulator.Fails
				}
				return 0
			}
		},
		"does not answer": func(b *simulator.Bastion) {
			lost := false
			b.Watch = func(e event.Event) {
				if e.Type != event.StepProgress {
					lost = e.Step == "wait for units" && e.Type == event.StepStarted
				}
			}
			b.Fault = func(c simulator.Call) simulator.Fault {
				if lost && c.Host == "worker-0" {
					return simulator.Fails
				}
				return 0
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(goesBack(0, 1))
				h := site.Host("worker-0")
				site.Want("worker-0", "reboot-2")
				b := site.Bastion("run-1")
				breaks(b)
				end := applyRun(b)
				failOnErrors(t, checkEnd(end, engine.ExitFailed, "worker-0"), checkLaws(site))
				if st := h.State(); st.Booted != simulator.V2 || len(st.Reboots) != 1 || len(h.Remembers().Rejected) > 0 || h.Hold() == nil {
					t.Errorf("it is %+v, has rejected %v, and its hold is %v\n%s", st, h.Remembers().Rejected, h.Hold(), runTranscript(b))
				}
			})
		})
	}
}

func onceMore(r *rollout.Run) { r.RetryRejected = true }

func newRejectingSite() (*simulator.Site, *simulator.Host) {
	site := newSite(goesBack(0, 1))
	h := site.Host("worker-0")
	h.Change(failNewOS)
	applyRun(site.Bastion("run-1"))
	return site, h
}

func repairNewOS(t *simulator.Traits) { t.Bad = "" }

// An OS that succeeds at the second try is no longer rejected: the host can get
// it again later without --retry-rolled-back, and can roll it back again.
func TestAnOSThatGoesWellIsNotRejectedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, h := newRejectingSite()
		failOnErrors(t, checkRolledBack(h))
		other := "an OS that others have left"
		h.Remember(simulator.Remembered{Rejected: []string{other, simulator.V2}})
		h.Change(repairNewOS)
		failOnErrors(t, checkEnd(applyRun(site.Bastion("run-2"), onceMore), engine.ExitOK), checkLaws(site))
		if got := h.Remembers().Rejected; !slices.Equal(got, []string{other}) {
			t.Errorf("it has rejected %v", got)
		}
	})
}

// A person repairs a host that failed again and stayed held. The next run finds
// the host healthy: it does not reboot the host, and the host accepts the OS.
func TestAnOSThatWasRepairedIsNotRejectedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, h := newRejectingSite()
		applyRun(site.Bastion("run-2"), onceMore)
		failOnErrors(t, checkHeldFor(h, "run-2", "app.service has failed"))
		if got := h.Remembers().Rejected; !slices.Equal(got, []string{simulator.V2}) {
			t.Errorf("it failed again, and has rejected %v", got)
		}
		boots := h.State().Boots
		h.Change(repairNewOS)
		h.StartUnits()
		failOnErrors(t, checkEnd(applyRun(site.Bastion("run-3"), func(r *rollout.Run) { r.Dead = append(r.Dead, "run-2") }), engine.ExitOK), checkAccepted(h), checkLaws(site))
		if got := h.State().Boots; got != boots {
			t.Errorf("it was booted %d times more", got-boots)
		}
	})
}

// A run that tries a rejected OS again dies at some event. The next run that
// may try the OS brings the host to it, and the host no longer rejects it.
func TestARunThatDiesWhileItTriesAgain(t *testing.T) {
	var events []event.Event
	failOnErrors(t, runInBubble(t, func() error {
		site, h := newRejectingSite()
		h.Change(repairNewOS)
		b := site.Bastion("run-2")
		end := applyRun(b, onceMore)
		events = b.Events()
		return errors.Join(checkEnd(end, engine.ExitOK), checkAccepted(h), checkLaws(site))
	}))
	for _, e := range events {
		for _, pause := range []time.Duration{0, time.Hour} {
			failOnErrors(t, runInBubble(t, func() error {
				site, h := newRejectingSite()
				h.Change(repairNewOS)
				first, second := site.Bastion("run-2"), site.Bastion("run-3")
				doAtEvent(first, e.Seq, first.Kill)
				applyRun(first, onceMore)
				time.Sleep(pause)
				end := applyRun(second, onceMore, successorOf(first))
				if err := errors.Join(checkEnd(end, engine.ExitOK), checkAccepted(h), checkLaws(site)); err != nil {
					return fmt.Errorf("%w\n%s, and %s\nfirst\n%s\nsecond\n%s", err, eventLabel(e), pause, runTranscript(first), runTranscript(second))
				}
				return nil
			}))
		}
	}
}

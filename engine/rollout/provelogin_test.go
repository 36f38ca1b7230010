package rollout_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/longtest"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// A change that takes the run's account its way in reaches one host of the pool. The
// new login fails, the change is undone, and the host is released.
func TestLockoutIsUndone(t *testing.T) {
	for _, word := range []string{"none-lockout-2", "reload-lockout-2", "restart-lockout-2", "drain-reload-lockout-2", "reboot-lockout-2"} {
		t.Run(word, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := siteWanting(0, 4, word)
				b := site.Bastion("run-1")
				end := applyRun(b)
				failOnErrors(t, checkEnd(end, engine.ExitFailed, "a new login failed, so the change was undone"), checkLaws(site))
				writes := 0
				for _, h := range site.Hosts() {
					st := h.State()
					writes += st.Writes
					if st.Disk != "none-1" || st.Record != "none-1" || st.Drained != (h.Hold() != nil) || len(st.Reboots) > 0 { // no undo of the drain is set
						t.Errorf("%s: %+v", h.Name, st)
					}
				}
				if writes != 1 {
					t.Errorf("%d hosts were written\n%s", writes, runTranscript(b))
				}
			})
		})
	}
}

// TestOneLoginIsLost: after a new login has failed, no other host of the pool gets a change of that kind, however many hosts may fail, and
// whether the host can be asked for the undo or not.
func TestOneLoginIsLost(t *testing.T) {
	for name, cut := range map[string]bool{"refused": false, "cut off": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inv := noOS(simulator.Fleet(0, 4))
				for i := range inv.Pools {
					inv.Pools[i].FailureBudget = engine.CountOrPercent{Count: 3}
				}
				site := wantingOf(inv, "none-lockout-2")
				b := site.Bastion("run-1")
				if cut {
					b.Watch = func(e event.Event) {
						if e.Type == event.StepStarted && e.Step == "prove login" {
							site.Host(e.Host).Cut()
						}
					}
				}
				failOnErrors(t, checkEnd(applyRun(b), engine.ExitFailed, "a new login failed"), checkLaws(site))
				writes := 0
				for _, h := range site.Hosts() {
					writes += h.State().Writes
				}
				if writes != 1 {
					t.Errorf("%d hosts were written\n%s", writes, runTranscript(b))
				}
			})
		})
	}
}

// A host that does not answer for a moment, because sshd reads its configuration, is
// tried again; a refused login is not.
func TestANewLoginIsTriedAgain(t *testing.T) {
	for _, c := range []struct {
		kind  engine.FailureKind
		exit  engine.ExitCode
		tries int
	}{{engine.UnreachableFailure, engine.ExitOK, 3}, {"login refused", engine.ExitFailed, 1}} {
		synctest.Test(t, func(t *testing.T) {
			site := siteWanting(0, 1, "none-login-2")
			b, tries := site.Bastion("run-1"), 0
			failOnErrors(t, checkEnd(applyRun(b, func(r *rollout.Run) {
				r.Hosts = silentHosts{r.Hosts, &engine.Failure{Cause: "no answer", Kind: c.kind}, &tries}
			}), c.exit), checkLaws(site))
			if tries != c.tries {
				t.Errorf("%s: %d logins were tried", c.kind, tries)
			}
		})
	}
}

// silentHosts fail the first two logins.
type silentHosts struct {
	rollout.Hosts
	failure error
	tries   *int
}

func (h silentHosts) Login(ctx context.Context, host engine.Host, s rollout.Script) (rollout.Reply, error) {
	if *h.tries++; *h.tries < 3 {
		return rollout.Reply{}, h.failure
	}
	return h.Hosts.Login(ctx, host, s)
}

// A change that leaves the way in goes to one host of the pool first, and then to
// as many as the pool allows. A host that matched before is this host only with the
// same documents. Settings that only one host has follow the first of them together.
func TestLoginIsProvedOnOneHostFirst(t *testing.T) {
	for name, c := range map[string]struct {
		words   []string // of the workers
		matches int      // how many of the workers match before
		batches []int
	}{
		"without action":               {slices.Repeat([]string{"none-login-2"}, 5), 0, []int{1, 4}},
		"restart":                      {slices.Repeat([]string{"restart-login-2"}, 5), 0, []int{1, 4}},
		"reboot":                       {slices.Repeat([]string{"reboot-login-2"}, 5), 0, []int{1, 4}},
		"one matches":                  {slices.Repeat([]string{"none-login-2"}, 5), 1, []int{4}},
		"one with another one matches": {[]string{"none-2", "none-login-2", "none-login-2", "none-login-2", "none-login-2"}, 1, []int{1, 3}},
		"two settings":                 {[]string{"none-login-2", "none-login-2", "none-login-3", "none-login-3", "none-4"}, 0, []int{2, 2, 1}},
		"each its own":                 {[]string{"none-login-2", "none-login-3", "none-login-4", "none-login-5", "none-login-6"}, 0, []int{1, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inv := noOS(simulator.Fleet(0, 5))
				for i := range inv.Pools {
					inv.Pools[i].MaxUnavailable = engine.CountOrPercent{Count: 4}
				}
				site := wantingOf(inv, "none-1")
				for i, h := range site.Hosts() {
					site.Want(h.Name, c.words[i])
					if i < c.matches {
						h.Set(c.words[i])
					}
				}
				b := site.Bastion("run-1")
				var batches []int
				b.Watch = func(e event.Event) {
					if e.Type == event.BatchStarted {
						batches = append(batches, len(e.Hosts))
					}
				}
				failOnErrors(t, checkEnd(applyRun(b), engine.ExitOK), checkLaws(site))
				if !slices.Equal(batches, c.batches) {
					t.Errorf("batches %v", batches)
				}
				for _, h := range site.Hosts() {
					failOnErrors(t, checkMatching(h))
				}
				checkSecondRun(t, site)
			})
		})
	}
}

// A run is killed before or after each of its calls. No host loses its way in: the
// host undoes an unproved change by itself.
func TestKilledDuringLockout(t *testing.T) {
	var quick []string
	for word, fault := range map[string]simulator.Fault{"drain-reload-lockout-2": simulator.KillAfter, "none-lockout-2": simulator.LostBack, "reload-login-2": simulator.KillBefore, "reboot-login-2": simulator.LostThere} {
		quick = append(quick, fmt.Sprintf("TestKilledDuringLockout/%s/%d", word, fault))
	}
	for _, word := range []string{"none-lockout-2", "drain-reload-lockout-2", "reload-login-2", "reboot-login-2"} {
		for _, fault := range []simulator.Fault{simulator.KillBefore, simulator.KillAfter, simulator.LostThere, simulator.LostBack} {
			t.Run(fmt.Sprintf("%s/%d", word, fault), func(t *testing.T) {
				longtest.SkipOthers(t, t.Name(), quick...)
				for n := 1; ; n++ {
					over := false
					synctest.Test(t, func(t *testing.T) { over = faultDuringLockout(t, word, fault, n) })
					if over || t.Failed() {
						return
					}
				}
			})
		}
	}
}

func faultDuringLockout(t *testing.T, word string, fault simulator.Fault, n int) (over bool) {
	site := siteWanting(0, 2, word)
	past := &earlierRuns{}
	b, hit := site.Bastion("run-0"), false
	b.Fault = func(c simulator.Call) simulator.Fault {
		if c.N != n {
			return simulator.NoFault
		}
		hit = true
		return fault
	}
	applyRun(b, past.configureRun)
	past.addRun(b)
	time.Sleep(10 * time.Minute)
	for i := range 3 {
		next := site.Bastion(fmt.Sprint("run-", i+1))
		end := applyRun(next, past.configureRun)
		past.addRun(next)
		if end.Exit == engine.ExitOK {
			break
		}
		time.Sleep(10 * time.Minute)
	}
	failOnErrors(t, checkLaws(site))
	for _, h := range site.Hosts() {
		if strings.Contains(word, "lockout") {
			if st := h.State(); st.Disk != "none-1" {
				t.Errorf("call %d: %s has %s", n, h.Name, st.Disk)
			}
		} else {
			failOnErrors(t, checkMatching(h))
		}
	}
	return !hit
}

// TestLoginLawsBite breaks each law about logins, and checks that the violation is
// found.
func TestLoginLawsBite(t *testing.T) {
	withoutProof := func(list []engine.Step) []engine.Step {
		var kept []engine.Step
		for _, s := range list {
			if s.Do.Exec != nil {
				x := *s.Do.Exec
				x.Script, x.Probation = engine.NewScript(strings.Replace(x.Script.String(), `"proof":true,`, "", 1)), false
				s.Do.Exec = &x
			}
			if s.Do.ProveLogin == nil {
				kept = append(kept, s)
			}
		}
		return kept
	}
	for name, c := range map[string]struct {
		word, broken string
		sabotage     func(*simulator.Bastion, *rollout.Run)
	}{
		"no probation": {"none-login-2", "without probation", func(_ *simulator.Bastion, r *rollout.Run) {
			tampered{steps: func(s *engine.Steps) { s.NonDisruptive = withoutProof(s.NonDisruptive) }}.installInto(r)
		}},
		"lost": {"none-lockout-2", "has lost the way in", func(_ *simulator.Bastion, r *rollout.Run) {
			r.Hosts = reusingHosts{r.Hosts}
		}},
		"all at once": {"none-login-2", "may lose their logins together", func(b *simulator.Bastion, r *rollout.Run) {
			b.Latency = func(simulator.Call) time.Duration { return time.Second }
			tampered{changes: func(c *engine.Change) { c.Login = false }}.installInto(r)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := siteWanting(0, 3, c.word)
				b := site.Bastion("run-1")
				applyRun(b, func(r *rollout.Run) { c.sabotage(b, r) })
				for _, v := range site.Violations() {
					if strings.Contains(v, c.broken) {
						return
					}
				}
				t.Errorf("no law was broken: %v", site.Violations())
			})
		})
	}
}

// reusingHosts prove a login with the connection that is open already.
type reusingHosts struct{ rollout.Hosts }

func (h reusingHosts) Login(ctx context.Context, host engine.Host, s rollout.Script) (rollout.Reply, error) {
	c, err := h.Connect(ctx, host)
	if err != nil {
		return rollout.Reply{}, err
	}
	return c.Run(ctx, s)
}

// A host that waits until another host has proved a login is overtaken by a host whose
// change does not touch the login.
func TestOthersOvertakeAHostThatWaitsForALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := noOS(simulator.Fleet(0, 3))
		inv.Pools[1].MaxUnavailable = engine.CountOrPercent{Count: 2, Set: true}
		site := wantingOf(inv, "reboot-login-2")
		site.Want("worker-2", "reboot-3")
		b := site.Bastion("run-1")
		failOnErrors(t, checkEnd(applyRun(b, runSerially), engine.ExitOK), checkLaws(site))
		var batches []string
		for _, e := range b.Events() {
			if e.Type == event.BatchStarted {
				batches = append(batches, strings.Join(e.Hosts, " "))
			}
		}
		if got := strings.Join(batches, ", "); got != "worker-0 worker-2, worker-1" {
			t.Errorf("the batches are %s", got)
		}
	})
}

package rollout_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// resetBMC is the BMC of one host, which hangs in its reboot until it is reset.
type resetBMC struct {
	host  *simulator.Host
	power string    // the PowerState that it reports
	fails error     // of each call
	moody int       // number of first calls that fail
	isOff bool      // it reports its power as off once
	offAt time.Time // when it did so
	dead  bool      // a reset does not help
	loses error     // of the answer to a reset, which the BMC carries out
	sent  []engine.PowerTarget
	at    time.Time // when it last sent a reset
}

func (c *resetBMC) Read(context.Context, engine.Host) (engine.PowerState, error) {
	if c.moody > 0 {
		c.moody--
		return engine.PowerState{}, errors.New("BMC bmc: it did not answer")
	}
	if c.isOff {
		c.isOff, c.offAt = false, time.Now()
		return engine.PowerState{Power: "Off"}, nil
	}
	return engine.PowerState{Power: c.power}, c.fails
}

func (c *resetBMC) Keep(context.Context, engine.Host, engine.PowerKeeping) error {
	return errors.New("a run changes no settings of a BMC")
}

func (c *resetBMC) Switch(ctx context.Context, h engine.Host, s engine.SwitchPower, _ func(string) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if h.Name != c.host.Name {
		return errors.New("the wrong host")
	}
	c.sent, c.at = append(c.sent, s.To), time.Now()
	if !c.dead {
		c.host.Change(func(t *simulator.Traits) { t.NoReturn = false })
		c.host.PowerOn()
	}
	return c.loses
}

const resetAfter = engine.Duration(5 * time.Minute)

// resettable gives each host a BMC, and lets each pool reset its hosts.
func resettable(inv engine.Inventory) engine.Inventory {
	for i := range inv.Hosts {
		inv.Hosts[i].BMC = &engine.BMC{Address: "bmc", System: inv.Hosts[i].Name}
	}
	for i := range inv.Pools {
		inv.Pools[i].Reboot.ResetAfter = resetAfter
	}
	return inv
}

// resetWorld has a host that hangs in its reboot.
func resetWorld(host string) (failureWorld, *resetBMC) {
	return resetWorldOf(simulator.Fleet(3, 2), host)
}

func onlyMember() engine.Inventory {
	inv := simulator.Fleet(1, 0)
	inv.Clusters[0].AllowOutage = true
	return inv
}

// answeringClusters lists members only if one of them answers, as the etcd of a site does.
type answeringClusters struct{ rollout.Clusters }

func (c answeringClusters) Gather(ctx context.Context, cluster string) etcdfacts.ClusterFacts {
	f := c.Clusters.Gather(ctx, cluster)
	if !slices.ContainsFunc(f.Members, func(m etcdfacts.Member) bool { return m.Healthy }) {
		f.Members, f.Problem = nil, "no member answers"
	}
	return f
}

func resetWorldOf(inv engine.Inventory, host string) (failureWorld, *resetBMC) {
	s := failureWorld{Site: newSite(resettable(inv))}
	s.run = s.Bastion("run-1")
	s.Host(host).Change(func(t *simulator.Traits) { t.NoReturn = true })
	return s, &resetBMC{host: s.Host(host), power: "On"}
}

func (c *resetBMC) use(r *rollout.Run) { r.Power = c }

// TestReset: a host that does not come back from the reboot of a run is reset once, unless that could do harm.
func TestReset(t *testing.T) {
	for name, c := range map[string]struct {
		host    string
		breaks  func(failureWorld, *resetBMC)
		resets  int
		exit    engine.ExitCode
		warning string
		reason  string
		unsure  bool                    // whether it was reset
		fleet   func() engine.Inventory // nil: three members and two workers
	}{
		"a worker":         {host: "worker-0", resets: 1, exit: engine.ExitOK, warning: "worker-0: it has not come back from its reboot within 5m0s, and is reset once, through its BMC"},
		"a member of etcd": {host: "etcd-1", resets: 1, exit: engine.ExitOK, warning: "etcd-1: it has not come back from its reboot within 5m0s, and is reset once"},
		"in vain": {
			host: "etcd-1", breaks: func(_ failureWorld, b *resetBMC) { b.dead = true }, resets: 1,
			exit: engine.ExitFailed, warning: "is reset once", reason: "not done within 30m0s: the host does not answer: connect to etcd-1: connection refused; it was reset at ",
		},
		"the answer is lost": {
			host: "worker-0", breaks: func(_ failureWorld, b *resetBMC) { b.loses = errors.New("BMC bmc: it did not answer") }, resets: 1,
			exit: engine.ExitOK, warning: "worker-0: it has not come back from its reboot; it may have been reset: BMC bmc: it did not answer", unsure: true,
		},
		"the answer is lost, and in vain": {
			host: "worker-0", breaks: func(_ failureWorld, b *resetBMC) { b.dead, b.loses = true, errors.New("BMC bmc: it did not answer") }, resets: 1,
			exit: engine.ExitFailed, warning: "may have been reset", reason: "connection refused; it may have been reset: BMC bmc: it did not answer", unsure: true,
		},
		"the BMC refuses": {
			host: "worker-0", breaks: func(_ failureWorld, b *resetBMC) {
				b.dead, b.loses = true, &engine.Failure{Kind: engine.CannotFailure, Cause: "BMC bmc: it refuses the request", NotStarted: true}
			}, resets: 1,
			exit: engine.ExitFailed, warning: "is not reset: BMC bmc: it refuses the request", reason: "it was not reset: BMC bmc: it refuses the request",
		},
		"switched off by somebody": {
			host: "worker-0", breaks: func(_ failureWorld, b *resetBMC) { b.power = "Off" },
			exit: engine.ExitFailed, warning: "worker-0: it has not come back from its reboot, and is not reset: its power is Off", reason: "it was not reset: its power is Off",
		},
		"BMC away": {
			host: "worker-0", breaks: func(_ failureWorld, b *resetBMC) { b.fails = errors.New("BMC bmc: it did not answer") },
			exit: engine.ExitFailed, warning: "is not reset: BMC bmc: it did not answer", reason: "it was not reset: BMC bmc: it did not answer",
		},
		"BMC away for a moment": {
			host: "worker-0", breaks: func(_ failureWorld, b *resetBMC) { b.moody = 1 }, resets: 1,
			exit: engine.ExitOK, warning: "worker-0: it has not come back from its reboot within 5m0s, and is reset once",
		},
		"a slow shutdown": {
			host: "worker-0", breaks: func(_ failureWorld, b *resetBMC) {
				b.host.Change(func(t *simulator.Traits) {
					t.NoReturn, t.Shutdown, t.Boot = false, time.Duration(resetAfter)+time.Minute, 30*time.Second
				})
			}, exit: engine.ExitOK,
		},
		"silence after a slow shutdown": {
			host: "worker-0", breaks: func(_ failureWorld, b *resetBMC) {
				b.host.Change(func(t *simulator.Traits) { t.Shutdown = time.Duration(resetAfter) + time.Minute })
			}, resets: 1, exit: engine.ExitOK, warning: "is reset once",
		},
		"another member lost": {
			host: "etcd-1", breaks: func(s failureWorld, _ *resetBMC) { s.doAtStep("etcd-1", "wait for boot", s.Host("etcd-0").StopEtcd) },
			exit: engine.ExitFailed, warning: "etcd-1: it has not come back from its reboot, and is not reset: ", reason: "it was not reset: ",
		},
		"back, and only SSH is cut": {
			host: "etcd-1", breaks: func(s failureWorld, b *resetBMC) {
				b.host.Change(func(t *simulator.Traits) { t.NoReturn = false })
				s.doAtStep("etcd-1", "wait for boot", b.host.Cut)
			},
			exit: engine.ExitFailed, warning: "is not reset: its etcd member answers", reason: "it was not reset: its etcd member answers",
		},
		"away before the order": {
			host: "worker-0", breaks: func(s failureWorld, b *resetBMC) { s.doAtStep("worker-0", "reboot", b.host.Cut) },
			exit: engine.ExitFailed, reason: "worker-0: reboot: connect to worker-0: connection refused",
		},
		"the only member": {
			host: "etcd-0", fleet: onlyMember, resets: 1, exit: engine.ExitOK,
			warning: "etcd-0: it has not come back from its reboot within 5m0s, and is reset once",
		},
		"the only voter": {
			host: "etcd-0", fleet: shrunkCluster, resets: 1, exit: engine.ExitOK,
			warning: "etcd-0: it has not come back from its reboot within 5m0s, and is reset once",
		},
		"no member answers": {
			host: "etcd-1", breaks: func(s failureWorld, _ *resetBMC) {
				s.doAtStep("etcd-1", "wait for boot", func() { s.Host("etcd-0").Cut(); s.Host("etcd-2").Cut() })
			},
			exit: engine.ExitFailed, warning: "is not reset: etcd cluster main: ", reason: "it was not reset: etcd cluster main: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if c.fleet == nil {
					c.fleet = func() engine.Inventory { return simulator.Fleet(3, 2) }
				}
				s, bmc := resetWorldOf(c.fleet(), c.host)
				if c.breaks != nil {
					c.breaks(s, bmc)
				}
				end := applyRun(s.run, bmc.use, func(r *rollout.Run) { r.Clusters = answeringClusters{r.Clusters} })
				if err := errors.Join(checkEnd(end, c.exit, c.reason), checkLaws(s.Site)); err != nil {
					t.Errorf("%v\n%s", err, runTranscript(s.run))
				}
				if len(bmc.sent) != c.resets || slices.ContainsFunc(bmc.sent, func(p engine.PowerTarget) bool { return p != engine.PowerReset }) {
					t.Errorf("sent %v, not %d resets", bmc.sent, c.resets)
				}
				denies := func(e event.Event) bool {
					return strings.Contains(e.Message, "is not reset") || e.Failure != nil && strings.Contains(e.Failure.Cause, "was not reset")
				}
				isRefused := func(e event.Event) bool { return e.Type == event.Warned && strings.Contains(e.Message, "is not reset") }
				if n := len(slices.DeleteFunc(slices.Clone(s.run.Events()), func(e event.Event) bool { return !isRefused(e) })); n > 1 {
					t.Errorf("it is told %d times why the host is not reset\n%s", n, runTranscript(s.run))
				}
				if c.unsure && slices.ContainsFunc(s.run.Events(), denies) {
					t.Errorf("a host that may have been reset is told as not reset\n%s", runTranscript(s.run))
				}
				if c.warning != "" && !slices.ContainsFunc(s.run.Events(), func(e event.Event) bool { return e.Type == event.Warned && strings.Contains(e.Message, c.warning) }) {
					t.Errorf("no warning %q\n%s", c.warning, runTranscript(s.run))
				}
			})
		})
	}
}

// bastionTrouble fails to connect to a host once in a while for a reason that is not the silence of the host.
type bastionTrouble struct {
	rollout.Hosts
	host string
	last time.Time // of such a failure
}

func (h *bastionTrouble) Connect(ctx context.Context, to engine.Host) (rollout.Conn, error) {
	conn, err := h.Hosts.Connect(ctx, to)
	if err != nil && to.Name == h.host && time.Since(h.last) > time.Duration(resetAfter)*3/4 {
		h.last = time.Now()
		return conn, &engine.Failure{Kind: engine.UnreachableFailure, Cause: "connect through jump host: connection refused"}
	}
	return conn, err
}

// TestNoResetByHearsay: a host is not reset as long as another failure than its silence comes between.
func TestNoResetByHearsay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, bmc := resetWorld("worker-0")
		end := applyRun(s.run, bmc.use, func(r *rollout.Run) { r.Hosts = &bastionTrouble{Hosts: r.Hosts, host: "worker-0"} })
		if err := checkEnd(end, engine.ExitFailed, "not done within 30m0s: the host does not answer: "); err != nil || len(bmc.sent) != 0 {
			t.Errorf("%v, sent %v\n%s", err, bmc.sent, runTranscript(s.run))
		}
	})
}

// TestResetAfterPowerOn: a host that was off when it would have been reset is left alone as long as it may be booting.
func TestResetAfterPowerOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, bmc := resetWorld("worker-0")
		bmc.isOff = true
		if err := errors.Join(checkEnd(applyRun(s.run, bmc.use), engine.ExitOK), checkLaws(s.Site)); err != nil {
			t.Errorf("%v\n%s", err, runTranscript(s.run))
		}
		if len(bmc.sent) != 1 || bmc.offAt.IsZero() || bmc.at.Sub(bmc.offAt) < time.Duration(resetAfter) {
			t.Errorf("sent %v at %s, and it was off at %s", bmc.sent, bmc.at, bmc.offAt)
		}
	})
}

// TestResetIsKilled: the run is killed after each event of the reboot. Neither it nor the next run resets the host twice, and the next run
// finishes once the host is back.
func TestResetIsKilled(t *testing.T) {
	resets := 0
	for n := range 16 {
		synctest.Test(t, func(t *testing.T) {
			s, bmc := resetWorld("worker-0")
			seen := -1
			s.run.Watch = func(e event.Event) {
				if e.Host == "worker-0" && e.Step == "wait for boot" && seen < 0 {
					seen = 0
				}
				if seen >= 0 && e.Host == "worker-0" {
					if seen++; seen > n {
						s.run.Kill()
					}
				}
			}
			applyRun(s.run, bmc.use)
			sent := len(bmc.sent)
			resets += sent
			next := s.Bastion("run-2")
			next.Watch = func(e event.Event) {
				if e.Type == event.Warned && e.Reset {
					t.Errorf("killed at event %d: the next run resets the host: %s", n, e.Message)
				}
			}
			time.Sleep(10 * time.Minute)
			s.Host("worker-0").Change(func(t *simulator.Traits) { t.NoReturn = false })
			s.Host("worker-0").PowerOn()
			time.Sleep(time.Minute)
			if err := errors.Join(checkEnd(applyRun(next, bmc.use, successorOf(s.run)), engine.ExitOK), checkLaws(s.Site)); err != nil {
				t.Errorf("killed at event %d: %v\n%s", n, err, runTranscript(next))
			}
			if len(bmc.sent) != sent || sent > 1 {
				t.Errorf("killed at event %d: sent %v, %d of them before the kill", n, bmc.sent, sent)
			}
		})
	}
	if resets == 0 {
		t.Error("no run was killed after its reset")
	}
}

// TestNoResetOnAnOldProbe: the bastion is suspended between the probe of a host and its reset. A host that has come back meanwhile is not
// reset. One that has not is reset after its next probe, unless another member has failed.
func TestNoResetOnAnOldProbe(t *testing.T) {
	for name, c := range map[string]struct {
		during func(failureWorld, *resetBMC)
		resets int
		exit   engine.ExitCode
		delay  time.Duration
	}{
		"it is back": {
			during: func(s failureWorld, b *resetBMC) {
				b.host.Change(func(t *simulator.Traits) { t.NoReturn = false })
				b.host.PowerOn()
			}, exit: engine.ExitOK, delay: 2 * time.Minute,
		},
		"it is not":            {during: func(failureWorld, *resetBMC) {}, resets: 1, exit: engine.ExitOK, delay: 2 * time.Minute},
		"another member fails": {during: func(s failureWorld, _ *resetBMC) { s.Host("etcd-2").StopEtcd() }, exit: engine.ExitFailed, delay: 45 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, bmc := resetWorld("etcd-1")
			var clock suspendedClock
			s.run.Journal = func(e event.Event) error {
				if e.Reset && clock.slept.Load() == 0 {
					clock.slept.Store(int64(c.delay))
					c.during(s, bmc)
				}
				return nil
			}
			end := applyRun(s.run, runSerially, bmc.use, func(r *rollout.Run) { clock.Clock, r.Clock = r.Clock, &clock })
			if err := errors.Join(checkEnd(end, c.exit), checkLaws(s.Site)); err != nil || len(bmc.sent) != c.resets || clock.slept.Load() == 0 {
				t.Errorf("%s: %v, sent %v\n%s", name, err, bmc.sent, runTranscript(s.run))
			}
			if told := countResets(s.run.Events()); told != c.resets {
				t.Errorf("%s: %d resets are told, %d were sent", name, told, c.resets)
			}
		})
	}
}

// countResets counts the resets that a run has told and not withdrawn.
func countResets(events []event.Event) (n int) {
	for _, e := range events {
		switch {
		case e.Reset && e.Failure == nil:
			n++
		case e.Reset:
			n--
		}
	}
	return n
}

// TestResetWithSlowEtcd: etcd answers slowly while a host is down, because it waits for its member. The host is reset, and this is told once.
// If the bastion is suspended during the checks, nothing is told before they are repeated.
func TestResetWithSlowEtcd(t *testing.T) {
	for _, slept := range []time.Duration{0, 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			s, bmc := resetWorld("etcd-1")
			var clock suspendedClock
			var waits, sent atomic.Bool
			s.run.Watch = func(e event.Event) {
				if e.Type == event.StepStarted && e.Step == "wait for boot" && e.Host == "etcd-1" {
					waits.Store(true)
				}
				if e.Reset {
					sent.Store(true)
				}
			}
			end := applyRun(s.run, runSerially, bmc.use, func(r *rollout.Run) {
				clock.Clock, r.Clock = r.Clock, &clock
				r.Clusters = stoppedClusters{r.Clusters, func() time.Duration {
					if !waits.Load() || s.Host("etcd-1").State().Up {
						return 0
					}
					if !sent.Load() {
						clock.slept.CompareAndSwap(0, int64(slept))
					}
					return 40 * time.Second
				}}
			})
			told := slices.DeleteFunc(slices.Clone(s.run.Events()), func(e event.Event) bool { return !e.Reset })
			if err := errors.Join(checkEnd(end, engine.ExitOK), checkLaws(s.Site)); err != nil || len(bmc.sent) != 1 || len(told) != 1 {
				t.Errorf("suspended %s: %v, sent %v, told %v\n%s", slept, err, bmc.sent, told, runTranscript(s.run))
			}
		})
	}
}

// TestResetIsJournaled: a reset that cannot be journaled is not sent.
func TestResetIsJournaled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, bmc := resetWorld("worker-0")
		s.run.Journal = func(e event.Event) error {
			if e.Reset {
				return errors.New("no space left on device")
			}
			return nil
		}
		applyRun(s.run, bmc.use)
		if len(bmc.sent) != 0 {
			t.Errorf("sent %v", bmc.sent)
		}
	})
}

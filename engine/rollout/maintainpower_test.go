package rollout_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/maintenance"
	"holdfast/engine/report"
	"holdfast/engine/simulator"
)

// controller is the BMC of one simulated host.
type controller struct {
	host   *simulator.Host
	policy string
	light  bool
	word   string // IndicatorLED, in place of the light
	dark   error  // of each change of the light
	power  string
	sent   []engine.PowerTarget

	ignores bool          // a change of the policy is accepted, and has no effect
	lag     time.Duration // of a change of the policy
	next    string        // the policy from due on
	due     time.Time
}

func (c *controller) Read(context.Context, engine.Host) (engine.PowerState, error) {
	light := c.light
	if c.next != "" && !time.Now().Before(c.due) {
		c.policy, c.next = c.next, ""
	}
	if c.word != "" {
		return engine.PowerState{Power: c.power, PowerKeeping: engine.PowerKeeping{RestorePolicy: c.policy, Indicator: c.word}}, nil
	}
	return engine.PowerState{Power: c.power, PowerKeeping: engine.PowerKeeping{RestorePolicy: c.policy, Light: &light}}, nil
}

func (c *controller) Keep(_ context.Context, _ engine.Host, k engine.PowerKeeping) error {
	switch {
	case k.RestorePolicy == "" || c.ignores:
	case c.lag == 0:
		c.policy = k.RestorePolicy
	default:
		c.next, c.due = k.RestorePolicy, time.Now().Add(c.lag)
	}
	if k.Light != nil && c.dark == nil {
		c.light = *k.Light
	}
	if k.Indicator != "" && c.dark == nil {
		c.word = k.Indicator
	}
	if k.Light != nil || k.Indicator != "" && k.Indicator != c.word {
		return c.dark
	}
	return nil
}

func (c *controller) Switch(ctx context.Context, _ engine.Host, s engine.SwitchPower, before func(string) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.WaitOnly {
		if c.host.State().Up {
			return errors.New("its power is still On; use --force")
		}
		c.power = "Off"
		return nil
	}
	if err := before("sending"); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.sent = append(c.sent, s.To)
	if s.To == engine.PowerOn {
		c.power = "On"
		c.host.PowerOn()
	} else {
		c.power = "Off"
		c.host.PowerOff()
	}
	return nil
}

// memory remembers holds as the bastion does.
type memory struct {
	mu    sync.Mutex
	holds map[string]engine.Hold
}

func (m *memory) Recall(facts map[string]engine.Facts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, f := range facts {
		last, known := m.holds[name]
		switch {
		case !f.Reached() && known:
			f.LastHold = &engine.LastHold{Hold: last}
			facts[name] = f
		case f.Reached() && f.Hold != nil && f.Hold.Kind == engine.MaintenanceHold:
			m.holds[name] = *f.Hold
		case f.Reached():
			delete(m.holds, name)
		}
	}
}

// poweredSite has a worker with a controller, and a person.
func poweredSite() (*simulator.Site, *controller, func(context.Context, maintenance.Request, func(event.Event)) event.RunEnd) {
	site := newSite(simulator.Fleet(0, 2))
	bmc := &controller{host: site.Host("worker-0"), policy: "LastState", power: "On"}
	ann, holds := site.Bastion("person-1"), &memory{holds: map[string]engine.Hold{}}
	return site, bmc, func(ctx context.Context, r maintenance.Request, watch func(event.Event)) event.RunEnd {
		ann.Watch = watch
		run := ann.Run()
		run.Power, run.Holds = bmc, holds
		r.Holder, r.Bastion, r.Hosts = run.Start.Holder, run.Start.Bastion, []string{"worker-0"}
		return run.Maintain(ctx, r)
	}
}

var (
	holdOff   = maintenance.Request{Action: engine.HoldHosts, Reason: "DIMM", PowerOff: true}
	releaseOn = maintenance.Request{Action: engine.ReleaseHosts, PowerOn: true}
)

// TestReleaseOfASilentHost: the error of the connection tells that a held host is silent, and that it is to be switched on first.
func TestReleaseOfASilentHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, _, ask := poweredSite()
		ask(t.Context(), maintenance.Request{Action: engine.HoldHosts, Reason: "DIMM"}, nil)
		site.Host("worker-0").PowerOff() // nobody asks its controller
		end := ask(t.Context(), maintenance.Request{Action: engine.ReleaseHosts}, nil)
		if text := findingsText(end); end.Exit != engine.ExitUnreachable || !strings.Contains(text, "it does not answer, and was last seen") || !strings.Contains(text, "switch it on first") {
			t.Error(text)
		}
	})
}

// TestHoldPowerOff: the host is shut down and stays off, also after a power cut. A release switches it on, and restores the settings of its
// controller.
func TestHoldPowerOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, bmc, ask := poweredSite()
		if end := ask(t.Context(), holdOff, nil); end.Exit != engine.ExitOK {
			t.Fatalf("%s: %s", report.EndText(end), findingsText(end))
		}
		h := site.Host("worker-0").Hold()
		if h == nil || h.PowerBefore == nil || h.PowerBefore.RestorePolicy != "LastState" || *h.PowerBefore.Light || bmc.policy != "AlwaysOff" || !bmc.light || bmc.power != "Off" {
			t.Fatalf("%+v, %+v", h, bmc)
		}
		if end := ask(t.Context(), releaseOn, nil); end.Exit != engine.ExitOK {
			t.Fatalf("%s: %s", report.EndText(end), findingsText(end))
		}
		if h := site.Host("worker-0").Hold(); h != nil || bmc.policy != "LastState" || bmc.light || bmc.power != "On" || !slices.Equal(bmc.sent, []engine.PowerTarget{engine.PowerOff, engine.PowerOn}) {
			t.Errorf("%+v, %+v", h, bmc)
		}
	})
}

// TestPolicyIsReadBack: a controller accepts a change of the power after a power cut, and does not carry it out, or only later. A host does not
// count as one that stays off before its controller reports that, and keeps its hold until its setting is restored.
func TestPolicyIsReadBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, bmc, ask := poweredSite()
		bmc.ignores = true
		end := ask(t.Context(), holdOff, nil)
		if said := findingsText(end); end.Exit != engine.ExitFailed || bmc.power != "On" || !strings.Contains(said, `accepted AlwaysOff as the power after a power cut, and still reports "LastState"`) {
			t.Errorf("exit %d, %s, %+v", end.Exit, said, bmc)
		}
		bmc.ignores, bmc.lag = false, 4*time.Second
		if end := ask(t.Context(), holdOff, nil); end.Exit != engine.ExitOK || bmc.policy != "AlwaysOff" || bmc.power != "Off" {
			t.Fatalf("late: exit %d, %s, %+v", end.Exit, findingsText(end), bmc)
		}
		bmc.ignores = true
		end = ask(t.Context(), releaseOn, nil)
		if said := findingsText(end); end.Exit != engine.ExitFailed || site.Host("worker-0").Hold() == nil || !strings.Contains(said, `accepted LastState as the power after a power cut, and still reports "AlwaysOff"`) {
			t.Errorf("release: exit %d, %s, %+v", end.Exit, said, site.Host("worker-0").Hold())
		}
		force := releaseOn
		force.Force = true
		if end := ask(t.Context(), force, nil); end.Exit != engine.ExitOK || site.Host("worker-0").Hold() != nil {
			t.Errorf("forced: exit %d, %s", end.Exit, findingsText(end))
		}
	})
}

// TestQuorumBeforePowerOff: another voter is lost after the hold. The member stays on, unless it is forced off.
func TestQuorumBeforePowerOff(t *testing.T) {
	for _, force := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			site := newSite(simulator.Fleet(3, 0))
			bmc, ann := &controller{host: site.Host("etcd-1"), policy: "LastState", power: "On"}, site.Bastion("person-1")
			ann.Watch = func(e event.Event) {
				if e.Type == event.StepEnded && e.Step == "hold" {
					site.Host("etcd-2").StopEtcd()
				}
			}
			run, request := ann.Run(), holdOff
			run.Power, run.Holds = bmc, &memory{holds: map[string]engine.Hold{}}
			request.Holder, request.Bastion, request.Hosts, request.Force = run.Start.Holder, run.Start.Bastion, []string{"etcd-1"}, force
			end := run.Maintain(t.Context(), request)
			switch said := findingsText(end); {
			case force && (end.Exit != engine.ExitOK || bmc.power != "Off"):
				t.Errorf("forced: exit %d, %s, %+v", end.Exit, said, bmc)
			case !force && (end.Exit == engine.ExitOK || bmc.power != "On" || bmc.policy != "LastState" || site.Host("etcd-1").Hold() == nil || !strings.Contains(said, "member etcd-2 is not healthy") || !strings.Contains(said, "it stays held")):
				t.Errorf("exit %d, %s, %+v", end.Exit, said, bmc)
			}
		})
	}
}

// TestResetChecksTheHold: another person takes the host, or it goes away, after the reset was planned. Only a host that answers and has
// another hold is left alone.
func TestResetChecksTheHold(t *testing.T) {
	theirs := &engine.Hold{Kind: engine.MaintenanceHold, Holder: "bob@b2", Run: "r2", Bastion: "b2", Reason: "fans"}
	for name, c := range map[string]struct {
		change func(*simulator.Host)
		force  bool
		resets bool
	}{
		"held as before":     {change: func(*simulator.Host) {}, resets: true},
		"held by another":    {change: func(h *simulator.Host) { h.SetHold(theirs) }},
		"released":           {change: func(h *simulator.Host) { h.SetHold(nil) }},
		"forced":             {change: func(h *simulator.Host) { h.SetHold(theirs) }, force: true, resets: true},
		"it does not answer": {change: (*simulator.Host).Cut, resets: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site, bmc, ask := poweredSite()
				ask(t.Context(), maintenance.Request{Action: engine.HoldHosts, Reason: "DIMM"}, nil)
				end := ask(t.Context(), maintenance.Request{Action: engine.ResetHosts, Force: c.force}, func(e event.Event) {
					if e.Type == event.MaintenancePlanned {
						c.change(site.Host("worker-0"))
					}
				})
				said := findingsText(end)
				if c.resets && (end.Exit != engine.ExitOK || !slices.Equal(bmc.sent, []engine.PowerTarget{engine.PowerReset})) {
					t.Errorf("exit %d, %s, sent %v", end.Exit, said, bmc.sent)
				}
				if !c.resets && (end.Exit != engine.ExitRefused || len(bmc.sent) > 0 || !strings.Contains(said, "; it was not reset")) {
					t.Errorf("exit %d, %s, sent %v", end.Exit, said, bmc.sent)
				}
			})
		})
	}
}

// TestReleaseAfterAnotherHold: a bastion remembers its hold of a host that was off, and meanwhile another person holds it. The settings of
// the controller stay those of that person.
func TestReleaseAfterAnotherHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(0, 2))
		bmc := &controller{host: site.Host("worker-0"), policy: "LastState", power: "On"}
		remembered := &memory{holds: map[string]engine.Hold{}}
		ask := func(person string, holds *memory, r maintenance.Request) event.RunEnd {
			run := site.Bastion(person).Run()
			run.Power, run.Holds = bmc, holds
			r.Holder, r.Bastion, r.Hosts = run.Start.Holder, run.Start.Bastion, []string{"worker-0"}
			return run.Maintain(t.Context(), r)
		}
		ask("person-1", remembered, holdOff)
		remembered.holds["worker-0"] = *site.Host("worker-0").Hold()
		current := &memory{holds: maps.Clone(remembered.holds)}
		released := ask("person-1", current, releaseOn)
		held := ask("person-2", current, holdOff)
		if released.Exit != engine.ExitOK || held.Exit != engine.ExitOK {
			t.Fatalf("%s; %s", findingsText(released), findingsText(held))
		}
		end := ask("person-1", remembered, releaseOn)
		if h := site.Host("worker-0").Hold(); end.Exit != engine.ExitRefused || h == nil || bmc.policy != "AlwaysOff" || !bmc.light {
			t.Errorf("exit %d, %s, %+v, %+v", end.Exit, findingsText(end), h, bmc)
		}
	})
}

// TestAcceptUnitsOfARememberedHold: a host whose units are not as before a disruption is held, and off. A release that switches it on accepts
// its units, also if somebody ended the hold meanwhile.
func TestAcceptUnitsOfARememberedHold(t *testing.T) {
	for _, c := range []struct{ accept, ended bool }{{true, false}, {true, true}, {false, false}} {
		synctest.Test(t, func(t *testing.T) {
			site, _, ask := poweredSite()
			host := site.Host("worker-0")
			host.SetHold(&engine.Hold{Kind: engine.RunHold, Holder: "bob@b2", Run: "r2", Bastion: "b2", FailedUnits: []string{}})
			host.SetHold(nil)
			hold, release := holdOff, releaseOn
			hold.PowerOff, release.AcceptUnits = false, c.accept
			for _, r := range []maintenance.Request{hold, release} {
				if end := ask(t.Context(), r, nil); end.Exit != engine.ExitOK {
					t.Fatal(findingsText(end))
				}
				if r.Action == engine.ReleaseHosts {
					continue
				}
				host.PowerOff()
				if c.ended {
					host.SetHold(nil)
				}
			}
			facts := site.Bastion("person-2").Run().GatherHosts(t.Context())["worker-0"]
			if facts.Hold != nil || (facts.Unproven == nil) != c.accept {
				t.Errorf("%+v: %+v, %+v", c, facts.Hold, facts.Unproven)
			}
		})
	}
}

// TestPowerOffOfARememberedHold: a bastion remembers its hold of a host that has another hold by now, or none, and does not reach it. The power
// of the host is cut only by force.
func TestPowerOffOfARememberedHold(t *testing.T) {
	for name, held := range map[string]bool{"free": false, "held by another": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site, bmc, ask := poweredSite()
				hold := holdOff
				hold.PowerOff = false
				if end := ask(t.Context(), hold, nil); end.Exit != engine.ExitOK {
					t.Fatal(findingsText(end))
				}
				var theirs *engine.Hold
				if held {
					theirs = &engine.Hold{Kind: engine.MaintenanceHold, Holder: "bob@b2", Run: "r2", Bastion: "b2", Reason: "fans"}
				}
				site.Host("worker-0").SetHold(theirs)
				site.Host("worker-0").Cut()
				end := ask(t.Context(), holdOff, nil)
				if said := findingsText(end); end.Exit != engine.ExitFailed || len(bmc.sent) > 0 || bmc.power != "On" || !strings.Contains(said, "use --force") {
					t.Errorf("exit %d, %s, %+v", end.Exit, said, bmc)
				}
				force := holdOff
				force.Force = true
				if end := ask(t.Context(), force, nil); end.Exit != engine.ExitOK || bmc.power != "Off" {
					t.Errorf("forced: exit %d, %s, %+v", end.Exit, findingsText(end), bmc)
				}
			})
		})
	}
}

// TestPowerOffOfAStuckHost: systemd of a held host does not answer. The power of the host is cut only by force.
func TestPowerOffOfAStuckHost(t *testing.T) {
	for name, off := range map[string]maintenance.Request{"power off": {Action: engine.PowerHostsOff}, "hold --power-off": holdOff} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site, bmc, ask := poweredSite()
				site.Host("worker-0").Change(func(t *simulator.Traits) { t.Stubborn = true })
				ask(t.Context(), maintenance.Request{Action: engine.HoldHosts, Reason: "DIMM"}, nil)
				end := ask(t.Context(), off, nil)
				if said := findingsText(end); end.Exit == engine.ExitOK || len(bmc.sent) > 0 || !strings.Contains(said, "use --force to cut its power") {
					t.Errorf("exit %d, %s, %+v", end.Exit, said, bmc)
				}
				off.Force = true
				told := false
				end = ask(t.Context(), off, func(e event.Event) {
					told = told || e.Type == event.Warned && e.Message == "worker-0: shut down: the host does not shut down: exit status 1; its power is cut all the same"
				})
				if end.Exit != engine.ExitOK || bmc.power != "Off" || !told {
					t.Errorf("forced: exit %d, %s, %+v, told %v", end.Exit, findingsText(end), bmc, told)
				}
			})
		})
	}
}

// TestStoppedPowerOff: a person stops a command. It tells whether the host may shut down all the same.
func TestStoppedPowerOff(t *testing.T) {
	for name, c := range map[string]struct {
		request maintenance.Request
		step    string
		at      event.Type
		told    bool
	}{
		"before the order":               {maintenance.Request{Action: engine.PowerHostsOff, Force: true}, "power off", event.StepStarted, false},
		"during the order":               {maintenance.Request{Action: engine.PowerHostsOff, Force: true}, "power off", event.StepProgress, true},
		"held, before the first step":    {maintenance.Request{Action: engine.PowerHostsOff}, "", event.MaintenancePlanned, false},
		"held, after the host was told":  {maintenance.Request{Action: engine.PowerHostsOff}, "power off", event.StepStarted, true},
		"switched on, and not shut down": {maintenance.Request{Action: engine.PowerHostsOn}, "power on", event.StepProgress, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, bmc, ask := poweredSite()
				if !c.request.Force {
					ask(t.Context(), maintenance.Request{Action: engine.HoldHosts, Reason: "DIMM"}, nil)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				end := ask(ctx, c.request, func(e event.Event) {
					if e.Type == c.at && e.Step == c.step {
						cancel(errors.New("stopped"))
					}
				})
				said := findingsText(end)
				told := strings.Contains(said, "stopped by the operator; its shutdown may have been ordered: holdfast power status worker-0")
				if end.Exit != engine.ExitStopped || len(bmc.sent) > 0 || told != c.told || !c.told && strings.Contains(said, "shutdown") {
					t.Errorf("exit %d, %s, sent %v", end.Exit, said, bmc.sent)
				}
			})
		})
	}
}

// TestPowerOffChecksTheHold: while a host shuts down, another person switches it on and holds it. Its power is not cut.
func TestPowerOffChecksTheHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, bmc, ask := poweredSite()
		end := ask(t.Context(), holdOff, func(e event.Event) {
			if e.Type == event.StepStarted && e.Step == "power off" {
				site.Host("worker-0").PowerOn()
				site.Host("worker-0").SetHold(&engine.Hold{Kind: engine.MaintenanceHold, Holder: "bob@b2", Run: "r2", Bastion: "b2", Reason: "fans"})
			}
		})
		if said := findingsText(end); end.Exit != engine.ExitRefused || len(bmc.sent) > 0 || !strings.Contains(said, "held by bob@b2") || !strings.Contains(said, "its power was not cut") {
			t.Errorf("exit %d, %s, %+v", end.Exit, said, bmc)
		}
	})
}

// TestIndicatorOfAHold: the light of an older controller blinks under the hold, and has its word back after it. A host whose light
// cannot be switched on is switched off all the same.
func TestIndicatorOfAHold(t *testing.T) {
	for name, c := range map[string]struct {
		dark  error
		under string
		told  bool
	}{"blinks": {nil, "Blinking", false}, "refused": {errors.New("it refuses the request"), "Lit", true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site, bmc, ask := poweredSite()
				bmc.word, bmc.dark = "Lit", c.dark
				told := false
				end := ask(t.Context(), holdOff, func(e event.Event) {
					told = told || strings.Contains(e.Message, "its light was not changed: it refuses the request")
				})
				h := site.Host("worker-0").Hold()
				if end.Exit != engine.ExitOK || h == nil || h.PowerBefore.Indicator != "Lit" || bmc.word != c.under || bmc.power != "Off" || told != c.told {
					t.Fatalf("%s: %s, %+v, %+v, told %v", report.EndText(end), findingsText(end), h, bmc, told)
				}
				if end := ask(t.Context(), releaseOn, nil); end.Exit != engine.ExitOK || bmc.word != "Lit" {
					t.Errorf("%s: %s, %+v", report.EndText(end), findingsText(end), bmc)
				}
			})
		})
	}
}

// TestLightThatCannotBeRestored: a host whose light keeps blinking comes back all the same, and the release tells about the light.
func TestLightThatCannotBeRestored(t *testing.T) {
	for name, word := range map[string]string{"light": "", "indicator": "Lit"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site, bmc, ask := poweredSite()
				bmc.word = word
				if end := ask(t.Context(), holdOff, nil); end.Exit != engine.ExitOK {
					t.Fatalf("%s: %s", report.EndText(end), findingsText(end))
				}
				bmc.dark = errors.New("it refuses the request")
				told := false
				end := ask(t.Context(), releaseOn, func(e event.Event) {
					told = told || strings.Contains(e.Message, "its light was not changed: it refuses the request")
				})
				if h := site.Host("worker-0").Hold(); end.Exit != engine.ExitOK || h != nil || bmc.policy != "LastState" || !told {
					t.Errorf("%s: %s, %+v, %+v, told %v", report.EndText(end), findingsText(end), h, bmc, told)
				}
			})
		})
	}
}

// TestHoldPowerOffIsKilled: the command is killed after each of its events, and so is the release. The same command goes on.
func TestHoldPowerOffIsKilled(t *testing.T) {
	for n := range 40 {
		killed := false
		synctest.Test(t, func(t *testing.T) {
			site, bmc, ask := poweredSite()
			for _, r := range []maintenance.Request{holdOff, releaseOn} {
				ctx, cancel := context.WithCancelCause(t.Context())
				seen := 0
				ask(ctx, r, func(event.Event) {
					if seen++; seen > n {
						killed = true
						cancel(errors.New("killed"))
					}
				})
				cancel(nil)
				if end := ask(t.Context(), r, nil); end.Exit != engine.ExitOK {
					t.Fatalf("%s after a kill at event %d: %s: %s", r.Action, n, report.EndText(end), findingsText(end))
				}
				if r.PowerOff && (bmc.policy != "AlwaysOff" || bmc.power != "Off") {
					t.Fatalf("killed at event %d: %+v", n, bmc)
				}
			}
			if h := site.Host("worker-0").Hold(); h != nil || bmc.policy != "LastState" || bmc.light || bmc.power != "On" {
				t.Errorf("killed at event %d: %+v, %+v", n, h, bmc)
			}
		})
		if !killed {
			if n < 8 {
				t.Errorf("only %d events", n)
			}
			return
		}
	}
}

// TestHoldWaitsNotForARunThatHasEnded: the host of a run does not come back from its reboot. The person waits until the hold of the run has ended.
func TestHoldWaitsNotForARunThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(1, setMaxUnavailable(1)))
		ann, run := site.Bastion("person-1"), site.Bastion("run-1")
		site.Host("worker-0").Change(func(t *simulator.Traits) { t.NoReturn = true })
		var held event.RunEnd
		var ended time.Time
		var waiting sync.WaitGroup
		once := sync.Once{}
		run.Watch = func(e event.Event) {
			if e.Type == event.StepStarted && e.Step == "reboot" {
				once.Do(func() {
					waiting.Go(func() {
						run := ann.Run()
						r := holdWorkers("worker-0")
						r.Holder, r.Bastion, r.Wait = run.Start.Holder, run.Start.Bastion, true
						ctx, cancel := context.WithTimeout(context.Background(), 48*time.Hour)
						defer cancel()
						held, ended = run.Maintain(ctx, r), time.Now()
					})
				})
			}
		}
		failOnErrors(t, checkEnd(applyRun(run), engine.ExitFailed))
		waiting.Wait()
		expires := site.Host("worker-0").Hold().Expires
		if held.Exit != engine.ExitUnreachable || ended.Before(expires) || ended.After(expires.Add(time.Minute)) {
			t.Errorf("exit %d at %s, the hold of the run ends at %s: %s", held.Exit, ended, expires, findingsText(held))
		}
	})
}

// TestHoldWaitsByBothClocks: the clock of the host is behind or ahead. A person waits as long as the hold of the run lasts, also while
// the host does not answer.
func TestHoldWaitsByBothClocks(t *testing.T) {
	for _, skew := range []time.Duration{-3 * time.Hour, 0, 3 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			site := newSite(workerFleet(1, setMaxUnavailable(1)))
			ann, run := site.Bastion("person-1"), site.Bastion("run-1")
			host := site.Host("worker-0")
			host.Change(func(t *simulator.Traits) { t.Skew, t.NoReturn = skew, true })
			var ended time.Time
			var waiting sync.WaitGroup
			looked := false
			run.Watch = func(e event.Event) {
				if e.Type == event.StepStarted && e.Step == "reboot" && !looked {
					looked = true
					waiting.Go(func() {
						r := holdWorkers("worker-0")
						r.Wait = true
						maintainBy(ann, r)
						ended = time.Now()
					})
				}
			}
			applyRun(run)
			waiting.Wait()
			over := host.Hold().Expires.Add(-skew) // true time at which the clock of the host is at the end
			if now := host.Hold().Expires; now.After(over) {
				over = now
			}
			if ended.Before(over.Add(-2*time.Minute)) || ended.After(over.Add(5*time.Minute)) {
				t.Errorf("%s: the hold is over at %s, and the person waited until %s", skew, over, ended)
			}
		})
	}
}

// TestHoldWaitsForARun: with Wait, a host of a run is held as soon as the run has released it.
func TestHoldWaitsForARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(1, setMaxUnavailable(1)))
		ann, run := site.Bastion("person-1"), site.Bastion("run-1")
		var held event.RunEnd
		var waiting sync.WaitGroup
		once := sync.Once{}
		run.Watch = func(e event.Event) {
			if e.Type == event.StepStarted && e.Step == "reboot" {
				once.Do(func() {
					waiting.Go(func() {
						r := holdWorkers("worker-0")
						r.Wait = true
						held = maintainBy(ann, r)
					})
				})
			}
		}
		end := applyRun(run)
		waiting.Wait()
		failOnErrors(t, checkEnd(end, engine.ExitOK))
		if h := site.Host("worker-0").Hold(); held.Exit != engine.ExitOK || h == nil || h.Kind != engine.MaintenanceHold {
			t.Errorf("%s, %+v", report.EndText(held), h)
		}
	})
}

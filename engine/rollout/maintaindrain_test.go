package rollout_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/kubefacts"
	"holdfast/engine/maintenance"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// drainedSite is a poweredSite whose hosts are nodes. ask carries out a request on one of two bastions.
type drainedSite struct {
	*simulator.Site
	k    *simulator.Kubernetes
	bmc  *controller
	ann  *simulator.Bastion
	bob  *simulator.Bastion // another person on another bastion
	mem  map[string]*memory // of the bastions
	told []string           // progress and warnings
}

func newDrainedSite(t *testing.T, options engine.KubernetesDrain) *drainedSite {
	site, k := newDrainingSite(t, options)
	k.RunOn(site)
	return &drainedSite{Site: site, k: k, mem: map[string]*memory{"person-1": {holds: map[string]engine.Hold{}}, "person-2": {holds: map[string]engine.Hold{}}}, bmc: &controller{host: site.Host("worker-0"), policy: "LastState", power: "On"}, ann: site.Bastion("person-1"), bob: site.Bastion("person-2")}
}

func (s *drainedSite) ask(ctx context.Context, b *simulator.Bastion, r maintenance.Request, watch func(event.Event)) event.RunEnd {
	b.Watch = func(e event.Event) {
		if e.Type == event.StepProgress || e.Type == event.Warned {
			s.told = append(s.told, e.Message)
		}
		if watch != nil {
			watch(e)
		}
	}
	run := b.Run()
	run.Power, run.Nodes, run.Holds = s.bmc, s.k, s.mem[b.ID]
	r.Holder, r.Bastion, r.Hosts = run.Start.Holder, run.Start.Bastion, []string{"worker-0"}
	return run.Maintain(ctx, r)
}

func (s *drainedSite) log() string { return strings.Join(s.k.Log(), ", ") }

var (
	holdDrained    = maintenance.Request{Action: engine.HoldHosts, Reason: "DIMM", Drain: true}
	holdDrainedOff = maintenance.Request{Action: engine.HoldHosts, Reason: "DIMM", Drain: true, PowerOff: true, For: engine.Duration(time.Hour)}
	releaseDrained = maintenance.Request{Action: engine.ReleaseHosts, Force: true, PowerOn: true} // by another bastion
)

const drainedLog = "lease worker-0, cordon worker-0, evict db0, evict web0"

// TestHoldDrain: a node is drained under the hold of a person, and released from another bastion once its kubelet reports the boot of the host.
// Nothing is left: no cordon and no lease.
func TestHoldDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDrainedSite(t, engine.KubernetesDrain{})
		began := time.Now()
		if end := s.ask(t.Context(), s.ann, holdDrainedOff, nil); end.Exit != engine.ExitOK {
			t.Fatal(findingsText(end))
		}
		h := s.Host("worker-0").Hold()
		if h == nil || h.Drain == nil || *h.Drain != (engine.HoldDrain{Name: "pods", Done: true, Kubernetes: "main", Node: "worker-0", Cordoned: true, Leased: true}) || s.bmc.power != "Off" || s.log() != drainedLog {
			t.Fatalf("%+v, power %s, %s", h, s.bmc.power, s.log())
		}
		if lasts := h.Expires.Sub(began); lasts > time.Hour+2*time.Second {
			t.Errorf("the hold lasts %s", lasts)
		}
		if end := s.ask(t.Context(), s.bob, maintenance.Request{Action: engine.ReleaseHosts, PowerOn: true}, nil); end.Exit != engine.ExitUnreachable && end.Exit != engine.ExitRefused {
			t.Errorf("released without --force: %s", findingsText(end))
		}
		if end := s.ask(t.Context(), s.ann, maintenance.Request{Action: engine.PowerHostsOn, Force: true}, nil); end.Exit != engine.ExitOK {
			t.Fatal(findingsText(end))
		}
		time.Sleep(2 * time.Minute)
		if end := s.ask(t.Context(), s.bob, releaseDrained, nil); end.Exit != engine.ExitOK {
			t.Fatal(findingsText(end))
		}
		if v := s.k.Violations(); s.Host("worker-0").Hold() != nil || len(v) > 0 || s.log() != drainedLog+", uncordon worker-0, release worker-0" {
			t.Errorf("%q, %s\n%s", v, s.log(), strings.Join(s.told, "\n"))
		}
	})
}

// TestHoldDrainOfPersonsNode: a node that a person has cordoned stays cordoned, and the hold tells so.
func TestHoldDrainOfPersonsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDrainedSite(t, engine.KubernetesDrain{})
		s.k.ChangeNode("worker-0", func(n *kubefacts.Node) { n.Cordoned = true })
		if end := s.ask(t.Context(), s.ann, holdDrained, nil); end.Exit != engine.ExitOK {
			t.Fatal(findingsText(end))
		}
		if d := s.Host("worker-0").Hold().Drain; d.Cordoned || !d.Leased || !d.Done {
			t.Errorf("%+v", d)
		}
		if end := s.ask(t.Context(), s.ann, maintenance.Request{Action: engine.ReleaseHosts}, nil); end.Exit != engine.ExitOK {
			t.Fatal(findingsText(end))
		}
		if v := s.k.Violations(); !s.k.Node("worker-0").Cordoned || len(v) > 0 {
			t.Errorf("%q, %s", v, s.log())
		}
	})
}

// TestHoldDrainFails: a host whose drain fails is given back. It stays held only if it was held before, or if the API is away.
func TestHoldDrainFails(t *testing.T) {
	for name, x := range map[string]struct {
		options engine.KubernetesDrain
		prepare func(*drainedSite)
		held    bool // by an earlier hold
		exit    engine.ExitCode
		log     string
		stays   bool // held
		says    string
	}{
		"a budget without room":                 {prepare: func(s *drainedSite) { s.k.AddBudget("b", "web", 0) }, exit: engine.ExitFailed, log: "lease worker-0, cordon worker-0, evict db0, uncordon worker-0, release worker-0", says: "a pod is left: t/web0 (PodDisruptionBudget t/b: it needs more healthy pods); it is neither drained nor held"},
		"a budget without room, on a held host": {prepare: func(s *drainedSite) { s.k.AddBudget("b", "web", 0) }, held: true, exit: engine.ExitFailed, log: "lease worker-0, cordon worker-0, evict db0, uncordon worker-0, release worker-0", stays: true, says: "it is held as before, and not drained"},
		"two budgets":                           {prepare: func(s *drainedSite) { s.k.AddBudget("a", "web", 1); s.k.AddBudget("b", "web", 1) }, exit: engine.ExitRefused, says: "its node cannot be drained: the PodDisruptionBudgets t/a and t/b both match"},
		"a foreign lease": {prepare: func(s *drainedSite) {
			s.k.SetLease(kubefacts.Lease{Node: "worker-0", Holder: "nhc", RenewedAt: time.Now(), Duration: time.Hour})
		}, exit: engine.ExitRefused, says: "nhc has the lease of its node; nothing was changed"},
		"a missing right": {prepare: func(s *drainedSite) {
			s.k.SetMissing(kubefacts.Right{Verb: "create", Resource: "pods", Subresource: "eviction"})
		}, exit: engine.ExitRefused, says: "may not create pods/eviction"},
		"the API is away": {options: engine.KubernetesDrain{WhenUnreachable: engine.SkipUnreachable}, prepare: func(s *drainedSite) { s.k.SetAway(true) }, exit: engine.ExitUnreachable, says: "so it cannot be drained"},
		"somebody has uncordoned": {prepare: func(s *drainedSite) {
			s.k.OnEvict(func(string) { s.k.ChangeNode("worker-0", func(n *kubefacts.Node) { n.Cordoned = false }) })
		}, exit: engine.ExitFailed, log: drainedLog + ", uncordon worker-0, release worker-0", says: "somebody has uncordoned node worker-0; it is neither drained nor held"},
		"the API is lost": {prepare: func(s *drainedSite) {
			s.k.OnEvict(func(string) { s.k.SetAway(true) })
		}, exit: engine.ExitFailed, log: "lease worker-0, cordon worker-0, evict db0", stays: true, says: "it stays held, and may be drained: the same command goes on, and holdfast release worker-0 undoes it"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newDrainedSite(t, x.options)
				if x.held {
					s.ask(t.Context(), s.ann, maintenance.Request{Action: engine.HoldHosts, Reason: "DIMM"}, nil)
				}
				x.prepare(s)
				end := s.ask(t.Context(), s.ann, holdDrainedOff, nil)
				h := s.Host("worker-0").Hold()
				if end.Exit != x.exit || s.log() != x.log || (h != nil) != x.stays || !strings.Contains(findingsText(end), x.says) || s.bmc.power != "On" {
					t.Errorf("exit %d, %s, held %v, power %s\n%s", end.Exit, s.log(), h, s.bmc.power, findingsText(end))
				}
				if x.held && h.Drain != nil {
					t.Errorf("%+v", h.Drain)
				}
				if v := s.k.Violations(); len(v) > 0 && !strings.Contains(x.says, "may be drained") {
					t.Errorf("%q", v)
				}
			})
		})
	}
}

// holdDrained holds and drains a host for the person of a bastion.
func (s *drainedSite) holdDrained(ctx context.Context, b *simulator.Bastion, host string, watch func(event.Event)) event.RunEnd {
	b.Watch = watch
	run, r := b.Run(), holdDrained
	run.Power, run.Nodes, run.Holds = s.bmc, s.k, s.mem[b.ID]
	r.Holder, r.Bastion, r.Hosts = run.Start.Holder, run.Start.Bastion, []string{host}
	return run.Maintain(ctx, r)
}

// TestTwoPeopleDrain: two people read the site before either of them takes a hold. The one that takes it last gives its host back, and
// at most one goes on if they do so at the same moment.
func TestTwoPeopleDrain(t *testing.T) {
	isPlanned := func(e event.Event) bool { return e.Type == event.MaintenancePlanned }
	const refusal = "max_unavailable of pool worker is 1, and 2 of its hosts would be unavailable: since the plan, "
	t.Run("one after the other", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newDrainedSite(t, engine.KubernetesDrain{})
			var bobs event.RunEnd
			anns := s.holdDrained(t.Context(), s.ann, "worker-0", func(e event.Event) {
				if isPlanned(e) {
					bobs = s.holdDrained(t.Context(), s.bob, "worker-1", nil)
				}
			})
			if said := findingsText(anns); anns.Exit != engine.ExitRefused || s.Host("worker-0").Hold() != nil || s.k.Node("worker-0").Cordoned || !strings.Contains(said, refusal+"worker-1 is held by ") || !strings.Contains(said, "; it is neither drained nor held") {
				t.Errorf("exit %d, %s, %+v", anns.Exit, said, s.Host("worker-0").Hold())
			}
			if h := s.Host("worker-1").Hold(); bobs.Exit != engine.ExitOK || !h.IsDrained() {
				t.Errorf("exit %d, %s, %+v", bobs.Exit, findingsText(bobs), h)
			}
		})
	})
	t.Run("at the same moment", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newDrainedSite(t, engine.KubernetesDrain{})
			planned, work := make(chan struct{}, 2), sync.WaitGroup{}
			var ends [2]event.RunEnd
			for i, b := range []*simulator.Bastion{s.ann, s.bob} {
				work.Go(func() {
					ends[i] = s.holdDrained(t.Context(), b, []string{"worker-0", "worker-1"}[i], func(e event.Event) {
						if isPlanned(e) {
							planned <- struct{}{}
							for len(planned) < 2 {
								time.Sleep(time.Second)
							}
						}
					})
				})
			}
			work.Wait()
			drained := 0
			for i, host := range []string{"worker-0", "worker-1"} {
				h := s.Host(host).Hold()
				if h != nil && h.IsDrained() {
					drained++
				}
				if ends[i].Exit != engine.ExitOK && (ends[i].Exit != engine.ExitRefused || h != nil || !strings.Contains(findingsText(ends[i]), refusal)) {
					t.Errorf("%s: exit %d, %s, %+v", host, ends[i].Exit, findingsText(ends[i]), h)
				}
			}
			if drained > 1 {
				t.Error("both are drained")
			}
		})
	})
	t.Run("forced", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newDrainedSite(t, engine.KubernetesDrain{})
			force := holdDrained
			force.Force = true
			end := s.ask(t.Context(), s.ann, force, func(e event.Event) {
				if isPlanned(e) {
					s.holdDrained(t.Context(), s.bob, "worker-1", nil)
				}
			})
			if h := s.Host("worker-0").Hold(); end.Exit != engine.ExitOK || !h.IsDrained() {
				t.Errorf("exit %d, %s, %+v", end.Exit, findingsText(end), h)
			}
		})
	})
}

// TestPowerOffCountsNodes: a node that is not Ready uses up the budget of hosts that are switched off.
func TestPowerOffCountsNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDrainedSite(t, engine.KubernetesDrain{})
		s.k.ChangeNode("worker-1", func(n *kubefacts.Node) { n.Ready, n.NotReady = false, "KubeletDown" })
		end := s.ask(t.Context(), s.ann, holdOff, nil)
		if end.Exit != engine.ExitRefused || s.Host("worker-0").Hold() != nil || s.bmc.power != "On" || !strings.Contains(findingsText(end), "2 of 2 hosts would be unavailable, and max_unavailable is 1 (worker-1 ") {
			t.Errorf("exit %d, power %s, %s", end.Exit, s.bmc.power, findingsText(end))
		}
	})
}

// TestHoldDrainIsNotedInANewerHold: another command of the person writes the hold right before the drain is noted in it. Nothing is lost.
func TestHoldDrainIsNotedInANewerHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDrainedSite(t, engine.KubernetesDrain{})
		writes := 0
		s.ann.Fault = func(c simulator.Call) simulator.Fault {
			if c.Verb == "hold" {
				if writes++; writes == 2 {
					newer := *s.Host("worker-0").Hold()
					newer.Reason = "DIMM and fans"
					s.Host("worker-0").SetHold(&newer)
				}
			}
			return simulator.NoFault
		}
		end := s.ask(t.Context(), s.ann, holdDrained, nil)
		if h := s.Host("worker-0").Hold(); end.Exit != engine.ExitOK || h == nil || !h.IsDrained() || h.Reason != "DIMM and fans" {
			t.Errorf("exit %d, %s, %+v", end.Exit, findingsText(end), h)
		}
	})
}

// TestHoldDrainContinues: with on_timeout = "continue", the host is switched off with the pods that are left.
func TestHoldDrainContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDrainedSite(t, engine.KubernetesDrain{OnTimeout: engine.ContinueOnTimeout})
		s.k.AddBudget("b", "web", 0)
		if end := s.ask(t.Context(), s.ann, holdDrainedOff, nil); end.Exit != engine.ExitOK || s.bmc.power != "Off" {
			t.Errorf("%s, power %s", findingsText(end), s.bmc.power)
		}
	})
}

// TestHoldDrainIsKilled: the command is killed after each of its events, and so is the release. The same command goes on, and a release undoes it.
func TestHoldDrainIsKilled(t *testing.T) {
	for _, undone := range []bool{false, true} {
		for n := range 60 {
			killed := false
			synctest.Test(t, func(t *testing.T) {
				s := newDrainedSite(t, engine.KubernetesDrain{})
				kill := func(r maintenance.Request) {
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					seen := 0
					s.ask(ctx, s.ann, r, func(event.Event) {
						if seen++; seen > n {
							killed = true
							cancel(errors.New("killed"))
						}
					})
				}
				hold, release := holdDrainedOff, maintenance.Request{Action: engine.ReleaseHosts, PowerOn: true}
				if undone {
					hold, release = holdDrained, maintenance.Request{Action: engine.ReleaseHosts}
				}
				kill(hold)
				if !undone {
					if end := s.ask(t.Context(), s.ann, hold, nil); end.Exit != engine.ExitOK || s.bmc.power != "Off" {
						t.Fatalf("after a kill at event %d: %s, power %s\n%s", n, findingsText(end), s.bmc.power, s.log())
					}
					kill(maintenance.Request{Action: engine.PowerHostsOn, Force: true})
					s.ask(t.Context(), s.ann, maintenance.Request{Action: engine.PowerHostsOn, Force: true}, nil)
					time.Sleep(2 * time.Minute)
					kill(release)
				}
				if end := s.ask(t.Context(), s.ann, release, nil); end.Exit != engine.ExitOK {
					t.Fatalf("release after a kill at event %d: %s\n%s", n, findingsText(end), s.log())
				}
				if v := s.k.Violations(); s.Host("worker-0").Hold() != nil || len(v) > 0 {
					t.Errorf("killed at event %d: %+v, %q, %s", n, s.Host("worker-0").Hold(), v, s.log())
				}
			})
			if !killed {
				break
			}
		}
	}
}

// TestReleaseOfNodeThatIsNotReady: the host stays held and drained until its node is Ready, unless the person forces it.
func TestReleaseOfNodeThatIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDrainedSite(t, engine.KubernetesDrain{})
		s.ask(t.Context(), s.ann, holdDrained, nil)
		s.k.ChangeNode("worker-0", func(n *kubefacts.Node) { n.Ready, n.NotReady = false, "KubeletDown" })
		end := s.ask(t.Context(), s.ann, maintenance.Request{Action: engine.ReleaseHosts}, nil)
		if said := findingsText(end); end.Exit != engine.ExitFailed || s.Host("worker-0").Hold() == nil || s.log() != drainedLog || !strings.Contains(said, "node worker-0 is not Ready (KubeletDown)") || !strings.Contains(said, "it is still held and drained: mend this, and release it again; --force ends the hold all the same") {
			t.Fatalf("exit %d, %s\n%s", end.Exit, s.log(), said)
		}
		if end := s.ask(t.Context(), s.ann, maintenance.Request{Action: engine.ReleaseHosts, Force: true}, nil); end.Exit != engine.ExitOK || s.Host("worker-0").Hold() != nil || len(s.k.Violations()) > 0 {
			t.Errorf("%s, %s", findingsText(end), s.log())
		}
	})
}

// TestReleaseOfAForgedHold: a hold names the node of another host. Nothing is undone there.
func TestReleaseOfAForgedHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDrainedSite(t, engine.KubernetesDrain{})
		s.k.ChangeNode("worker-1", func(n *kubefacts.Node) { n.Cordoned, n.CordonedBy = true, "holdfast-x-r1" })
		s.ask(t.Context(), s.ann, maintenance.Request{Action: engine.HoldHosts, Reason: "x"}, nil)
		s.Host("worker-0").ForgeDrain(engine.HoldDrain{Name: "pods", Done: true, Kubernetes: "main", Node: "worker-1", Cordoned: true})
		end := s.ask(t.Context(), s.ann, maintenance.Request{Action: engine.ReleaseHosts}, nil)
		if end.Exit != engine.ExitFailed || !s.k.Node("worker-1").Cordoned || s.log() != "" || !strings.Contains(findingsText(end), "its hold says that node worker-1 is drained, and its node is worker-0") {
			t.Errorf("exit %d, %s\n%s", end.Exit, s.log(), findingsText(end))
		}
	})
}

// TestReleaseOfANodeThatIsGone: the cluster of the inventory has no node with the name in the hold, because the node was replaced, the
// inventory is another one, or the hold is forged. The host is released, and the person is told that its node may be cordoned.
func TestReleaseOfANodeThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDrainedSite(t, engine.KubernetesDrain{})
		s.ask(t.Context(), s.ann, holdDrained, nil)
		s.Host("worker-0").ForgeDrain(engine.HoldDrain{Name: "pods", Done: true, Kubernetes: "main", Node: "worker-9", Cordoned: true})
		end := s.ask(t.Context(), s.ann, maintenance.Request{Action: engine.ReleaseHosts}, nil)
		const want = "Kubernetes cluster main has no node worker-9, which its hold says is drained, so no node was uncordoned; look with kubectl get nodes"
		if end.Exit != engine.ExitOK || s.Host("worker-0").Hold() != nil || s.log() != drainedLog || !slices.Contains(s.told, want) {
			t.Errorf("exit %d, %s, %q", end.Exit, s.log(), s.told)
		}
	})
}

// TestRunsLeaveADrainedHostAlone: a run of another bastion treats it as any held host, and updates it after the release without a rest.
func TestRunsLeaveADrainedHostAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDrainedSite(t, engine.KubernetesDrain{})
		s.Inventory.Pools[len(s.Inventory.Pools)-1].MaxUnavailable.Count = 2
		s.ask(t.Context(), s.ann, holdDrained, nil)
		nodes := func(r *rollout.Run) { r.Nodes = s.k }
		run := s.Bastion("run-1")
		var drained bool
		run.Watch = func(e event.Event) {
			if e.Plan != nil {
				drained = len(e.Plan.Reserved) == 1 && e.Plan.Reserved[0].Drained
			}
		}
		end := applyRun(run, nodes)
		if end.Exit != engine.ExitRefused || !drained || s.Host("worker-0").State().Booted != simulator.V1 || s.Host("worker-1").State().Booted != simulator.V2 || !s.k.Node("worker-0").Cordoned {
			t.Errorf("%s, drained %v", findingsText(end), drained)
		}
		s.ask(t.Context(), s.ann, maintenance.Request{Action: engine.ReleaseHosts}, nil)
		if end := applyRun(s.Bastion("run-2"), nodes); end.Exit != engine.ExitOK || s.Host("worker-0").State().Booted != simulator.V2 || len(s.k.Violations()) > 0 {
			t.Errorf("%s, %q", findingsText(end), s.k.Violations())
		}
	})
}

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
	"holdfast/engine/kubefacts"
	"holdfast/engine/resource"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// newRollbackSite returns a site of two workers that are drained through the API and roll back a failed OS. worker-1 has the new OS already. A gate
// after worker-0 fails while it runs the new OS.
func newRollbackSite(t *testing.T) (*simulator.Site, *simulator.Kubernetes) {
	site, k := newDrainingSite(t, engine.KubernetesDrain{})
	for i := range site.Inventory.Pools {
		p := &site.Inventory.Pools[i]
		p.OnFailure = engine.RollbackFailed
		p.Gates = []engine.Gate{{Name: "serves", Command: "serves", When: []engine.GateWhen{engine.AfterHost}, Timeout: engine.Duration(time.Minute)}}
	}
	k.RunOn(site)
	site.Host("worker-1").Boot(simulator.V2)
	return site, k
}

// judgeNewOS lets the gate of the site fail on the new OS.
func judgeNewOS(site *simulator.Site, b *simulator.Bastion) *simulator.Bastion {
	b.Command = func(c simulator.Command) *rollout.Reply {
		if c.Text == "serves" && site.Host("worker-0").State().Booted == simulator.V2 {
			return &rollout.Reply{Code: 1, Stderr: "502\n"}
		}
		return nil
	}
	return b
}

// bindLate binds a pod to worker-0 at the first uncordon, as a scheduler does.
func bindLate(k *simulator.Kubernetes, b *simulator.Bastion) {
	bound := false
	b.Watch = func(e event.Event) {
		if e.Type == event.StepEnded && e.Step == "undrain" && !bound {
			bound = true
			k.AddPod("worker-0", kubefacts.Pod{Name: "late", Labels: map[string]string{"app": "late"}, Controlled: true, Ready: true})
		}
	}
}

func withNodes(k rollout.Nodes) func(*rollout.Run) { return func(r *rollout.Run) { r.Nodes = k } }

const (
	firstDrain  = "lease worker-0, cordon worker-0, evict db0, evict web0, uncordon worker-0, release worker-0"
	secondDrain = ", lease worker-0, cordon worker-0, evict late"
	secondEnd   = ", uncordon worker-0, release worker-0"
)

// TestRollbackDrainsAgain: the scheduler puts pods on a host that is uncordoned. So a rollback after that drains the host first, also if a dead run
// has uncordoned it. If it cannot, the host stays held on the new OS.
func TestRollbackDrainsAgain(t *testing.T) {
	for name, x := range map[string]struct {
		prepare func(*simulator.Kubernetes)
		killed  bool // at the gate, and the next run rolls back
		booted  string
		log     string
	}{
		"the gate fails":         {func(*simulator.Kubernetes) {}, false, simulator.V1, firstDrain + secondDrain + secondEnd},
		"a dead run undrained":   {func(*simulator.Kubernetes) {}, true, simulator.V1, firstDrain + secondDrain + secondEnd},
		"a budget without room":  {func(k *simulator.Kubernetes) { k.AddBudget("b", "late", 0) }, false, simulator.V2, firstDrain + ", lease worker-0, cordon worker-0"},
		"dead, and without room": {func(k *simulator.Kubernetes) { k.AddBudget("b", "late", 0) }, true, simulator.V2, firstDrain + ", lease worker-0, cordon worker-0"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site, k := newRollbackSite(t)
				x.prepare(k)
				b := judgeNewOS(site, site.Bastion("run-1"))
				bindLate(k, b)
				if x.killed {
					judge := b.Command
					b.Command = func(c simulator.Command) *rollout.Reply {
						if c.Text == "serves" {
							b.Kill()
						}
						return judge(c)
					}
				}
				end := applyRun(b, withNodes(k))
				if x.killed {
					next := judgeNewOS(site, site.Bastion("run-2"))
					end = applyRun(next, withNodes(k), successorOf(b))
					b = next
				}
				h := site.Host("worker-0")
				if x.booted == simulator.V1 {
					failOnErrors(t, checkRolledBack(h))
				} else {
					failOnErrors(t, checkHeldFor(h, b.ID, "it could not be rolled back: drain: "))
				}
				if log := strings.Join(k.Log(), ", "); end.Exit != engine.ExitFailed || h.State().Booted != x.booted || log != x.log {
					t.Errorf("exit %d, %s\n%s\n%s", end.Exit, h.State().Booted, log, runTranscript(b))
				}
				failOnErrors(t, checkLaws(site))
			})
		})
	}
}

// TestRollbackOfDrainedHost: a host that this run has drained is rolled back while the API is away. One that a dead run has
// drained is drained again, which changes nothing if its drain was finished.
func TestRollbackOfDrainedHost(t *testing.T) {
	for _, killed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			site, k := newRollbackSite(t)
			site.Host("worker-0").Change(failNewOS)
			atUnits := func(b *simulator.Bastion, do func()) {
				b.Watch = func(e event.Event) {
					switch {
					case e.Type == event.StepStarted && e.Step == "wait for units" && site.Host("worker-0").State().Booted == simulator.V2:
						do()
					case e.Type == event.StepEnded && e.Step == "wait for the previous OS":
						k.SetAway(false)
					}
				}
			}
			b, before := site.Bastion("run-1"), func(*rollout.Run) {}
			if killed {
				atUnits(b, b.Kill)
				applyRun(b, withNodes(k))
				b, before = site.Bastion("run-2"), successorOf(b)
			}
			want := firstDrain
			if killed { // the drain of the dead run may not have been finished
				want = "lease worker-0, cordon worker-0, evict db0, evict web0, lease worker-0, uncordon worker-0, release worker-0"
			}
			atUnits(b, func() { k.SetAway(!killed) })
			end := applyRun(b, withNodes(k), before)
			if log := strings.Join(k.Log(), ", "); end.Exit != engine.ExitFailed || log != want {
				t.Errorf("killed %v: exit %d, %s\n%s", killed, end.Exit, log, runTranscript(b))
			}
			failOnErrors(t, checkRolledBack(site.Host("worker-0")), checkLaws(site))
		})
	}
}

// TestRollbackDrainsAgainByCommand is TestRollbackDrainsAgain with a drain that is a command.
func TestRollbackDrainsAgainByCommand(t *testing.T) {
	for name, x := range map[string]struct {
		trait    func(*simulator.Traits)
		commands []string
	}{
		"after the undrain":  {func(*simulator.Traits) {}, []string{"drain", "undrain", "drain", "undrain"}},
		"before the undrain": {failNewOS, []string{"drain", "undrain"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inv := goesBack(0, 1)
				inv.Pools[1].Drain = &engine.Drain{Name: "d", Command: "drain", Undo: "undrain"}
				inv.Pools[1].Gates = []engine.Gate{{Name: "serves", Command: "serves", When: []engine.GateWhen{engine.AfterHost}, Timeout: engine.Duration(time.Minute)}}
				site := newSite(inv)
				site.Host("worker-0").Change(x.trait)
				b := judgeNewOS(site, site.Bastion("run-1"))
				end := applyRun(b)
				var commands []string
				for _, e := range b.Events() {
					if e.Type == event.StepStarted && (e.Step == "drain" || e.Step == "undrain") {
						commands = append(commands, e.Step)
					}
				}
				if end.Exit != engine.ExitFailed || !slices.Equal(commands, x.commands) {
					t.Errorf("exit %d, %q\n%s", end.Exit, commands, runTranscript(b))
				}
				failOnErrors(t, checkRolledBack(site.Host("worker-0")), checkLaws(site))
			})
		})
	}
}

// staleNodes answers as an API that has not noticed yet that a host has gone down: the node is Ready, in the last boot of the new OS.
type staleNodes struct {
	*simulator.Kubernetes
	host *simulator.Host
	last *resource.BootID
}

func (s staleNodes) ReadNode(ctx context.Context, cluster, node string) (kubefacts.Node, *kubefacts.Problem) {
	n, problem := s.Kubernetes.ReadNode(ctx, cluster, node)
	switch {
	case node != s.host.Name:
	case s.host.State().Booted == simulator.V2 && n.Ready:
		*s.last = resource.BootID(n.BootID)
	case *s.last != "":
		n.Ready, n.NotReady, n.BootID = true, "", s.last.Kernel()
	}
	return n, problem
}

// TestRollbackWaitsForNode: the API still calls the node Ready in the boot of the new OS, so the host that runs its previous OS is not undrained.
func TestRollbackWaitsForNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, k := newRollbackSite(t)
		b := judgeNewOS(site, site.Bastion("run-1"))
		end := applyRun(b, withNodes(staleNodes{k, site.Host("worker-0"), new(resource.BootID)}))
		h := site.Host("worker-0")
		if err := checkHeldFor(h, "run-1", "has not reported the present boot of its host"); err != nil || end.Exit != engine.ExitFailed || h.State().Booted != simulator.V1 || !k.Node("worker-0").Cordoned {
			t.Error(fmt.Sprint(err), end.Exit, h.State().Booted, runTranscript(b))
		}
		failOnErrors(t, checkLaws(site))
	})
}

package rollout_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/kubefacts"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// cluster is a Kubernetes cluster whose nodes are hosts. Each node is always Ready, and each answer is of another boot.
type cluster struct {
	rollout.Nodes
	hosts []engine.Host

	mu    sync.Mutex
	boots int
	asked []string // nodes whose pods were read, one string for each question
	load  kubefacts.Workload
}

func (c *cluster) Gather(context.Context, []string) map[string]kubefacts.ClusterFacts {
	facts := kubefacts.ClusterFacts{Name: "main"}
	for _, h := range c.hosts {
		facts.Nodes = append(facts.Nodes, kubefacts.Node{Name: h.Name, Ready: true, BootID: "before"})
	}
	return map[string]kubefacts.ClusterFacts{"main": facts}
}

func (c *cluster) ReadWorkloads(_ context.Context, nodes map[string][]string) map[string]kubefacts.Workload {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, fmt.Sprint(nodes))
	w := kubefacts.Workload{Pods: map[string][]kubefacts.Pod{}, Budgets: c.load.Budgets}
	for _, name := range nodes["main"] {
		w.Pods[name] = c.load.Pods[name]
	}
	return map[string]kubefacts.Workload{"main": w}
}

func (c *cluster) ReadNode(_ context.Context, _, node string) (kubefacts.Node, *kubefacts.Problem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boots++
	return kubefacts.Node{Name: node, Ready: true, BootID: fmt.Sprint("boot ", c.boots)}, nil
}

// TestDrainsAreForecastOnce: a run reads pods for its first plan only, and only of nodes with work.
func TestDrainsAreForecastOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := simulator.Fleet(0, 3)
		inv.Kubernetes = []engine.KubernetesCluster{{Name: "main"}}
		for i := range inv.Hosts {
			inv.Hosts[i].Kubernetes = "main"
		}
		nodes := &cluster{hosts: inv.Hosts, load: kubefacts.Workload{Pods: map[string][]kubefacts.Pod{"worker-1": {{Namespace: "t", Name: "alone", Ready: true}}}}}
		site := newSite(inv)
		site.Host("worker-0").Boot(simulator.V2)
		var drains []int
		var warnings []string
		b := site.Bastion("run-1")
		b.Watch = func(e event.Event) {
			if e.Plan != nil {
				drains, warnings = append(drains, len(e.Plan.Drains)), append(warnings, e.Plan.Warnings...)
			}
		}
		end := applyRun(b, func(r *rollout.Run) { r.Nodes = nodes })
		failOnErrors(t, checkEnd(end, engine.ExitOK, "every host matches"))
		if fmt.Sprint(nodes.asked) != "[map[main:[worker-1 worker-2]]]" || len(drains) == 0 || drains[0] != 2 {
			t.Errorf("asked %v, forecast %v", nodes.asked, drains)
		}
		if want := "worker-1: a drain may fail: no controller makes the pod again"; !strings.Contains(strings.Join(warnings, "\n"), want) {
			t.Errorf("%q", warnings)
		}
	})
}

// TestOnlyTheNodesOfABatchAreRead: before a batch with several drains, a run reads the pods of the nodes of this batch, and of those that
// take the place of a host that is left out. It reads all nodes only if the batch keeps changing.
func TestOnlyTheNodesOfABatchAreRead(t *testing.T) {
	budget := kubefacts.Budget{
		Namespace: "t", Name: "web", Expected: 3, Desired: 2, Healthy: 3, Allowed: 1,
		Selector: kubefacts.Selector{Requirements: []kubefacts.Requirement{{Key: "app", Operator: kubefacts.In, Values: []string{"web"}}}},
	}
	for name, x := range map[string]struct {
		shared []int // workers with a pod of the budget
		asked  string
	}{
		"no shared budget":         {nil, "[worker-0 worker-1]"},
		"another takes the place":  {[]int{0, 1}, "[worker-0 worker-1] [worker-0 worker-1 worker-2]"},
		"the batch keeps changing": {[]int{0, 1, 2, 3, 4, 5}, "[worker-0 worker-1] [worker-0 worker-1 worker-2] [worker-0 worker-1 worker-2 worker-3] [worker-0 worker-1 worker-2 worker-3 worker-4 worker-5]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inv := simulator.Fleet(0, 6)
				inv.Kubernetes = []engine.KubernetesCluster{{Name: "main"}}
				inv.Pools[1].MaxUnavailable = engine.CountOrPercent{Count: 2, Set: true}
				for i := range inv.Hosts {
					inv.Hosts[i].Kubernetes = "main"
				}
				nodes := &cluster{hosts: inv.Hosts, load: kubefacts.Workload{Pods: map[string][]kubefacts.Pod{}, Budgets: map[string][]kubefacts.Budget{"t": {budget}}}}
				for _, i := range x.shared {
					nodes.load.Pods[inv.Hosts[i].Name] = []kubefacts.Pod{{Namespace: "t", Name: "web", Labels: map[string]string{"app": "web"}, Controlled: true, Ready: true}}
				}
				var asked []string // before the first batch, without the forecast
				b := newSite(inv).Bastion("run-1")
				b.Watch = func(e event.Event) {
					if e.Type == event.BatchStarted && asked == nil {
						asked = nodes.asked[1:]
					}
				}
				end := applyRun(b, func(r *rollout.Run) { r.Nodes = nodes })
				failOnErrors(t, checkEnd(end, engine.ExitOK, "every host matches"))
				want := "map[main:" + strings.ReplaceAll(x.asked, "] [", "]] map[main:[") + "]"
				if got := strings.Join(asked, " "); got != want {
					t.Errorf("asked %s, not %s", got, want)
				}
			})
		})
	}
}

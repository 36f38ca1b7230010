package planner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
	"holdfast/engine/planner"
)

// planWithNodes plans for workers that are nodes of a cluster, whose states are changed.
func planWithNodes(w *world, change func(facts map[string]engine.Facts, cluster *kubefacts.ClusterFacts)) engine.Plan {
	in := w.input()
	in.Inventory.Kubernetes = []engine.KubernetesCluster{{Name: "main"}}
	c := kubefacts.ClusterFacts{Name: "main"}
	for i := range in.Inventory.Hosts {
		h := &in.Inventory.Hosts[i]
		h.Kubernetes = "main"
		c.Nodes = append(c.Nodes, kubefacts.Node{Name: h.Name, Ready: true, BootID: "boot"})
	}
	change(in.Facts, &c)
	in.Kubernetes = map[string]kubefacts.ClusterFacts{"main": c}
	planner.AddNodes(in.Inventory, in.Facts, in.Kubernetes, in.Now)
	return planner.NewPlan(in)
}

// TestNodesUseUpBudgets: a node that takes no work counts as unavailable, once, whether or not its host has work.
func TestNodesUseUpBudgets(t *testing.T) {
	type facts = map[string]engine.Facts
	for name, x := range map[string]struct {
		world   func(*world)
		change  func(facts, *kubefacts.ClusterFacts)
		batches string // hosts of each batch
		says    string // an exclusion or a warning
	}{
		"all are Ready": {func(*world) {}, func(facts, *kubefacts.ClusterFacts) {}, "[[worker-0] [worker-1] [worker-2]]", ""},
		"one that matches is cordoned": {
			func(w *world) { w.hosts[0].work = "" }, func(_ facts, c *kubefacts.ClusterFacts) { c.Nodes[0].Cordoned = true },
			"[]", "max_unavailable is 1 and 1 of its hosts are unavailable already: worker-0 is cordoned as a node",
		},
		"one that matches is not Ready": {
			func(w *world) { w.hosts[0].work = "" }, func(_ facts, c *kubefacts.ClusterFacts) {
				c.Nodes[0].Ready, c.Nodes[0].NotReady = false, "KubeletNotReady: no network"
			},
			"[]", "worker-0: unavailable: its node is not Ready (KubeletNotReady: no network)",
		},
		"room for two": {
			func(w *world) { w.hosts[0].work, w.pools[0].MaxUnavailable.Count = "", 2 }, func(_ facts, c *kubefacts.ClusterFacts) { c.Nodes[0].Cordoned = true },
			"[[worker-1] [worker-2]]", "worker-0: unavailable: its node is cordoned",
		},
		"one with work is not Ready: it goes first": {
			func(*world) {}, func(_ facts, c *kubefacts.ClusterFacts) { c.Nodes[2].Ready = false },
			"[[worker-2] [worker-0] [worker-1]]", "worker-2: unavailable: its node is not Ready",
		},
		"one with work stays cordoned by a person": {
			func(*world) {}, func(_ facts, c *kubefacts.ClusterFacts) { c.Nodes[2].Cordoned = true },
			"[[worker-2]]", "1 of its hosts are unavailable already: worker-2 is cordoned as a node",
		},
		"two with work are cordoned: one at a time": {
			func(*world) {}, func(_ facts, c *kubefacts.ClusterFacts) { c.Nodes[0].Cordoned, c.Nodes[2].Cordoned = true, true },
			"[[worker-0] [worker-2]]", "worker-[0,2]: unavailable: its node is cordoned",
		},
		"one failed and is held: a cordoned one still runs its pods": {
			func(w *world) {
				w.hosts[0].failed, w.hosts[0].hold, w.pools[0].FailureBudget.Count = true, "own", 3
			}, func(_ facts, c *kubefacts.ClusterFacts) { c.Nodes[0].Cordoned, c.Nodes[2].Cordoned = true, true },
			"[]", "max_unavailable is 1 and 1 of its hosts do no work already: worker-0 is failed; its node is only cordoned and still runs its pods, so it needs a seat of its own",
		},
		"one is unreachable: one that is not Ready can be repaired": {
			func(w *world) { w.hosts[0].lost = true }, func(_ facts, c *kubefacts.ClusterFacts) { c.Nodes[2].Ready = false },
			"[[worker-2]]", "max_unavailable is 1 and 1 of its hosts are unavailable already: worker-0 is unreachable",
		},
		"one is leased by another tool": {
			func(w *world) { w.pools[0].MaxUnavailable.Count = 2 }, func(f facts, c *kubefacts.ClusterFacts) {
				c.Leases = []kubefacts.Lease{{Node: "worker-0", Holder: "nhc", RenewedAt: now, Duration: 60e9}}
			},
			"[[worker-1] [worker-2]]", "nhc has the lease of its node; runs leave the host alone until that ends",
		},
		"a site with a budget": {
			func(w *world) {
				w.hosts[0].work, w.hosts[0].pool = "", "other"
				w.pools = append(w.pools, engine.Pool{Name: "other"})
				w.site = engine.CountOrPercent{Count: 1, Set: true}
			}, func(_ facts, c *kubefacts.ClusterFacts) { c.Nodes[0].Cordoned = true },
			"[]", "max_unavailable of the site is 1, and 1 of its hosts are unavailable already: worker-0 is cordoned as a node",
		},
		"no node": {
			func(*world) {}, func(_ facts, c *kubefacts.ClusterFacts) { c.Nodes = c.Nodes[1:] },
			"[]", "refused: worker-0: Kubernetes cluster main has no node with the name worker-0",
		},
		"two nodes": {
			func(*world) {}, func(_ facts, c *kubefacts.ClusterFacts) { c.Nodes[2].Addresses = []string{"worker-0"} },
			"[]", "refused: worker-0: Kubernetes cluster main has 2 nodes with its name or address: worker-0, worker-2; rename the host",
		},
		"no node, and no work": {
			func(w *world) { w.hosts[0].work = "" }, func(_ facts, c *kubefacts.ClusterFacts) { c.Nodes = c.Nodes[1:] },
			"[[worker-1] [worker-2]]", "worker-0: Kubernetes cluster main has no node with the name worker-0",
		},
		"no API, and nothing to drain": {
			func(*world) {}, func(_ facts, c *kubefacts.ClusterFacts) {
				c.Problem, c.Nodes = &kubefacts.Problem{Cause: "refused", Hint: "start it"}, nil
			},
			"[[worker-0] [worker-1] [worker-2]]", "Kubernetes cluster main: refused; start it; no budget counts its nodes",
		},
		"no API, and drains": {
			func(w *world) { w.pools[0].Drain = &engine.Drain{Command: "kubectl drain"} }, func(_ facts, c *kubefacts.ClusterFacts) {
				c.Problem, c.Nodes = &kubefacts.Problem{Cause: "refused", Hint: "start it"}, nil
			},
			"[]", "does not tell: refused; so nobody knows whether it can be drained",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := rebootingWorkers(3, 1)
			x.world(w)
			p := planWithNodes(w, x.change)
			batches := [][]string{}
			for _, b := range p.Batches {
				batches = append(batches, b.Hosts)
			}
			if got := fmt.Sprint(batches); got != x.batches {
				t.Errorf("batches %s, want %s", got, x.batches)
			}
			said := slices.Clone(p.Warnings)
			for _, r := range p.Refusals {
				said = append(said, "refused: "+r)
			}
			for _, e := range p.Excluded {
				said = append(said, e.Host+": "+e.Reason)
			}
			if !strings.Contains(strings.Join(said, "\n"), x.says) {
				t.Errorf("it does not say %q:\n%s", x.says, strings.Join(said, "\n"))
			}
		})
	}
}

// TestDrainForecast: the plan tells the pods that go, and what stops their drains, once for all hosts.
func TestDrainForecast(t *testing.T) {
	w := rebootingWorkers(3, 1)
	w.pools[0].Drain = &engine.Drain{Command: "down", Undo: "up"}
	w.hosts[2].work = "quiet"
	in := w.input()
	in.Inventory.Kubernetes = []engine.KubernetesCluster{{Name: "main"}}
	c := kubefacts.ClusterFacts{Name: "main"}
	for i := range in.Inventory.Hosts {
		in.Inventory.Hosts[i].Kubernetes = "main"
		c.Nodes = append(c.Nodes, kubefacts.Node{Name: in.Inventory.Hosts[i].Name, Ready: true})
	}
	in.Kubernetes = map[string]kubefacts.ClusterFacts{"main": c}
	planner.AddNodes(in.Inventory, in.Facts, in.Kubernetes, in.Now)
	survey := planner.NewSurvey(in)
	if got := fmt.Sprint(survey.NodesToDrain()); got != "map[main:[worker-0 worker-1]]" {
		t.Fatal(got)
	}
	pod := func(name string) []kubefacts.Pod {
		return []kubefacts.Pod{{Namespace: "t", Name: name, Controlled: true, Ready: true}, {Namespace: "u", Name: name, Controlled: true, Ready: true}}
	}
	load := kubefacts.Workload{
		Pods:    map[string][]kubefacts.Pod{"worker-0": pod("a"), "worker-1": pod("b"), "worker-2": pod("c")},
		Budgets: map[string][]kubefacts.Budget{"t": {{Namespace: "t", Name: "never", Expected: 2, Desired: 2, Healthy: 2}}},
	}
	plan := survey.WithWorkloads(map[string]kubefacts.Workload{"main": load}).Plan(in.Now, nil)
	if len(plan.Drains) != 2 || plan.Drains[0].Pods != 2 || plan.Drains[0].Obstacles[0].Kind != kubefacts.BudgetImpossible {
		t.Errorf("%+v", plan.Drains)
	}
	want := "worker-[0-1]: a drain may fail: PodDisruptionBudget t/never needs 2 healthy pods of 2, so it never allows an eviction; change its minAvailable or maxUnavailable, or add pods (t/a, t/b)"
	if !slices.Contains(plan.Warnings, want) {
		t.Errorf("%q", plan.Warnings)
	}
	gone := map[string]kubefacts.Workload{"main": {Problem: &kubefacts.Problem{Cause: "refused", Hint: "start it"}}}
	plan = survey.WithWorkloads(gone).Plan(in.Now, nil)
	if want := "worker-[0-1]: the pods of Kubernetes cluster main are not known, nor what stops a drain: refused; start it"; !slices.Contains(plan.Warnings, want) {
		t.Errorf("%q", plan.Warnings)
	}
	if plan := survey.Plan(in.Now, nil); plan.Drains != nil {
		t.Errorf("%+v", plan.Drains)
	}
}

// TestDrainRoom: a batch has as many hosts as the budgets of their pods have room for, and at least one.
func TestDrainRoom(t *testing.T) {
	pod := func(app string, ready bool) kubefacts.Pod {
		return kubefacts.Pod{Namespace: "t", Name: app, Labels: map[string]string{"app": app}, Controlled: true, Ready: ready}
	}
	budget := func(app string, allowed int) kubefacts.Budget {
		return kubefacts.Budget{Namespace: "t", Name: app, Expected: 9, Desired: 1, Healthy: 9, Allowed: allowed, Selector: kubefacts.Selector{Requirements: []kubefacts.Requirement{{Key: "app", Operator: kubefacts.In, Values: []string{app}}}}}
	}
	web, db, typha := pod("web", true), pod("db", true), pod("typha", true)
	newTypha := typha
	newTypha.ToleratesCordon = true
	for name, x := range map[string]struct {
		pods    [3][]kubefacts.Pod
		budgets []kubefacts.Budget
		batches string
		warned  string
		share   bool
	}{
		"shared budgets":              {[3][]kubefacts.Pod{{web}, {web}, {web}}, []kubefacts.Budget{budget("web", 1)}, "[[worker-0 worker-1 worker-2]]", "", true},
		"shared, but they come back":  {[3][]kubefacts.Pod{{newTypha, web}, {newTypha, web}, {web}}, []kubefacts.Budget{budget("typha", 1), budget("web", 1)}, "[[worker-0 worker-2] [worker-1]]", "worker-1: in a later batch: PodDisruptionBudget t/typha of Kubernetes cluster main allows 1 eviction now, and its pods are also on other hosts of the batch", true},
		"shared, and some come back":  {[3][]kubefacts.Pod{{typha}, {newTypha}, {web}}, []kubefacts.Budget{budget("typha", 1), budget("web", 1)}, "[[worker-0 worker-2] [worker-1]]", "worker-1: in a later batch: PodDisruptionBudget t/typha of Kubernetes cluster main allows 1 eviction now, and its pods are also on other hosts of the batch", true},
		"no budgets":                  {[3][]kubefacts.Pod{{web}, {web}, {web}}, nil, "[[worker-0 worker-1 worker-2]]", "", false},
		"room for all":                {[3][]kubefacts.Pod{{web}, {web}, {web}}, []kubefacts.Budget{budget("web", 3)}, "[[worker-0 worker-1 worker-2]]", "", false},
		"room for two":                {[3][]kubefacts.Pod{{web}, {web}, {web}}, []kubefacts.Budget{budget("web", 2)}, "[[worker-0 worker-1] [worker-2]]", "worker-2: in a later batch: PodDisruptionBudget t/web of Kubernetes cluster main allows 2 evictions now, and its pods are also on other hosts of the batch", false},
		"room for one":                {[3][]kubefacts.Pod{{web}, {web}, {web}}, []kubefacts.Budget{budget("web", 1)}, "[[worker-0] [worker-1] [worker-2]]", "worker-[1-2]: in a later batch: PodDisruptionBudget t/web of Kubernetes cluster main allows 1 eviction now, and its pods are also on other hosts of the batch", false},
		"more pods than room":         {[3][]kubefacts.Pod{{web, web, web}, {db}, {web}}, []kubefacts.Budget{budget("web", 2)}, "[[worker-0 worker-1] [worker-2]]", "worker-2: in a later batch: PodDisruptionBudget t/web of Kubernetes cluster main allows 2 evictions now, and its pods are also on other hosts of the batch", false},
		"other budgets":               {[3][]kubefacts.Pod{{web}, {db}, {web}}, []kubefacts.Budget{budget("web", 1), budget("db", 1)}, "[[worker-0 worker-1] [worker-2]]", "worker-2: in a later batch: PodDisruptionBudget t/web of Kubernetes cluster main allows 1 eviction now, and its pods are also on other hosts of the batch", false},
		"pods that claim no eviction": {[3][]kubefacts.Pod{{web}, {pod("web", false)}, {}}, []kubefacts.Budget{budget("web", 1)}, "[[worker-0 worker-1 worker-2]]", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := rebootingWorkers(3, 3)
			w.pools[0].Drain = &engine.Drain{Name: "pods", Kubernetes: &engine.KubernetesDrain{ShareBudgets: x.share}}
			in := w.input()
			in.Inventory.Kubernetes = []engine.KubernetesCluster{{Name: "main"}}
			c, pods := kubefacts.ClusterFacts{Name: "main"}, map[string][]kubefacts.Pod{}
			for i := range in.Inventory.Hosts {
				h := &in.Inventory.Hosts[i]
				h.Kubernetes = "main"
				c.Nodes, pods[h.Name] = append(c.Nodes, kubefacts.Node{Name: h.Name, Ready: true}), x.pods[i]
			}
			in.Kubernetes = map[string]kubefacts.ClusterFacts{"main": c}
			planner.AddNodes(in.Inventory, in.Facts, in.Kubernetes, in.Now)
			load := map[string]kubefacts.Workload{"main": {Pods: pods, Budgets: map[string][]kubefacts.Budget{"t": x.budgets}}}
			survey := planner.NewSurvey(in)
			for _, s := range []planner.Survey{survey.WithWorkloads(load), survey.WithRoom(load)} {
				plan := s.Plan(in.Now, nil)
				batches := [][]string{}
				for _, b := range plan.Batches {
					batches = append(batches, b.Hosts)
				}
				var together []string
				if len(batches[0]) > 1 {
					together = batches[0]
				}
				if got := s.NodesDrainedTogether(plan)["main"]; !slices.Equal(got, together) {
					t.Errorf("%v: drained together: %v", batches, got)
				}
				later := slices.DeleteFunc(slices.Clone(plan.Warnings), func(text string) bool { return !strings.Contains(text, "in a later batch") })
				if fmt.Sprint(batches) != x.batches || strings.Join(later, "\n") != x.warned || len(plan.Excluded) > 0 {
					t.Errorf("%v, %q, %v", batches, later, plan.Excluded)
				}
			}
		})
	}
}

// TestDrainOfNodeNotReady: the drain knows whether the node was not Ready in the facts of the plan.
func TestDrainOfNodeNotReady(t *testing.T) {
	for _, ready := range []bool{true, false} {
		w := rebootingWorkers(1, 1)
		w.pools[0].Drain = &engine.Drain{Kubernetes: &engine.KubernetesDrain{}}
		p := planWithNodes(w, func(_ map[string]engine.Facts, c *kubefacts.ClusterFacts) { c.Nodes[0].Ready = ready })
		drains := 0
		for _, s := range p.Host(w.hosts[0].name).Sequence {
			if d := s.Do.DrainNode; d != nil {
				if drains++; d.WasNotReady == ready {
					t.Errorf("Ready %v: %+v", ready, d)
				}
			}
		}
		if drains == 0 {
			t.Error("no drain")
		}
	}
}

// TestWaitForNode: a host whose node was Ready waits for it before the undrain, and after a reboot for its new boot.
func TestWaitForNode(t *testing.T) {
	same := func(*world) {}
	ready := func(*kubefacts.Node) {}
	for name, x := range map[string]struct {
		world func(*world)
		node  func(*kubefacts.Node)
		waits bool
	}{
		"Ready":         {same, ready, true},
		"cordoned":      {same, func(n *kubefacts.Node) { n.Cordoned = true }, true},
		"not Ready":     {same, func(n *kubefacts.Node) { n.Ready = false }, false},
		"being deleted": {same, func(n *kubefacts.Node) { n.Deleted = true }, false},
		"left by a run": {func(w *world) { w.hosts[0].hold = "dead" }, func(n *kubefacts.Node) { n.Ready = false }, true},
		"not disrupted": {func(w *world) { w.hosts[0].work = "quiet" }, ready, false},
	} {
		w := rebootingWorkers(1, 1)
		w.pools[0].Drain = &engine.Drain{Command: "down", Undo: "up"}
		x.world(w)
		p := planWithNodes(w, func(_ map[string]engine.Facts, c *kubefacts.ClusterFacts) { x.node(&c.Nodes[0]) })
		var names []string
		for _, s := range p.Host(w.hosts[0].name).Sequence {
			names = append(names, s.Name)
		}
		at, undrain := slices.Index(names, "wait for node"), slices.Index(names, "undrain")
		if (at >= 0) != x.waits || x.waits && (at > undrain || at < slices.Index(names, "wait for units")) {
			t.Errorf("%s: %v", name, names)
		}
	}
}

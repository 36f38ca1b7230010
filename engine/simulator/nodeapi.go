package simulator

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/engine/kubefacts"
	"holdfast/engine/simulator/laws"
)

// nodes are the APIs of the Kubernetes clusters, as a run on a bastion reaches them.
type nodes struct{ b *Bastion }

var errAPI = errors.New("connection refused")

// ask asks the API of a cluster, for a node or, with "", for all of them. The time of all questions is recorded for the laws.
func (a nodes) ask(ctx context.Context, cluster, node string, do func(k *NodeCluster, now time.Time)) *kubefacts.Problem {
	i := slices.IndexFunc(a.b.site.kubernetes, func(k *NodeCluster) bool { return k.Name == cluster })
	k := a.b.site.kubernetes[i]
	err := a.b.deliverCall(ctx, Call{Verb: "node", Host: node, Cluster: cluster}, func(now time.Time) error {
		k.advanceTo(now)
		if k.isAway(now) {
			a.b.lawNotes().MissNodes(cluster)
			return errAPI
		}
		do(k, now)
		return nil
	})
	if err == nil {
		return nil
	}
	if !errors.Is(err, errAPI) {
		a.b.site.withLock(func(time.Time) { a.b.lawNotes().MissNodes(cluster) })
	}
	return &kubefacts.Problem{Kind: kubefacts.Unreachable, Cause: err.Error(), Hint: "start it"}
}

func (a nodes) findLaw(cluster, node string) *laws.Node {
	i := slices.IndexFunc(a.b.site.laws.Nodes, func(n *laws.Node) bool { return n.Cluster == cluster && n.Name == node })
	return a.b.site.laws.Nodes[i]
}

// facts returns the node as the client of an API has it: a cordon that a person has set last is not that of a run.
func (n *clusterNode) facts() kubefacts.Node {
	f := n.Node
	if n.byPerson {
		f.CordonedBy = ""
	}
	return f
}

// Gather is part of rollout.Nodes.
func (a nodes) Gather(ctx context.Context, names []string) map[string]kubefacts.ClusterFacts {
	all := map[string]kubefacts.ClusterFacts{}
	for _, name := range names {
		facts := kubefacts.ClusterFacts{Name: name}
		facts.Problem = a.ask(ctx, name, "", func(k *NodeCluster, _ time.Time) {
			a.b.lawNotes().SeeNodes(name)
			for _, n := range k.nodes {
				facts.Nodes = append(facts.Nodes, n.facts())
				if l, ok := k.leases[n.Name]; ok {
					facts.Leases = append(facts.Leases, l)
				}
				if !k.maintenances[n.Name].IsZero() {
					facts.Maintenances = append(facts.Maintenances, kubefacts.Maintenance{Node: n.Name, Name: "nm-" + n.Name})
				}
			}
		})
		if facts.Problem != nil {
			facts = kubefacts.ClusterFacts{Name: name, Problem: facts.Problem}
		}
		all[name] = facts
	}
	return all
}

// ReadWorkloads is part of rollout.Nodes.
func (a nodes) ReadWorkloads(ctx context.Context, of map[string][]string) map[string]kubefacts.Workload {
	all := map[string]kubefacts.Workload{}
	for name, wanted := range of {
		w := kubefacts.Workload{Pods: map[string][]kubefacts.Pod{}, Budgets: map[string][]kubefacts.Budget{}}
		node := ""
		if len(wanted) == 1 {
			node = wanted[0]
		}
		w.Problem = a.ask(ctx, name, node, func(k *NodeCluster, now time.Time) {
			for _, n := range wanted {
				a.b.lawNotes().SeePods(a.findLaw(name, n))
			}
			k.fillWorkload(w, wanted, now)
		})
		all[name] = w
	}
	return all
}

func (k *NodeCluster) fillWorkload(w kubefacts.Workload, wanted []string, now time.Time) {
	for _, p := range k.pods {
		if slices.Contains(wanted, p.node) {
			w.Pods[p.node] = append(w.Pods[p.node], k.podFacts(p, now))
		}
	}
	for _, a := range k.apps {
		count := 0
		if a.Budget {
			count = 1
		}
		if a.TwoBudgets {
			count = 2
		}
		for i := range count {
			b := kubefacts.Budget{
				Namespace: "t", Name: []string{a.Name, a.Name + "-too"}[i], Expected: a.Replicas, Desired: a.Needs, Healthy: k.healthyPods(a, now), Allowed: k.allowed(a, now), AllowsUnready: a.AllowsUnfit,
				Selector: kubefacts.Selector{Requirements: []kubefacts.Requirement{{Key: "app", Operator: kubefacts.In, Values: []string{a.Name}}}},
			}
			w.Budgets["t"] = append(w.Budgets["t"], b)
		}
	}
}

func (k *NodeCluster) podFacts(p *clusterPod, now time.Time) kubefacts.Pod {
	f := kubefacts.Pod{UID: p.uid, Namespace: "t", Name: p.name, Mirror: p.mirror, DaemonSet: p.app == nil && !p.mirror, Ready: k.isReady(p, now), Terminating: !p.ends.IsZero(), Controlled: true}
	if p.app != nil {
		f.Labels, f.Controlled, f.EmptyDir = map[string]string{"app": p.app.Name}, !p.app.NoMaker, p.app.EmptyDir
	}
	return f
}

// ReadNode is part of rollout.Nodes.
func (a nodes) ReadNode(ctx context.Context, cluster, node string) (f kubefacts.Node, problem *kubefacts.Problem) {
	problem = a.ask(ctx, cluster, node, func(k *NodeCluster, _ time.Time) {
		f = k.findNode(node).facts()
		a.b.lawNotes().SeeNode(a.findLaw(cluster, node))
	})
	return f, problem
}

// FindMissingRights is part of rollout.Nodes.
func (nodes) FindMissingRights(_ context.Context, names []string) map[string][]kubefacts.Right {
	none := map[string][]kubefacts.Right{}
	for _, name := range names {
		none[name] = nil
	}
	return none
}

// Cordon is part of rollout.Nodes.
func (a nodes) Cordon(ctx context.Context, cluster, node, by string) (f kubefacts.Node, problem *kubefacts.Problem) {
	problem = a.ask(ctx, cluster, node, func(k *NodeCluster, _ time.Time) {
		n := k.findNode(node)
		if !n.Cordoned {
			a.b.law().CheckCordon(a.findLaw(cluster, node))
			n.Cordoned, n.CordonedBy, n.byPerson = true, by, false
			a.b.site.addToLog("%s cordons %s", a.b.ID, node)
		}
		f = n.facts()
	})
	return f, problem
}

// Uncordon is part of rollout.Nodes.
func (a nodes) Uncordon(ctx context.Context, cluster, node string) (f kubefacts.Node, problem *kubefacts.Problem) {
	problem = a.ask(ctx, cluster, node, func(k *NodeCluster, _ time.Time) {
		n := k.findNode(node)
		if n.facts().CordonedBy != "" {
			if n.Cordoned {
				a.b.law().CheckUncordon(a.findLaw(cluster, node))
				a.b.site.addToLog("%s uncordons %s", a.b.ID, node)
			}
			n.Cordoned, n.CordonedBy = false, ""
		}
		f = n.facts()
	})
	return f, problem
}

// Evict is part of rollout.Nodes. Without a UID in the request, the API ends each pod of that name.
func (a nodes) Evict(ctx context.Context, cluster string, r kubefacts.EvictionRequest) (e kubefacts.Eviction) {
	node := ""
	a.b.site.withLock(func(time.Time) {
		for _, k := range a.b.site.kubernetes {
			if p := k.findPod(r.Pod.Name); k.Name == cluster && p != nil {
				node = p.node
			}
		}
	})
	problem := a.ask(ctx, cluster, node, func(k *NodeCluster, now time.Time) { e = a.evict(k, r, now) })
	if problem != nil {
		return kubefacts.Eviction{Kind: kubefacts.EvictionUnknown, Problem: problem}
	}
	return e
}

// evict takes from the budget before it compares the UID, as an API does.
func (a nodes) evict(k *NodeCluster, r kubefacts.EvictionRequest, now time.Time) kubefacts.Eviction {
	p := k.findPod(r.Pod.Name)
	if p == nil {
		return kubefacts.Eviction{Kind: kubefacts.PodGone}
	}
	takes := false
	if app := p.app; app != nil && p.node != "" && p.ends.IsZero() {
		if app.TwoBudgets {
			return kubefacts.Eviction{Kind: kubefacts.TwoBudgetsRefused, Text: "more than one PodDisruptionBudget"}
		}
		unfit := !k.isReady(p, now) && (app.AllowsUnfit || k.healthyPods(app, now) >= app.Needs && app.Needs > 0)
		takes = app.Budget && !unfit
		if takes && k.allowed(app, now) <= 0 {
			return kubefacts.Eviction{Kind: kubefacts.BudgetRefused, Budget: app.Name, Text: "it needs more healthy pods"}
		}
	}
	if r.Pod.UID != "" && r.Pod.UID != p.uid {
		if takes {
			p.app.charged = append(p.app.charged, now.Add(wrongUIDCosts))
		}
		return kubefacts.Eviction{Kind: kubefacts.PodReplaced}
	}
	if p.node != "" {
		a.b.law().CheckEviction(a.findLaw(k.Name, p.node), p.uid)
	}
	if p.ends.IsZero() {
		p.ends = now
		if p.app != nil {
			p.ends = now.Add(p.app.Grace)
		}
		a.b.site.addToLog("%s evicts %s from %s", a.b.ID, p.name, p.node)
	}
	return kubefacts.Eviction{Kind: kubefacts.PodEvicted}
}

// TakeLease is part of rollout.Nodes.
func (a nodes) TakeLease(ctx context.Context, cluster string, r kubefacts.LeaseRequest) (answer kubefacts.LeaseAnswer, other kubefacts.Lease, problem *kubefacts.Problem) {
	problem = a.ask(ctx, cluster, r.Node, func(k *NodeCluster, now time.Time) {
		if k.NoLeases {
			answer = kubefacts.LeaseUnused
			return
		}
		if l := k.leases[r.Node]; l.IsValid(now) && !l.IsOwn() {
			answer, other = kubefacts.LeaseForeign, l
			return
		}
		a.b.law().CheckTakeLease(a.findLaw(cluster, r.Node))
		k.leases[r.Node] = kubefacts.Lease{Node: r.Node, Holder: r.Holder, RenewedAt: now, Duration: r.Duration}
		a.b.site.addToLog("%s takes the lease of %s", a.b.ID, r.Node)
		answer = kubefacts.LeaseTaken
	})
	return answer, other, problem
}

// ReleaseLease is part of rollout.Nodes.
func (a nodes) ReleaseLease(ctx context.Context, cluster, node string) *kubefacts.Problem {
	return a.ask(ctx, cluster, node, func(k *NodeCluster, _ time.Time) {
		if l, ok := k.leases[node]; ok && l.IsOwn() {
			a.b.law().CheckReleaseLease(a.findLaw(cluster, node))
			delete(k.leases, node)
			a.b.site.addToLog("%s releases the lease of %s", a.b.ID, node)
		}
	})
}

package planner

import (
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
	"holdfast/engine/textutil"
)

// KubernetesConcerned names the Kubernetes clusters of which hosts are nodes, in the order of the inventory. Hosts that leave the site do
// not count.
func KubernetesConcerned(inv engine.Inventory) []string {
	var names []string
	for _, c := range inv.Kubernetes {
		if slices.ContainsFunc(inv.Hosts, func(h engine.Host) bool { return h.Kubernetes == c.Name && !h.Leaving }) {
			names = append(names, c.Name)
		}
	}
	return names
}

// AddNodes adds the state of its node to the facts of each host that stays. The facts of clusters must have all clusters of the hosts.
// A host that leaves the site matches no node: the machine that replaces it may have its name as a node.
func AddNodes(inv engine.Inventory, facts map[string]engine.Facts, clusters map[string]kubefacts.ClusterFacts, now time.Time) {
	for _, name := range KubernetesConcerned(inv) {
		var hosts []kubefacts.Host
		versions := map[string]bool{} // hosts whose version is that of their kubelet
		for _, h := range inv.Hosts {
			if h.Kubernetes == name && !h.Leaving {
				p, _ := inv.Pool(h.Pool)
				versions[h.Name] = p.VersionOf == engine.KubeletVersion
				hosts = append(hosts, kubefacts.Host{Name: h.Name, Address: h.Address})
			}
		}
		for host, state := range clusters[name].MatchHosts(hosts, now) {
			f := facts[host]
			f.Node = &state
			if versions[host] {
				f.Version = state.KubeletVersion
			}
			facts[host] = f
		}
	}
}

func (in Input) kubernetesStatus() []engine.KubernetesStatus {
	var all []engine.KubernetesStatus
	for _, name := range KubernetesConcerned(in.Inventory) {
		c := in.Kubernetes[name]
		s := engine.KubernetesStatus{Name: name, Problem: c.Problem, Warnings: c.Warnings, Nodes: len(c.Nodes), Kubelets: map[string]int{}}
		for _, n := range c.Nodes {
			if n.Ready {
				s.Ready++
			}
			if n.Cordoned {
				s.Cordoned++
			}
			s.Kubelets[n.KubeletVersion]++
		}
		all = append(all, s)
	}
	return all
}

// judgeUnknownNode decides about a host whose node is not known. A mistake in the inventory refuses the first plan of a run, because the
// host may be another node than everybody thinks. While the API does not answer, hosts without a drain may be disrupted: so the hosts that the
// API itself depends on can be repaired.
func (s *surveyResult) judgeUnknownNode(in Input, t engine.Target, hp engine.HostPlan) (engine.ExclusionKind, string) {
	n, d := t.Facts.Node, t.Pool.Drain
	mayBeCordoned := hp.Adopt != "" && d != nil && d.Kubernetes != nil
	switch {
	case n == nil || n.Problem == "" || !hp.Disruptive() && !(mayBeCordoned && n.APIAway):
		return "", ""
	case !n.APIAway && in.Approved == nil:
		s.refusals = append(s.refusals, t.Host.Name+": "+n.Problem+AdviseNode)
		return "", ""
	case !n.APIAway:
		return engine.Unclear, n.Problem + AdviseNode
	case d == nil:
		return "", ""
	case n.MayRun && d.Kubernetes != nil && d.Kubernetes.WhenUnreachable == engine.SkipUnreachable:
		return engine.KubernetesAway, n.Problem + "; the API may run, so the drain is not skipped"
	case d.Kubernetes != nil && d.Kubernetes.WhenUnreachable == engine.SkipUnreachable:
		s.addWarning("%s: %s; it is disrupted without a drain, because the drain of its pool has when_unreachable = \"skip\"", t.Host.Name, n.Problem)
		return "", ""
	}
	return engine.KubernetesAway, n.Problem + "; so nobody knows whether it can be drained"
}

// AdviseNode is the next step for a host whose node is not known.
const AdviseNode = "; rename the host, or set its kubernetes to the cluster that it is a node of"

// absentHostsWithoutWork returns the compared hosts whose node takes no work, and that are in no batch.
func (s surveyResult) absentHostsWithoutWork() map[string]bool {
	idle := make(map[string]bool, len(s.absent))
	for host := range s.absent {
		idle[host] = true
	}
	for _, hp := range s.work {
		if len(hp.Sequence) > 0 {
			delete(idle, hp.Host)
		}
	}
	return idle
}

// warnOfNodes tells which hosts use up budgets because of their node, and why the API of a cluster does not tell.
func (in Input) warnOfNodes(s surveyResult) []string {
	var warnings []string
	for _, name := range KubernetesConcerned(in.Inventory) {
		c := in.Kubernetes[name]
		if c.Problem != nil {
			warnings = append(warnings, c.Problem.TextOf("Kubernetes cluster "+name)+"; no budget counts its nodes")
		}
		for _, p := range c.Warnings {
			warnings = append(warnings, p.TextOf("Kubernetes cluster "+name))
		}
	}
	var groups textutil.Groups[string, string]
	for _, h := range in.Inventory.Hosts {
		switch n := in.Facts[h.Name].Node; {
		case n == nil:
		case s.absent[h.Name] != kubefacts.Present:
			groups.Add("unavailable: "+n.Text, h.Name)
		case n.Problem != "" && !n.APIAway && s.unavailable[h.Name] == "":
			groups.Add(n.Problem, h.Name)
		}
	}
	for text, hosts := range groups.All() {
		warnings = append(warnings, nameHosts(hosts)+": "+text)
	}
	return warnings
}

// awaitNode waits until the node is Ready, so that the next batch does not find it unavailable. A node that was not Ready
// before, for reasons of its own, is not waited for. After a rollback, the API may still call it Ready in
// the boot before the roll-out, or in the failed one.
func (w *hostWork) awaitNode() []engine.Step {
	t := w.target
	n := t.Facts.Node
	if n == nil || n.Node == "" || !w.disrupts && !w.rollsBack && w.adopt == "" {
		return nil
	}
	if w.adopt == "" && (n.Absence == kubefacts.NotReady || n.Absence == kubefacts.BeingDeleted) {
		return nil
	}
	wait := engine.AwaitNode{Kubernetes: n.Kubernetes, Node: n.Node, InCurrentBoot: w.rollsBack}
	for _, s := range w.steps.Reboot {
		if s.Do.AwaitBoot != nil {
			soft := s.Do.AwaitBoot.Kind == engine.SoftReboot
			wait.Rebooted, wait.SoftRebooted = wait.Rebooted || !soft, soft && !w.runsOn
		}
	}
	return []engine.Step{{Name: "wait for node", On: t.Host.Name, Do: engine.Op{AwaitNode: &wait}, Timeout: t.Pool.Timeouts.WithDefaults().Health}}
}

// mayKeepKubelet reports whether the kubelet may be one of the services that run on during a reboot. The etcd member is
// another one.
func mayKeepKubelet(t engine.Target, survivors []string) bool {
	return slices.ContainsFunc(survivors, func(unit string) bool {
		return t.Cluster == nil || t.Cluster.Managed == nil || t.Cluster.Managed.Unit != unit
	})
}

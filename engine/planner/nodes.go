package planner

import (
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
)

// KubernetesConcerned names the Kubernetes clusters of which hosts are nodes, in the order of the inventory.
func KubernetesConcerned(inv engine.Inventory) []string {
	var names []string
	for _, c := range inv.Kubernetes {
		if slices.ContainsFunc(inv.Hosts, func(h engine.Host) bool { return h.Kubernetes == c.Name }) {
			names = append(names, c.Name)
		}
	}
	return names
}

// AddNodes adds the state of its node to the facts of each host. The facts of clusters must have all clusters of the hosts.
func AddNodes(inv engine.Inventory, facts map[string]engine.Facts, clusters map[string]kubefacts.ClusterFacts, now time.Time) {
	for _, name := range KubernetesConcerned(inv) {
		var hosts []kubefacts.Host
		for _, h := range inv.Hosts {
			if h.Kubernetes == name {
				hosts = append(hosts, kubefacts.Host{Name: h.Name, Address: h.Address})
			}
		}
		for host, state := range clusters[name].MatchHosts(hosts, now) {
			f := facts[host]
			f.Node = &state
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

package planner

import (
	"cmp"

	"holdfast/engine"
	"holdfast/engine/governor"
)

// planLanes orders the hosts to stage. Members of an etcd cluster, and hosts
// near it, are staged one after the other, with the leader last. Every other
// host has a lane of its own. Hosts of early batches come first. Hosts that
// wait for a window are staged, too.
func planLanes(in Input, x index, p engine.Plan, work map[string]*engine.HostPlan) []engine.Lane {
	var out []engine.Lane
	byCluster := map[string]int{}
	leaders := map[string]string{}
	for _, name := range stagingOrder(p) {
		hp := work[name]
		cluster := cmp.Or(hp.Cluster, x.near[name])
		switch {
		case len(hp.Stage) == 0:
		case cluster == "":
			out = append(out, engine.Lane{Hosts: []string{name}})
		case in.Clusters[hp.Cluster].Leader() == name:
			leaders[hp.Cluster] = name
		default:
			out = addMember(out, byCluster, cluster, name)
		}
	}
	for _, c := range in.Inventory.Clusters {
		if name := leaders[c.Name]; name != "" {
			out = addMember(out, byCluster, c.Name, name)
		}
	}
	for i, lane := range out {
		if c := x.clusters[lane.Cluster]; isGoverned(c) {
			out[i].Governing = governingOf(c.Latency, lane, work)
		}
	}
	return out
}

// isGoverned reports whether hosts on or near a cluster are staged within its
// limits of latency.
func isGoverned(c *engine.Cluster) bool { return c != nil && !c.NotGoverned }

func governingOf(l *engine.Latency, lane engine.Lane, work map[string]*engine.HostPlan) *engine.Governing {
	limits := l.WithDefaults()
	g := engine.Governing{Latency: limits, FloorShare: governor.FloorShare(), FloorBytesPerSecond: governor.FloorRate}
	for _, name := range lane.Hosts {
		for _, s := range work[name].Stage {
			g.Deadline = max(g.Deadline, s.Timeout)
		}
	}
	return &g
}

func stagingOrder(p engine.Plan) []string {
	var names []string
	seen := map[string]bool{}
	for _, b := range p.Batches {
		for _, name := range b.Hosts {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, hp := range p.Hosts {
		if !seen[hp.Host] {
			names = append(names, hp.Host)
		}
	}
	return names
}

func addMember(out []engine.Lane, byCluster map[string]int, cluster, name string) []engine.Lane {
	i, ok := byCluster[cluster]
	if !ok {
		byCluster[cluster] = len(out)
		return append(out, engine.Lane{Cluster: cluster, Hosts: []string{name}})
	}
	out[i].Hosts = append(out[i].Hosts, name)
	return out
}

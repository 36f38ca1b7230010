package planner

import (
	"fmt"
	"slices"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
)

func (in Input) warnOfRepairs(work []engine.HostPlan) (warnings []string) {
	for _, hp := range work {
		facts := in.Clusters[hp.Cluster]
		if why := facts.UnhealthyMember(hp.Host); why != "" && hp.Disruptive() && slices.Contains(in.Repair, hp.Host) {
			warnings = append(warnings, fmt.Sprintf("%s is disrupted to repair its etcd member (--repair-member): %s; until it is back, %s", hp.Host, why, describeMargin(facts)))
		}
	}
	return warnings
}

func describeMargin(c etcdfacts.ClusterFacts) string {
	switch n := c.Margin(); {
	case n < 0:
		return "the cluster has no quorum and accepts no writes"
	case n == 0:
		return "no other voter may fail"
	case n == 1:
		return "one other voter may fail"
	default:
		return fmt.Sprintf("%d other voters may fail", n)
	}
}

// unhealthyClusters does not count a member whose host a person has taken: held, in maintenance or leaving.
func (in Input) unhealthyClusters() []etcdfacts.UnhealthyCluster {
	held := func(host string) bool {
		h, _ := in.Inventory.Host(host)
		return in.Facts[host].Held() || h.Maintenance != "" || slices.ContainsFunc(in.leaving, func(l engine.Host) bool { return l.Name == host })
	}
	var out []etcdfacts.UnhealthyCluster
	for _, name := range ClustersConcerned(in) {
		facts, seen := in.Clusters[name]
		if u, unhealthy := facts.FindUnhealthy(held); seen && unhealthy {
			out = append(out, u)
		}
	}
	return out
}

func (in Input) certificateProblems() []etcdfacts.CertificateProblem {
	var problems []etcdfacts.CertificateProblem
	for _, name := range ClustersConcerned(in) {
		problems = append(problems, in.Clusters[name].CertificateProblems...)
	}
	return problems
}

// ClustersConcerned names the etcd clusters with a selected member, in the
// order of the inventory. A verdict is about the health of these clusters.
func ClustersConcerned(in Input) []string {
	in = in.withSelection()
	concerned := map[string]bool{}
	for _, h := range in.Inventory.Hosts {
		if h.Cluster != "" && !concerned[h.Cluster] && in.Selected(h) {
			concerned[h.Cluster] = true
		}
	}
	var names []string
	for _, c := range in.Inventory.Clusters {
		if concerned[c.Name] {
			names = append(names, c.Name)
		}
	}
	return names
}

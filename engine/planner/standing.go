package planner

import (
	"fmt"
	"slices"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/standing"
)

func (in Input) view() standing.View {
	return standing.View{Run: in.planningRun(), Dead: in.Dead}
}

func (in Input) judgeHost(h engine.Host, f engine.Facts) standing.Standing {
	pool, _ := in.Inventory.Pool(h.Pool)
	return in.view().Judge(h, pool, f)
}

// leavingHosts returns the hosts that leave the site.
func (in Input) leavingHosts() []engine.Reservation {
	var list []engine.Reservation
	for _, h := range in.leaving {
		list = append(list, *in.judgeHost(h, engine.Facts{Host: h.Name}).Reservation())
	}
	return list
}

// warnOfLeavingVoters warns of hosts that leave the site and still have a voter, which counts for the quorum.
func (in Input) warnOfLeavingVoters() (warnings []string) {
	for _, h := range in.leaving {
		voters := in.Clusters[h.Cluster].Voters()
		if slices.ContainsFunc(voters, func(m etcdfacts.Member) bool { return m.Host == h.Name }) {
			warnings = append(warnings, fmt.Sprintf("%s is leaving, and still has a voter of etcd cluster %s: take leaving out of the inventory, run holdfast etcd members apply %[2]s, and set it again", h.Name, h.Cluster))
		}
	}
	return warnings
}

// mayAdopt reports whether this run continues on the host of a target in place of an earlier run.
func (in Input) mayAdopt(t engine.Target) bool { return in.view().JudgeFacts(t.Facts).MayAdopt() }

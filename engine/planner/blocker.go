package planner

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// blocker is why a host may not join a batch now.
type blocker struct {
	kind   engine.ExclusionKind // Blocked or Held; "" means that it is not safe at all
	reason func() string
}

// findBlocker says what keeps a host out of the batch that is being picked. A host on
// which there is nothing to do but to recover it needs no room.
func (sc *scheduler) findBlocker(hp *engine.HostPlan) *blocker {
	w, c := sc.poolStates[hp.Pool], sc.clusters[hp.Cluster]
	if sc.batchSize != nil && sc.picked >= sc.batchSize(sc.batchNumber) {
		return &blocker{engine.Blocked, func() string { return "serial leaves no room in the batch" }}
	}
	if len(hp.Changes) > 0 && !sc.adopted[hp.Host] { // else it is disrupted already, and may be what the others wait for
		if first := w.firstIncompletePredecessor(); first != nil {
			return &blocker{engine.Blocked, func() string { return sc.describePredecessor(w, first) }}
		}
	}
	if c != nil && c.inBatch {
		return &blocker{engine.Blocked, func() string { return "another member of etcd cluster " + hp.Cluster + " is being updated" }}
	}
	if !hp.Disruptive() {
		return nil
	}
	if o := sc.findPoolBlocker(hp, w); o != nil {
		return o
	}
	if c != nil {
		if o := sc.findClusterBlocker(hp, c); o != nil {
			return o
		}
	}
	switch {
	case w.freeSeats(sc.adopted[hp.Host]) <= 0:
		return &blocker{engine.Blocked, func() string { return sc.describeBudget(w, sc.adopted[hp.Host]) }}
	case w.inBatch > 0 && w.batchZone != sc.sortKeys[hp.Host].zone:
		return &blocker{engine.Blocked, func() string { return "another zone is being updated" }}
	}
	return nil
}

// findPoolBlocker asks what the pool says about when its hosts may be disrupted. A
// host that a run left half done is retried although others of its pool failed,
// and though no canary has gone: it is disrupted already.
func (sc *scheduler) findPoolBlocker(hp *engine.HostPlan, w *poolState) *blocker {
	adopted := sc.adopted[hp.Host]
	switch {
	case w.outsideWindow:
		return &blocker{engine.Closed, w.describeClosedWindow}
	case !adopted && w.exceedsFailureBudget():
		return &blocker{engine.Blocked, w.describeFailures}
	case !adopted && w.canarySeats() <= 0:
		return &blocker{engine.Blocked, func() string { return "canaries of the pool go first" }}
	case !adopted && sc.waitForSoak && w.soakLeft > 0:
		return &blocker{engine.Blocked, func() string { return "canaries of the pool still have to run for " + w.soakLeft.String() }}
	}
	if far := sc.skew.findBlocker(hp); far != "" {
		return &blocker{engine.Blocked, func() string { return far }}
	}
	return nil
}

// findClusterBlocker asks the host's etcd cluster whether it may lose the host.
// If it could but for hosts that somebody else holds, the host is held too.
func (sc *scheduler) findClusterBlocker(hp *engine.HostPlan, c *clusterState) *blocker {
	var away, notHeld []string
	for _, m := range c.members {
		if m == hp.Host || sc.unavailable[m] == "" && !sc.adopted[m] {
			continue
		}
		away = append(away, m)
		if !sc.heldByOthers[m] {
			notHeld = append(notHeld, m)
		}
	}
	err, down := c.facts.MayLose(hp.Host, away, c.AllowOutage), sc.checkOwnMember(hp, c)
	if err == nil {
		err = down
	}
	if err == nil {
		return nil
	}
	why := engine.ExclusionKind("")
	if slices.ContainsFunc(c.members, func(m string) bool { return sc.failed[m] != "" }) {
		why = engine.Blocked // one of them failed in this run; what it keeps waiting is not unsafe
	}
	if down == nil && len(notHeld) < len(away) && sc.withoutHolds(c.facts).MayLose(hp.Host, notHeld, c.AllowOutage) == nil {
		why = engine.Held
	}
	return &blocker{why, err.Error}
}

// checkOwnMember asks whether the host's own member is down before anything is
// done. A run that has left its hold there may well be the reason, and the host
// is to come back.
func (sc *scheduler) checkOwnMember(hp *engine.HostPlan, c *clusterState) error {
	why := c.facts.UnhealthyMember(hp.Host)
	if why == "" || sc.adopted[hp.Host] || slices.Contains(sc.repair, hp.Host) {
		return nil
	}
	return fmt.Errorf("%s; start the member first, or, if disrupting %s is to repair it, say --repair-member %s", why, hp.Host, hp.Host)
}

// withoutHolds is the cluster as it would be if held members were healthy.
func (sc *scheduler) withoutHolds(c engine.ClusterFacts) engine.ClusterFacts {
	c.Members = append([]engine.Member(nil), c.Members...)
	for i, m := range c.Members {
		if sc.heldByOthers[m.Host] {
			c.Members[i].Healthy = true
		}
	}
	return c
}

// excludeBlocked files every host that could not be scheduled: as a refusal where it
// is not safe to go on, else as left out.
func (sc *scheduler) excludeBlocked() {
	sc.resetBatch()
	seen := map[string]bool{}
	for _, q := range sc.queues {
		for _, hp := range q.hosts {
			o := sc.findBlocker(hp)
			reason := o.reason()
			switch {
			case o.kind != "":
				sc.blocked = append(sc.blocked, engine.Exclusion{Host: hp.Host, Kind: o.kind, Reason: reason})
			case !seen[reason]:
				seen[reason] = true
				sc.refusals = append(sc.refusals, reason)
			}
		}
	}
}

// describePredecessor says which host keeps a pool from its turn.
func (sc *scheduler) describePredecessor(w, first *poolState) string {
	return fmt.Sprintf("pool %s comes after pool %s, where %s", w.Name, first.Name, sc.describeUnfinished(first))
}

func (sc *scheduler) describeUnfinished(w *poolState) string {
	for _, q := range sc.queues {
		if q.pool == w && len(q.hosts) > 0 {
			return q.hosts[0].Host + " is not updated"
		}
	}
	return w.excludedHost
}

// describeBudget says who takes up a pool's budget, or that of the site.
func (sc *scheduler) describeBudget(w *poolState, adopted bool) string {
	if w.freePoolSeats(adopted) > 0 {
		return fmt.Sprintf("max_unavailable of the site is %d, and %d of its hosts are unavailable already", w.site.limit, w.site.unavailable+w.site.adopted)
	}
	return sc.describePoolBudget(w)
}

// describePoolBudget names up to three of those who take up a pool's budget.
func (sc *scheduler) describePoolBudget(w *poolState) string {
	const examples = 3
	var who []string
	for _, h := range w.unavailable[:min(examples, len(w.unavailable))] {
		who = append(who, h+" is "+sc.unavailable[h])
	}
	for _, q := range sc.queues {
		if q.pool != w || q.rank != leftOverRank {
			continue
		}
		for _, hp := range q.hosts[:min(examples-len(who), len(q.hosts))] {
			who = append(who, hp.Host+" is held by a run that ended")
		}
	}
	n := len(w.unavailable) + w.adoptedHosts
	return fmt.Sprintf("pool %s: max_unavailable is %d and %d of its hosts are unavailable already: %s", w.Name, w.limit, n, strings.Join(textutil.AndMore(who, n), ", "))
}

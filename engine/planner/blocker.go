package planner

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/textutil"
)

// blocker is the reason why a host cannot join a batch now.
type blocker struct {
	kind         engine.ExclusionKind // Blocked or Held; "" means that a disruption is not safe at all
	reason       func() string
	waitsForHold bool // a budget has room without the hosts that others hold
}

// findBlocker returns nil if the host can join the batch. A non-disruptive host needs no budget.
func (sc *scheduler) findBlocker(hp *engine.HostPlan) *blocker {
	w, c := sc.poolStates[hp.Pool], sc.clusters[hp.Cluster]
	if sc.batchSize != nil && sc.picked >= sc.batchSize(sc.batchNumber) {
		return &blocker{kind: engine.Blocked, reason: func() string { return "serial leaves no room in the batch" }}
	}
	if len(hp.Changes) > 0 && !sc.adopted[hp.Host] { // an adopted host is disrupted already, and others may wait for it
		if first := w.firstIncompletePredecessor(); first != nil {
			return &blocker{kind: engine.Blocked, reason: func() string { return sc.describePredecessor(w, first) }}
		}
	}
	if c != nil && c.inBatch {
		return &blocker{kind: engine.Blocked, reason: func() string { return "another member of etcd cluster " + hp.Cluster + " is being updated" }}
	}
	if hp.TouchesLogin() && (w.lostLogin != "" || w.trialHost && !w.logins.isProved(hp, sc.desired[hp.Host])) {
		return &blocker{kind: engine.Blocked, reason: w.describeLoginTrial}
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
	switch p := sc.presenceOf(hp.Host); {
	case w.freeSeats(p) <= 0:
		return &blocker{kind: engine.Blocked, reason: func() string { return sc.describeBudget(w, p) }, waitsForHold: w.freeSeatsWithoutHolds(p) > 0}
	case w.seats.inBatch > 0 && w.batchZone != sc.sortKeys[hp.Host].zone:
		return &blocker{kind: engine.Blocked, reason: func() string { return "another zone is being updated" }}
	}
	if full := sc.room.findBlocker(hp); full != "" {
		return &blocker{kind: engine.Blocked, reason: func() string { return full }}
	}
	return nil
}

// describeLoginTrial returns why a host whose change touches logins waits.
func (w *poolState) describeLoginTrial() string {
	if w.lostLogin != "" {
		return "after a change like this, a new login failed on " + w.lostLogin + "; correct the documents, or add the new way in beside the old one"
	}
	return "another host of the pool proves first that a login still works"
}

// findPoolBlocker checks window, failure budget, canaries, soak and skew of the pool. An
// adopted host passes the failure budget and the soak, because it is disrupted
// already, and the canaries, if no other host of the pool is in the batch.
func (sc *scheduler) findPoolBlocker(hp *engine.HostPlan, w *poolState) *blocker {
	adopted := sc.adopted[hp.Host]
	switch {
	case w.outsideWindow:
		return &blocker{kind: engine.Closed, reason: w.describeClosedWindow}
	case !adopted && w.exceedsFailureBudget():
		return &blocker{kind: engine.Blocked, reason: w.describeFailures}
	case w.canarySeats() <= 0 && (!adopted || w.seats.inBatch > 0): // the first host is down already; the others wait until it shows that the work is good
		return &blocker{kind: engine.Blocked, reason: func() string { return "canaries of the pool go first" }}
	case !adopted && sc.waitForSoak && w.soakLeft > 0:
		return &blocker{kind: engine.Blocked, reason: func() string { return "canaries of the pool still have to run for " + w.soakLeft.String() }}
	}
	if far := sc.skew.findBlocker(hp); far != "" {
		return &blocker{kind: engine.Blocked, reason: func() string { return far }}
	}
	return nil
}

// findClusterBlocker checks whether the etcd cluster may lose the host. The
// kind of the blocker is Held if the cluster could lose the host without the
// holds of others.
func (sc *scheduler) findClusterBlocker(hp *engine.HostPlan, c *clusterState) *blocker {
	if u, refused := sc.refusedEtcd[hp.Host]; refused {
		return &blocker{kind: "", reason: func() string { return u.Text + "; --any-etcd-version boots it nevertheless" }}
	}
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
	mayStop := c.AllowOutage || sparesMember(hp)
	err, down := c.facts.MayLose(hp.Host, away, mayStop), sc.checkOwnMember(hp, c)
	if err == nil {
		err = down
	}
	if err == nil {
		return nil
	}
	why := engine.ExclusionKind("")
	if slices.ContainsFunc(c.members, func(m string) bool { return sc.failed[m] != "" }) {
		why = engine.Blocked // a member failed in this run; the others wait for it, which is not unsafe
	}
	if down == nil && len(notHeld) < len(away) && sc.withoutHolds(c.facts).MayLose(hp.Host, notHeld, mayStop) == nil {
		why = engine.Held
	}
	return &blocker{kind: why, reason: err.Error}
}

// checkOwnMember returns an error if the host's own member is down. An adopted
// host passes, because the dead run may be the reason. A host of
// --repair-member passes, too.
func (sc *scheduler) checkOwnMember(hp *engine.HostPlan, c *clusterState) error {
	why := c.facts.UnhealthyMember(hp.Host)
	if why == "" || sc.adopted[hp.Host] || slices.Contains(sc.repair, hp.Host) {
		return nil
	}
	return fmt.Errorf("%s; start the member first, or, if disrupting %s is to repair it, say --repair-member %s", why, hp.Host, hp.Host)
}

func (sc *scheduler) withoutHolds(c etcdfacts.ClusterFacts) etcdfacts.ClusterFacts {
	c.Members = append([]etcdfacts.Member(nil), c.Members...)
	for i, m := range c.Members {
		if sc.heldByOthers[m.Host] {
			c.Members[i].Healthy = true
		}
	}
	return c
}

// excludeBlocked records every host without a batch: as an exclusion if its blocker has
// a kind, else as a refusal.
func (sc *scheduler) excludeBlocked() {
	sc.resetBatch()
	seen := map[string]bool{}
	for _, q := range sc.queues {
		for _, hp := range q.hosts {
			o := sc.findBlocker(hp)
			reason := o.reason()
			switch {
			case o.kind != "":
				sc.blocked = append(sc.blocked, engine.Exclusion{Host: hp.Host, Kind: o.kind, Reason: reason, WaitsForHold: o.waitsForHold})
			case !seen[reason]:
				seen[reason] = true
				sc.refusals = append(sc.refusals, reason)
			}
		}
	}
}

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

func (sc *scheduler) describeBudget(w *poolState, p presence) string {
	if w.seats.remainingSeats(p) <= 0 {
		return fmt.Sprintf("pool %s: max_unavailable is %d and %s", w.Name, w.seats.limit, sc.describeSeats(w.seats, []*poolState{w}, p))
	}
	all := slices.SortedFunc(maps.Values(sc.poolStates), func(a, b *poolState) int { return cmp.Compare(a.Name, b.Name) })
	return fmt.Sprintf("max_unavailable of the site is %d, and %s", w.site.limit, sc.describeSeats(w.site.seatCount, all, p))
}

// describeSeats tells who uses up a budget of some pools.
func (sc *scheduler) describeSeats(seats seatCount, pools []*poolState, p presence) string {
	const examples = 3
	n, kind, end := seats.countUnavailable(), "are unavailable", ""
	if p == isCordoned { // its node still runs its pods
		n, kind, end = seats.countAway(), "do no work", "; its node is only cordoned and still runs its pods, so it needs a seat of its own"
	}
	var who []string
	for _, w := range pools {
		who = append(who, sc.nameAbsent(w, p, examples-len(who))...)
	}
	return fmt.Sprintf("%d of its hosts %s already: %s%s", n, kind, strings.Join(textutil.AndMore(who, n), ", "), end)
}

// nameAbsent names at most so many hosts that use up the budget of a pool, with the reason. Cordoned hosts use up none for each other.
func (sc *scheduler) nameAbsent(w *poolState, p presence, most int) (who []string) {
	for _, h := range w.unavailable {
		why := sc.unavailable[h]
		switch {
		case len(who) == most:
			return who
		case why != "":
			who = append(who, h+" is "+why)
		case p != isCordoned || !sc.absent[h].KeepsPods():
			who = append(who, h+" "+sc.absent[h].Describe())
		}
	}
	for _, q := range sc.queues {
		if q.pool != w || q.rank != awayRank && (q.rank != cordonedRank || p == isCordoned) {
			continue
		}
		for _, hp := range q.hosts[:min(most-len(who), len(q.hosts))] {
			if sc.adopted[hp.Host] {
				who = append(who, hp.Host+" is held by a run that ended")
			} else {
				who = append(who, hp.Host+" "+sc.absent[hp.Host].Describe())
			}
		}
	}
	return who
}

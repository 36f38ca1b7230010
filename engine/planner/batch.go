package planner

import (
	"reflect"
	"slices"

	"holdfast/engine"
)

// pickBatch chooses the hosts of the next batch. Hosts that are away come first
// and alone, such as those with the hold of a dead run, because they are
// disrupted already. While such hosts are blocked, they count as unavailable.
// Cordoned hosts follow, which count as unavailable, too. Then non-disruptive hosts, so
// that a small change does not wait for stagings, snapshots and batches. The
// leader of an etcd cluster follows the other members. Pools with an unfinished
// soak come last.
func (sc *scheduler) pickBatch() []*engine.HostPlan {
	for _, sc.waitForSoak = range []bool{true, false} {
		if hosts := sc.pickInOrder(); len(hosts) > 0 {
			return hosts
		}
	}
	return nil
}

func (sc *scheduler) pickInOrder() []*engine.HostPlan {
	for _, turn := range []struct {
		from, to rank
		quiet    bool // only non-disruptive hosts go
		patient  bool // leaders wait for the other members
	}{
		{awayRank, awayRank, false, false},
		{cordonedRank, cordonedRank, false, false},
		{plainRank, leaderRank, true, false},
		{plainRank, leaderRank, false, true},
		{leaderRank, leaderRank, false, false},
	} {
		sc.resetBatch()
		var hosts []*engine.HostPlan
		for _, q := range sc.queues {
			if turn.from <= q.rank && q.rank <= turn.to {
				hosts = append(hosts, sc.drawHosts(q, turn.quiet, turn.patient)...)
			}
		}
		if len(hosts) > 0 {
			return hosts
		}
	}
	return nil
}

func (sc *scheduler) resetBatch() {
	sc.picked = 0
	for _, w := range sc.poolStates {
		w.seats.inBatch, w.batchZone, w.site.inBatch, w.trialHost = 0, 0, 0, false
	}
	for _, c := range sc.clusters {
		c.inBatch = false
	}
	sc.room.reset()
}

// drawHosts moves hosts from a queue to the batch until no later host of the queue can join.
func (sc *scheduler) drawHosts(q *queue, quiet, patient bool) []*engine.HostPlan {
	var drawn, kept []*engine.HostPlan
	seen := 0
	for _, hp := range q.hosts {
		if sc.isExhausted(q, hp) || quiet && q.nonDisruptive == 0 {
			break
		}
		seen++
		waits := patient && q.rank == leaderRank && sc.clusters[hp.Cluster].waiting > 1
		if waits || quiet && !hp.NonDisruptive() || sc.findBlocker(hp) != nil {
			kept = append(kept, hp)
			continue
		}
		drawn = append(drawn, hp)
		sc.addToBatch(hp, q)
	}
	q.hosts = q.hosts[seen-len(kept):]
	copy(q.hosts, kept)
	return drawn
}

// isExhausted reports whether neither the host nor any later host of the queue
// can join the batch. Either the pool waits for another pool, or only
// disruptive hosts are left and the budget or the zone of the batch excludes
// them.
func (sc *scheduler) isExhausted(q *queue, hp *engine.HostPlan) bool {
	w, at := q.pool, sc.sortKeys[hp.Host]
	if q.rank != awayRank && w.firstIncompletePredecessor() != nil {
		return true
	}
	return q.nonDisruptive == 0 && (w.freeSeats(q.rank.hostPresence()) <= 0 || q.rank != awayRank && w.seats.inBatch > 0 && at.turn == plainTurn && at.zone > w.batchZone)
}

// hostPresence returns the presence of the hosts with this rank.
func (r rank) hostPresence() presence {
	switch r {
	case awayRank:
		return isAway
	case cordonedRank:
		return isCordoned
	case plainRank, leaderRank, ranks:
	}
	return isPresent
}

func (sc *scheduler) addToBatch(hp *engine.HostPlan, q *queue) {
	sc.picked++
	sc.room.add(hp)
	q.pool.trialHost = q.pool.trialHost || !q.pool.logins.isProved(hp, sc.desired[hp.Host])
	if hp.Disruptive() {
		q.pool.seats.inBatch++
		q.pool.site.inBatch++
		q.pool.batchZone = sc.sortKeys[hp.Host].zone
	} else {
		q.nonDisruptive--
	}
	if c := sc.clusters[hp.Cluster]; c != nil && !hp.NonDisruptive() {
		c.inBatch = true
	}
}

// newBatch returns the batch of these hosts with the gates of their pools. A
// pool whose hosts are only recovered has no gates before the batch, because
// those hosts may be the reason for a bad answer. A batch that follows canaries
// repeats the gates of the canaries, because the canaries have run for some
// time since.
func (sc *scheduler) newBatch(hosts []*engine.HostPlan) engine.Batch {
	var b engine.Batch
	seen, asked, followed := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, hp := range hosts {
		w := sc.poolStates[hp.Pool]
		b.Hosts = append(b.Hosts, hp.Host)
		if !seen[hp.Pool] {
			seen[hp.Pool] = true
			b.Pools = append(b.Pools, hp.Pool)
			b.After = append(b.After, gateSteps(w.Pool, engine.AfterBatch, engine.Bastion)...)
		}
		if len(hp.Changes) > 0 && !asked[hp.Pool] {
			asked[hp.Pool] = true
			b.Before = append(b.Before, gateSteps(w.Pool, engine.BeforeBatch, engine.Bastion)...)
		}
		if len(hp.Changes) == 0 || !hp.Disruptive() || w.canaries == 0 || followed[hp.Pool] {
			continue
		}
		followed[hp.Pool] = true
		if w.passedCanaries < w.canaries {
			b.Canaries = append(b.Canaries, hp.Pool)
			continue
		}
		b.Soak = max(b.Soak, w.soakLeft)
		again := gateSteps(w.Pool, engine.AfterBatch, engine.Bastion)
		if len(again) > 0 {
			b.PassedCanaries = append(b.PassedCanaries, w.firstCanaries...)
		}
		for _, s := range again {
			if !s.Do.Gate.At(engine.BeforeBatch) {
				b.Before = append(b.Before, s)
			}
		}
	}
	return b
}

func startGates(x index, hosts []engine.HostPlan) []engine.Step {
	var steps []engine.Step
	asked := map[string]bool{}
	for _, hp := range hosts {
		if len(hp.Changes) == 0 || asked[hp.Pool] {
			continue
		}
		asked[hp.Pool] = true
		for _, s := range gateSteps(x.pools[hp.Pool], engine.BeforeRun, engine.Bastion) {
			if !slices.ContainsFunc(steps, func(t engine.Step) bool { return reflect.DeepEqual(s, t) }) {
				steps = append(steps, s)
			}
		}
	}
	return steps
}

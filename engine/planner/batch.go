package planner

import (
	"reflect"
	"slices"

	"holdfast/engine"
)

// pickBatch chooses the hosts of the next batch. Hosts that a dead run left behind
// come first and alone: until they are back, they are the disruption. Where
// none of them can go yet, they count as unavailable for the others. A host
// that leads etcd waits for the other members, unless nothing else can go. Hosts
// that notice nothing go before any that does, so that a key does not wait for
// the staging, the snapshots and the batches of others.
// Pools whose canaries still have to run wait until nothing else can go.
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
		quiet    bool // nobody else goes
		patient  bool // leaders wait
	}{
		{leftOverRank, leftOverRank, false, false},
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

// resetBatch begins a new batch.
func (sc *scheduler) resetBatch() {
	sc.picked = 0
	for _, w := range sc.poolStates {
		w.inBatch, w.batchZone, w.site.inBatch = 0, 0, 0
	}
	for _, c := range sc.clusters {
		c.inBatch = false
	}
}

// drawHosts takes from a queue the hosts that can join the batch. It stops where
// none of those further back can.
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

// isExhausted reports whether neither the host nor any behind it can join the
// batch: nobody is left but hosts to disrupt, and for those the pool has to
// wait, or there is no seat, or only other zones are left.
func (sc *scheduler) isExhausted(q *queue, hp *engine.HostPlan) bool {
	w, at := q.pool, sc.sortKeys[hp.Host]
	if q.rank != leftOverRank && w.firstIncompletePredecessor() != nil {
		return true
	}
	return q.nonDisruptive == 0 && (w.freeSeats(q.rank == leftOverRank) <= 0 || w.inBatch > 0 && at.late && at.zone > w.batchZone)
}

// addToBatch puts a host into the batch.
func (sc *scheduler) addToBatch(hp *engine.HostPlan, q *queue) {
	sc.picked++
	if hp.Disruptive() {
		q.pool.inBatch++
		q.pool.site.inBatch++
		q.pool.batchZone = sc.sortKeys[hp.Host].zone
	} else {
		q.nonDisruptive--
	}
	if c := sc.clusters[hp.Cluster]; c != nil && !hp.NonDisruptive() {
		c.inBatch = true
	}
}

// newBatch gives the batch of these hosts with the gates of their pools. A pool
// of which hosts are only recovered is not asked before: it may well be those
// hosts that it misses. What follows canaries is asked what came after them,
// about them, too: they have run for a while, or the run that updated them has ended.
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

// startGates gives what is asked once, before anything is touched: the gates
// of pools with hosts that are to be changed, each once.
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

package engine

// pick chooses the hosts of the next batch. Hosts that a dead run left behind
// come first and alone: until they are back, they are the disruption. Where
// none of them can go yet, they count as unavailable for the others. A host
// that leads etcd waits for the other members, unless nothing else can go. Hosts
// that notice nothing go before any that does, so that a key does not wait for
// the staging, the snapshots and the batches of others.
func (sc *scheduler) pick() []*HostPlan {
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
		sc.clear()
		var hosts []*HostPlan
		for _, q := range sc.queues {
			if turn.from <= q.rank && q.rank <= turn.to {
				hosts = append(hosts, sc.draw(q, turn.quiet, turn.patient)...)
			}
		}
		if len(hosts) > 0 {
			return hosts
		}
	}
	return nil
}

// clear begins a new batch.
func (sc *scheduler) clear() {
	for _, w := range sc.wards {
		w.taken, w.zone = 0, ""
	}
	for _, c := range sc.clusters {
		c.taken = false
	}
}

// draw takes from a queue the hosts that can join the batch. It stops where
// none of those further back can.
func (sc *scheduler) draw(q *queue, quiet, patient bool) []*HostPlan {
	var drawn, kept []*HostPlan
	seen := 0
	for _, hp := range q.hosts {
		if q.exhausted(hp) || quiet && q.quiet == 0 {
			break
		}
		seen++
		waits := patient && q.rank == leaderRank && sc.clusters[hp.Cluster].waiting > 1
		if waits || quiet && !hp.Quiet() || sc.why(hp) != nil {
			kept = append(kept, hp)
			continue
		}
		drawn = append(drawn, hp)
		sc.take(hp, q)
	}
	q.hosts = q.hosts[seen-len(kept):]
	copy(q.hosts, kept)
	return drawn
}

// exhausted reports whether neither the host nor any behind it can join the
// batch: nobody is left but hosts to disrupt, and for those the pool has to
// wait, or there is no seat, or only other zones are left.
func (q *queue) exhausted(hp *HostPlan) bool {
	w := q.ward
	if q.rank != leftOverRank && w.waitsFor() != nil {
		return true
	}
	return q.quiet == 0 && (w.seats(q.rank == leftOverRank) <= 0 || w.taken > 0 && hp.Zone > w.zone)
}

// take puts a host into the batch.
func (sc *scheduler) take(hp *HostPlan, q *queue) {
	if hp.Disruptive() {
		q.ward.taken++
		q.ward.zone = hp.Zone
	} else {
		q.quiet--
	}
	if c := sc.clusters[hp.Cluster]; c != nil && !hp.Quiet() {
		c.taken = true
	}
}

// batch gives the batch of these hosts with the gates of their pools. A pool
// of which hosts are only recovered is not asked before: it may well be those
// hosts that it misses.
func (sc *scheduler) batch(hosts []*HostPlan) Batch {
	var b Batch
	seen, asked := map[string]bool{}, map[string]bool{}
	for _, hp := range hosts {
		pool := sc.wards[hp.Pool].Pool
		b.Hosts = append(b.Hosts, hp.Host)
		if !seen[hp.Pool] {
			seen[hp.Pool] = true
			b.Pools = append(b.Pools, hp.Pool)
			b.After = append(b.After, gates(pool, AfterBatch, Bastion)...)
		}
		if len(hp.Changes) > 0 && !asked[hp.Pool] {
			asked[hp.Pool] = true
			b.Before = append(b.Before, gates(pool, BeforeBatch, Bastion)...)
		}
	}
	return b
}

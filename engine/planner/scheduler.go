package planner

import (
	"slices"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/kubefacts"
)

// scheduler puts hosts into batches by playing the roll-out forward: after each
// batch, the hosts of the batch count as updated and healthy.
//
// The hosts wait in queues, one for each pool and rank, so that the search for
// a batch visits few more hosts than the batch gets.
type scheduler struct {
	queues       []*queue // in order of preference
	poolStates   map[string]*poolState
	clusters     map[string]*clusterState
	unavailable  map[string]string // hosts that count as unavailable in every batch, and why
	heldByOthers map[string]bool   // unavailable hosts that others hold
	desired      map[string]engine.Desired
	adopted      map[string]bool              // hosts with the hold of a dead run that are not yet recovered
	absent       map[string]kubefacts.Absence // hosts whose node takes no work
	sortKeys     map[string]sortKey
	onlyReleased map[string]bool // hosts that do not count as canaries, because the run only releases them
	skew         *skew
	room         *drainRoom
	waitForSoak  bool              // pools wait until the soak of their canaries is over
	batchSize    func(n int) int   // maximum number of hosts of the n-th batch, from 0; nil: any number
	batchNumber  int               // batch that is being picked
	picked       int               // number of hosts in that batch
	failed       map[string]string // hosts that failed in this run
	repair       []string          // hosts that may be disrupted although their own member is down
	refusals     []string
	blocked      []engine.Exclusion
	refusedEtcd  map[string]engine.EtcdUpdate // hosts whose staged OS has a version of etcd that their cluster does not support
}

// rank is the precedence of a host in batches.
type rank int

// The ranks: hosts that are away, those that are only cordoned, all others, and leaders of etcd clusters.
const (
	awayRank rank = iota
	cordonedRank
	plainRank
	leaderRank
	ranks
)

// queue has the waiting hosts of one pool and rank, sorted.
type queue struct {
	pool          *poolState
	rank          rank
	hosts         []*engine.HostPlan
	nonDisruptive int // number of hosts that need no budget, because they are not disrupted
}

// clusterState is the progress of an etcd cluster while the planner plays the roll-out
// forward.
type clusterState struct {
	engine.Cluster
	facts   etcdfacts.ClusterFacts
	members []string
	waiting int
	inBatch bool // the batch being picked disrupts a member
}

func newScheduler(in Input, x index, s surveyResult, etcdUpdates []engine.EtcdUpdate) *scheduler {
	sc := &scheduler{
		poolStates: newPoolStates(in, x, s), clusters: map[string]*clusterState{}, unavailable: s.unavailable, heldByOthers: s.held, desired: in.Desired, adopted: map[string]bool{}, absent: s.absent,
		sortKeys: newSortKeys(in, x, s.work), onlyReleased: s.onlyReleased, skew: newSkew(in, x, s.work), batchSize: in.batchSizes(), batchNumber: in.Batches, failed: in.Failed, repair: in.Repair,
		refusedEtcd: in.refusedEtcd(etcdUpdates),
	}
	for i := range s.work {
		if len(s.work[i].Sequence) > 0 { // a host without a sequence is only staged
			sc.countWaiting(&s.work[i], in, x)
		}
	}
	for r := range ranks {
		queues := map[string]*queue{}
		for _, p := range in.Inventory.Pools {
			queues[p.Name] = &queue{pool: sc.poolStates[p.Name], rank: r}
			sc.queues = append(sc.queues, queues[p.Name])
		}
		for i := range s.work {
			if hp := &s.work[i]; len(hp.Sequence) > 0 && sc.rankOf(hp) == r {
				queues[hp.Pool].addHost(hp)
			}
		}
	}
	for _, q := range sc.queues {
		slices.SortFunc(q.hosts, func(a, b *engine.HostPlan) int { return sc.sortKeys[a.Host].compare(sc.sortKeys[b.Host]) })
	}
	return sc
}

func (q *queue) addHost(hp *engine.HostPlan) {
	q.hosts = append(q.hosts, hp)
	if !hp.Disruptive() {
		q.nonDisruptive++
	}
}

func (sc *scheduler) countWaiting(hp *engine.HostPlan, in Input, x index) {
	w := sc.poolStates[hp.Pool]
	w.waitingHosts++
	sc.adopted[hp.Host] = hp.Adopt != ""
	w.addWaiting(sc.presenceOf(hp.Host), 1)
	w.logins.addWaiting(hp)
	if hp.Cluster == "" {
		return
	}
	c := sc.clusters[hp.Cluster]
	if c == nil {
		c = newClusterState(in, x, hp.Cluster)
		sc.clusters[hp.Cluster] = c
	}
	c.waiting++
}

// staysAbsent reports whether a host is still unavailable after its update: holdfast does not uncordon a node that others
// have cordoned.
func (sc *scheduler) staysAbsent(host string) bool {
	return sc.absent[host] == kubefacts.Cordoned && !sc.adopted[host] || sc.absent[host] == kubefacts.BeingDeleted
}

func newClusterState(in Input, x index, name string) *clusterState {
	facts, ok := in.Clusters[name]
	if !ok {
		facts = etcdfacts.ClusterFacts{Problem: "not observed"}
	}
	facts.Name = name
	facts.Members = append([]etcdfacts.Member(nil), facts.Members...)
	c := &clusterState{facts: facts, members: x.members[name]}
	if known := x.clusters[name]; known != nil {
		c.Cluster = *known
	}
	return c
}

func (sc *scheduler) rankOf(hp *engine.HostPlan) rank {
	switch p := sc.presenceOf(hp.Host); {
	case p == isAway:
		return awayRank
	case p == isCordoned:
		return cordonedRank
	case hp.Cluster != "" && sc.clusters[hp.Cluster].facts.Leader() == hp.Host:
		return leaderRank
	}
	return plainRank
}

func (in Input) batchSizes() func(int) int {
	if in.Play == nil || len(in.Play.Serial) == 0 {
		return nil
	}
	list, hosts := in.Play.Serial, in.countSelected()
	return func(n int) int { return list[min(n, len(list)-1)].Of(hosts) }
}

func (sc *scheduler) planBatches() []engine.Batch {
	var batches []engine.Batch
	for {
		hosts := sc.pickBatch()
		if len(hosts) == 0 {
			sc.excludeBlocked()
			return batches
		}
		batches = append(batches, sc.newBatch(hosts))
		for _, hp := range hosts {
			sc.markUpdated(hp)
		}
		sc.batchNumber++
	}
}

func (sc *scheduler) markUpdated(hp *engine.HostPlan) {
	w := sc.poolStates[hp.Pool]
	w.waitingHosts--
	if hp.Disruptive() && !sc.adopted[hp.Host] {
		w.soakLeft = 0 // the batch of the host begins after the soak
	}
	if !sc.onlyReleased[hp.Host] {
		if w.passedCanaries++; w.passedCanaries == w.canaries {
			w.soakLeft = w.Canary.Soak
		}
	}
	if len(w.firstCanaries) < w.canaries {
		w.firstCanaries = append(w.firstCanaries, hp.Host)
	}
	w.logins.addProof(hp)
	sc.skew.moveToTarget(hp)
	w.addWaiting(sc.presenceOf(hp.Host), -1)
	if sc.staysAbsent(hp.Host) {
		w.addUnavailable(hp.Host, true, false)
	}
	delete(sc.adopted, hp.Host)
	if hp.Cluster == "" {
		return
	}
	c := sc.clusters[hp.Cluster]
	c.waiting--
	for i := range c.facts.Members {
		if c.facts.Members[i].Host == hp.Host {
			c.facts.Members[i].Healthy = true
		}
	}
}

package planner

import (
	"slices"

	"holdfast/engine"
)

// scheduler puts hosts into batches by playing the roll-out forward: after
// each batch its hosts are taken to be updated and healthy.
//
// The hosts wait in queues, one for each pool and rank, so that a batch looks
// at few more hosts than it takes.
type scheduler struct {
	queues     []*queue // in order of preference
	poolStates map[string]*poolState
	clusters   map[string]*clusterState
	away       map[string]string // hosts that count as unavailable throughout, and why
	held       map[string]bool   // those of them that are held
	adopted    map[string]bool   // hosts with a left-over hold that are not yet recovered
	places     map[string]place
	skew       *skew
	patient    bool              // pools whose canaries still have to run wait
	serial     func(n int) int   // hosts that the n-th batch may have, from 0; nil: any number
	number     int               // batch that is being picked
	picked     int               // hosts in it
	failed     map[string]string // hosts that failed in this run
	repair     []string          // hosts that may go although their own member is down
	refusals   []string
	blocked    []engine.Exclusion
}

// rank is how soon a host goes.
type rank int

// The ranks: what a dead run left half done, the rest, and hosts that etcd
// leads.
const (
	leftOverRank rank = iota
	plainRank
	leaderRank
	ranks
)

// queue is the waiting hosts of one pool and rank, in their order.
type queue struct {
	ward  *poolState
	rank  rank
	hosts []*engine.HostPlan
	quiet int // of them, hosts that are not disrupted and so need no seat
}

// clusterState is an etcd cluster and how far it is.
type clusterState struct {
	engine.Cluster
	facts   engine.ClusterFacts
	members []string
	waiting int
	taken   bool // a member is in the batch being picked, and is disturbed
}

func newScheduler(in Input, x index, s surveyResult) *scheduler {
	sc := &scheduler{
		poolStates: newPoolStates(in, x, s), clusters: map[string]*clusterState{}, away: s.unavailable, held: s.held, adopted: map[string]bool{},
		places: places(in, x, s.work), skew: newSkew(in, x, s.work), serial: in.serial(), number: in.Batches, failed: in.Failed, repair: in.Repair,
	}
	for i := range s.work {
		if len(s.work[i].Sequence) > 0 { // else it is only staged
			sc.enter(&s.work[i], in, x)
		}
	}
	for r := range ranks {
		queues := map[string]*queue{}
		for _, p := range in.Inventory.Pools {
			queues[p.Name] = &queue{ward: sc.poolStates[p.Name], rank: r}
			sc.queues = append(sc.queues, queues[p.Name])
		}
		for i := range s.work {
			if hp := &s.work[i]; len(hp.Sequence) > 0 && sc.rank(hp) == r {
				queues[hp.Pool].add(hp)
			}
		}
	}
	for _, q := range sc.queues {
		slices.SortFunc(q.hosts, func(a, b *engine.HostPlan) int { return sc.places[a.Host].compare(sc.places[b.Host]) })
	}
	return sc
}

func (q *queue) add(hp *engine.HostPlan) {
	q.hosts = append(q.hosts, hp)
	if !hp.Disruptive() {
		q.quiet++
	}
}

// enter counts a host where it waits.
func (sc *scheduler) enter(hp *engine.HostPlan, in Input, x index) {
	w := sc.poolStates[hp.Pool]
	w.waitingHosts++
	if hp.Adopt != "" {
		w.adoptedHosts++
		w.site.adopted++
		sc.adopted[hp.Host] = true
	}
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

func newClusterState(in Input, x index, name string) *clusterState {
	facts, ok := in.Clusters[name]
	if !ok {
		facts = engine.ClusterFacts{Problem: "not observed"}
	}
	facts.Name = name
	facts.Members = append([]engine.Member(nil), facts.Members...)
	c := &clusterState{facts: facts, members: x.members[name]}
	if known := x.clusters[name]; known != nil {
		c.Cluster = *known
	}
	return c
}

func (sc *scheduler) rank(hp *engine.HostPlan) rank {
	switch {
	case hp.Adopt != "":
		return leftOverRank
	case hp.Cluster != "" && sc.clusters[hp.Cluster].facts.Leader() == hp.Host:
		return leaderRank
	}
	return plainRank
}

// serial gives how many hosts each batch of the play may have.
func (in Input) serial() func(int) int {
	if in.Play == nil || len(in.Play.Serial) == 0 {
		return nil
	}
	list, hosts := in.Play.Serial, in.countSelected()
	return func(n int) int { return list[min(n, len(list)-1)].Of(hosts) }
}

func (sc *scheduler) run() []engine.Batch {
	var batches []engine.Batch
	for {
		hosts := sc.pick()
		if len(hosts) == 0 {
			sc.excludeBlocked()
			return batches
		}
		batches = append(batches, sc.batch(hosts))
		for _, hp := range hosts {
			sc.settle(hp)
		}
		sc.number++
	}
}

// settle plays the host's part of a batch: it is updated, healthy and free.
func (sc *scheduler) settle(hp *engine.HostPlan) {
	w := sc.poolStates[hp.Pool]
	w.waitingHosts--
	if hp.Disruptive() && !sc.adopted[hp.Host] {
		w.soakLeft = 0 // it went after that time
	}
	if !hp.RolledBack {
		if w.passedCanaries++; w.passedCanaries == w.canaries {
			w.soakLeft = w.Canary.Soak
		}
	}
	if len(w.firstCanaries) < w.canaries {
		w.firstCanaries = append(w.firstCanaries, hp.Host)
	}
	sc.skew.settle(hp)
	if sc.adopted[hp.Host] {
		delete(sc.adopted, hp.Host)
		w.adoptedHosts--
		w.site.adopted--
	}
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

package engine

import "sort"

// scheduler puts hosts into batches by playing the roll-out forward: after
// each batch its hosts are taken to be updated and healthy.
//
// The hosts wait in queues, one for each pool and rank, so that a batch looks
// at few more hosts than it takes.
type scheduler struct {
	queues   []*queue // in order of preference
	wards    map[string]*ward
	clusters map[string]*quorate
	away     map[string]string // hosts that count as unavailable throughout, and why
	held     map[string]bool   // those of them that are held
	adopted  map[string]bool   // hosts with a left-over hold that are not yet recovered
	refusals []string
	blocked  []Exclusion
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

// queue is the waiting hosts of one pool and rank, by zone and name.
type queue struct {
	ward  *ward
	rank  rank
	hosts []*HostPlan
	quiet int // of them, hosts that are not disrupted and so need no seat
}

// ward is a pool and how far it is.
type ward struct {
	Pool
	first   []*ward // pools that come before it, directly or through others
	limit   int
	waiting int      // hosts with work that are in no batch yet
	missing string   // a selected host that no batch will have, and why
	away    []string // hosts that count as unavailable throughout
	adopted int      // hosts with a left-over hold that are not yet recovered

	taken int    // hosts that the batch being picked disrupts
	zone  string // theirs
}

// quorate is an etcd cluster and how far it is.
type quorate struct {
	Cluster
	facts   ClusterFacts
	members []string
	waiting int
	taken   bool // a member is in the batch being picked, and is disturbed
}

func newScheduler(in Input, x index, s stock) *scheduler {
	sc := &scheduler{wards: newWards(in, x, s), clusters: map[string]*quorate{}, away: s.away, held: s.held, adopted: map[string]bool{}}
	for i := range s.work {
		sc.enter(&s.work[i], in, x)
	}
	for r := range ranks {
		queues := map[string]*queue{}
		for _, p := range in.Inventory.Pools {
			queues[p.Name] = &queue{ward: sc.wards[p.Name], rank: r}
			sc.queues = append(sc.queues, queues[p.Name])
		}
		for i := range s.work {
			if hp := &s.work[i]; sc.rank(hp) == r {
				queues[hp.Pool].add(hp)
			}
		}
	}
	for _, q := range sc.queues {
		sort.Slice(q.hosts, func(i, j int) bool {
			a, b := q.hosts[i], q.hosts[j]
			return a.Zone < b.Zone || a.Zone == b.Zone && a.Host < b.Host
		})
	}
	return sc
}

func newWards(in Input, x index, s stock) map[string]*ward {
	wards := map[string]*ward{}
	for _, p := range in.Inventory.Pools {
		wards[p.Name] = &ward{Pool: p, limit: p.MaxUnavailable.Of(x.sizes[p.Name])}
	}
	for name, w := range wards {
		for _, first := range x.before(name) {
			w.first = append(w.first, wards[first])
		}
	}
	missing := map[string]Why{}
	for _, e := range s.excluded {
		missing[e.Host] = e.Why
	}
	for _, h := range in.Inventory.Hosts {
		w := wards[h.Pool]
		if s.away[h.Name] != "" {
			w.away = append(w.away, h.Name)
		}
		if why := missing[h.Name]; why != "" && w.missing == "" {
			w.missing = h.Name + " is " + string(why)
		}
	}
	return wards
}

func (q *queue) add(hp *HostPlan) {
	q.hosts = append(q.hosts, hp)
	if !hp.Disruptive() {
		q.quiet++
	}
}

// enter counts a host where it waits.
func (sc *scheduler) enter(hp *HostPlan, in Input, x index) {
	w := sc.wards[hp.Pool]
	w.waiting++
	if hp.Adopt != "" {
		w.adopted++
		sc.adopted[hp.Host] = true
	}
	if hp.Cluster == "" {
		return
	}
	c := sc.clusters[hp.Cluster]
	if c == nil {
		c = newQuorate(in, x, hp.Cluster)
		sc.clusters[hp.Cluster] = c
	}
	c.waiting++
}

func newQuorate(in Input, x index, name string) *quorate {
	facts, ok := in.Clusters[name]
	if !ok {
		facts = ClusterFacts{Problem: "not observed"}
	}
	facts.Name = name
	facts.Members = append([]Member(nil), facts.Members...)
	c := &quorate{facts: facts, members: x.members[name]}
	if known := x.clusters[name]; known != nil {
		c.Cluster = *known
	}
	return c
}

func (sc *scheduler) rank(hp *HostPlan) rank {
	switch {
	case hp.Adopt != "":
		return leftOverRank
	case hp.Cluster != "" && sc.clusters[hp.Cluster].facts.Leader() == hp.Host:
		return leaderRank
	}
	return plainRank
}

func (sc *scheduler) run() []Batch {
	var batches []Batch
	for {
		hosts := sc.pick()
		if len(hosts) == 0 {
			sc.explain()
			return batches
		}
		batches = append(batches, sc.batch(hosts))
		for _, hp := range hosts {
			sc.settle(hp)
		}
	}
}

// settle plays the host's part of a batch: it is updated, healthy and free.
func (sc *scheduler) settle(hp *HostPlan) {
	w := sc.wards[hp.Pool]
	w.waiting--
	if sc.adopted[hp.Host] {
		delete(sc.adopted, hp.Host)
		w.adopted--
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

package engine

import (
	"fmt"
	"sort"
)

// scheduler puts hosts into batches by playing the roll-out forward: after
// each batch its hosts are taken to be updated and healthy.
type scheduler struct {
	in       Input
	stock    stock
	left     map[string]HostPlan // hosts with work that are in no batch yet
	order    []string            // of left, in the order of preference
	clusters map[string]ClusterFacts
	adopted  map[string]bool // hosts with a left-over hold that are not yet recovered
	refusals []string
	blocked  []Exclusion
}

func newScheduler(in Input, s stock) *scheduler {
	sc := &scheduler{in: in, stock: s, left: map[string]HostPlan{}, clusters: map[string]ClusterFacts{}, adopted: map[string]bool{}}
	for _, c := range in.Inventory.Clusters {
		facts, ok := in.Clusters[c.Name]
		if !ok {
			facts = ClusterFacts{Problem: "not observed"}
		}
		facts.Name = c.Name
		facts.Members = append([]Member(nil), facts.Members...)
		sc.clusters[c.Name] = facts
	}
	for _, hp := range s.work {
		sc.left[hp.Host] = hp
		sc.order = append(sc.order, hp.Host)
		if hp.Adopt != "" {
			sc.adopted[hp.Host] = true
		}
	}
	sort.SliceStable(sc.order, func(i, j int) bool { return sc.before(sc.left[sc.order[i]], sc.left[sc.order[j]]) })
	return sc
}

// before is the order of preference: hosts a dead run left half done, then by
// zone, then by name, and a host that etcd leads last.
func (sc *scheduler) before(a, b HostPlan) bool {
	if x, y := a.Adopt != "", b.Adopt != ""; x != y {
		return x
	}
	if x, y := sc.leads(a), sc.leads(b); x != y {
		return y
	}
	if a.Zone != b.Zone {
		return a.Zone < b.Zone
	}
	return a.Host < b.Host
}

func (sc *scheduler) leads(hp HostPlan) bool {
	return hp.Cluster != "" && sc.in.Clusters[hp.Cluster].Leader() == hp.Host
}

func (sc *scheduler) run() []Batch {
	var batches []Batch
	for len(sc.left) > 0 {
		hosts := sc.pick()
		if len(hosts) == 0 {
			sc.explain()
			break
		}
		batches = append(batches, sc.batch(hosts))
		for _, h := range hosts {
			sc.settle(h)
		}
	}
	return batches
}

// pick chooses the hosts of the next batch. Hosts that a dead run left behind
// come first and alone: until they are back, they are the disruption. Where
// none of them can go yet, they count as unavailable for the others.
func (sc *scheduler) pick() []string {
	if hosts := sc.pickFrom(func(name string) bool { return sc.adopted[name] }); len(hosts) > 0 {
		return hosts
	}
	return sc.pickFrom(func(string) bool { return true })
}

func (sc *scheduler) pickFrom(eligible func(string) bool) []string {
	var hosts []string
	for _, name := range sc.order {
		hp, ok := sc.left[name]
		if ok && eligible(name) && sc.why(hp, hosts) == nil {
			hosts = append(hosts, name)
		}
	}
	return hosts
}

// obstacle is why a host may not join a batch now.
type obstacle struct {
	why    Why // Blocked or Held; "" means that it is not safe at all
	reason string
}

// why says what keeps a host out of a batch that has the hosts with.
func (sc *scheduler) why(hp HostPlan, with []string) *obstacle {
	if len(hp.Changes) == 0 {
		return nil
	}
	pool, _ := sc.in.Inventory.Pool(hp.Pool)
	if o := sc.waitsFor(pool); o != nil {
		return o
	}
	if !hp.Disruptive() {
		return nil
	}
	if o := sc.overBudget(hp, pool, with); o != nil {
		return o
	}
	if hp.Cluster == "" {
		return nil
	}
	return sc.clusterObjects(hp, with)
}

func (sc *scheduler) waitsFor(pool Pool) *obstacle {
	for _, name := range pool.After {
		for _, h := range sc.in.Inventory.Hosts {
			if h.Pool != name {
				continue
			}
			if _, waiting := sc.left[h.Name]; waiting {
				return &obstacle{Blocked, fmt.Sprintf("pool %s comes after pool %s, where %s is not updated", pool.Name, name, h.Name)}
			}
			if reason := sc.leftOut(h); reason != "" {
				return &obstacle{Blocked, fmt.Sprintf("pool %s comes after pool %s, where %s is %s", pool.Name, name, h.Name, reason)}
			}
		}
	}
	return nil
}

// leftOut says why a selected host is not part of the plan, or "".
func (sc *scheduler) leftOut(h Host) string {
	if !sc.in.Selected(h) {
		return ""
	}
	for _, x := range sc.stock.excluded {
		if x.Host == h.Name {
			return string(x.Why)
		}
	}
	return ""
}

func (sc *scheduler) overBudget(hp HostPlan, pool Pool, with []string) *obstacle {
	size, taken, who := 0, 0, ""
	for _, h := range sc.in.Inventory.Hosts {
		if h.Pool != pool.Name {
			continue
		}
		size++
		why := sc.stock.away[h.Name]
		if why == "" && sc.adopted[h.Name] {
			why = "held by a run that ended"
		}
		if h.Name != hp.Host && (why != "" || contains(with, h.Name)) {
			taken++
			who = fmt.Sprintf("%s is %s", h.Name, why)
		}
		if contains(with, h.Name) && h.Zone != hp.Zone {
			return &obstacle{Blocked, "another zone is being updated"}
		}
	}
	if limit := pool.MaxUnavailable.Of(size); taken >= limit {
		return &obstacle{Blocked, fmt.Sprintf("pool %s: max_unavailable is %d and %d of its hosts are unavailable already (%s)", pool.Name, limit, taken, who)}
	}
	return nil
}

// clusterObjects asks the host's etcd cluster whether it may lose the host.
// If it could but for hosts that somebody else holds, the host is held too.
func (sc *scheduler) clusterObjects(hp HostPlan, with []string) *obstacle {
	cluster, _ := sc.in.Inventory.Cluster(hp.Cluster)
	facts := sc.clusters[hp.Cluster]
	var away []string
	for _, m := range sc.in.Inventory.Members(hp.Cluster) {
		if m.Name != hp.Host && (sc.stock.away[m.Name] != "" || sc.adopted[m.Name] || contains(with, m.Name)) {
			away = append(away, m.Name)
		}
	}
	err := facts.MayLose(hp.Host, away, cluster.AllowOutage)
	if err == nil {
		return nil
	}
	if sc.withoutHolds(facts).MayLose(hp.Host, sc.notHeld(away, with), cluster.AllowOutage) == nil {
		return &obstacle{Held, err.Error()}
	}
	return &obstacle{"", err.Error()}
}

// withoutHolds is the cluster as it would be if held members were healthy.
func (sc *scheduler) withoutHolds(c ClusterFacts) ClusterFacts {
	c.Members = append([]Member(nil), c.Members...)
	for i, m := range c.Members {
		if sc.stock.held[m.Host] {
			c.Members[i].Healthy = true
		}
	}
	return c
}

func (sc *scheduler) notHeld(away, with []string) []string {
	var out []string
	for _, h := range away {
		if !sc.stock.held[h] || contains(with, h) {
			out = append(out, h)
		}
	}
	return out
}

// settle plays the host's part of a batch: it is updated, healthy and free.
func (sc *scheduler) settle(host string) {
	hp := sc.left[host]
	delete(sc.left, host)
	delete(sc.adopted, host)
	c := sc.clusters[hp.Cluster]
	for i := range c.Members {
		if c.Members[i].Host == host {
			c.Members[i].Healthy = true
		}
	}
}

// explain files every host that could not be scheduled: as a refusal where it
// is not safe to go on, else as left out.
func (sc *scheduler) explain() {
	seen := map[string]bool{}
	for _, name := range sc.order {
		hp, ok := sc.left[name]
		if !ok {
			continue
		}
		o := sc.why(hp, nil)
		if o.why != "" {
			sc.blocked = append(sc.blocked, Exclusion{name, o.why, o.reason})
		} else if !seen[o.reason] {
			seen[o.reason] = true
			sc.refusals = append(sc.refusals, o.reason)
		}
	}
}

func (sc *scheduler) batch(hosts []string) Batch {
	b := Batch{Hosts: hosts}
	for _, name := range hosts {
		pool, _ := sc.in.Inventory.Pool(sc.left[name].Pool)
		if contains(b.Pools, pool.Name) {
			continue
		}
		b.Pools = append(b.Pools, pool.Name)
		b.Before = append(b.Before, gates(pool, BeforeBatch, Bastion)...)
		b.After = append(b.After, gates(pool, AfterBatch, Bastion)...)
	}
	return b
}

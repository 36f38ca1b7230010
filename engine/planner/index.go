package planner

import "holdfast/engine"

// index finds the parts of an inventory by name. A search through the lists for
// every host would take quadratic time.
type index struct {
	pools              map[string]engine.Pool
	sizes              map[string]int // number of hosts of each pool
	clusters           map[string]*engine.Cluster
	peers              map[[2]string]int           // number of hosts of each pool in each cluster
	members            map[string][]string         // hosts of each cluster, in inventory order
	near               map[string]string           // the cluster near each host that is not a member
	approvedExclusions map[string]engine.Exclusion // hosts that the approved plan excludes
	wanted             map[string]map[string]bool  // digests that the hosts of each pool want; "" for a host without an OS
	targets            map[string]string           // OS of each pool, by digest; "": its hosts want different ones
	rejected           map[string]string           // the first host that was rolled back from an OS, by its digest
	last               *engine.Rollout             // the newest roll-out that any host has recorded
	rollout            engine.Rollout              // the roll-out that the run continues or begins
}

func newIndex(in Input) index {
	inv := in.Inventory
	x := index{pools: map[string]engine.Pool{}, sizes: map[string]int{}, clusters: map[string]*engine.Cluster{}, peers: map[[2]string]int{}, members: map[string][]string{}, near: map[string]string{}, approvedExclusions: map[string]engine.Exclusion{}, wanted: map[string]map[string]bool{}, targets: map[string]string{}, rejected: map[string]string{}}
	if in.Approved != nil {
		for _, e := range in.Approved.Excluded {
			if e.Kind != engine.Closed { // the changes of a host outside its window were approved
				x.approvedExclusions[e.Host] = e
			}
		}
	}
	for _, p := range inv.Pools {
		x.pools[p.Name] = p
	}
	for _, c := range inv.Clusters {
		x.clusters[c.Name] = &c
	}
	for _, h := range inv.Hosts {
		x.sizes[h.Pool]++
		x.addWanted(h.Pool, digestOf(in.Desired[h.Name].OS))
		for _, digest := range in.Facts[h.Name].Rejected {
			if x.rejected[digest] == "" {
				x.rejected[digest] = h.Name
			}
		}
		if h.Cluster != "" {
			x.peers[[2]string{h.Pool, h.Cluster}]++
			x.members[h.Cluster] = append(x.members[h.Cluster], h.Name)
		} else if h.NearCluster != "" {
			x.near[h.Name] = h.NearCluster
		}
	}
	x.last = lastRollout(in)
	x.rollout = continuedRollout(in, x)
	return x
}

// addWanted adds the OS that a host of a pool wants. A pool has a target only if all of its hosts want the same: a host with an OS of its
// own, such as for a trial, must not look like a roll-out of this OS to the whole pool.
func (x index) addWanted(pool, digest string) {
	if x.wanted[pool] == nil {
		x.wanted[pool] = map[string]bool{}
	}
	x.wanted[pool][digest] = true
	switch {
	case len(x.wanted[pool]) > 1:
		x.targets[pool] = ""
	case digest != "":
		x.targets[pool] = digest
	}
}

// predecessorsOf includes indirect ones: a pool without work also passes the order on.
func (x index) predecessorsOf(pool string) []string {
	var names []string
	seen := map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		for _, first := range x.pools[name].After {
			if !seen[first] {
				seen[first] = true
				names = append(names, first)
				visit(first)
			}
		}
	}
	visit(pool)
	return names
}

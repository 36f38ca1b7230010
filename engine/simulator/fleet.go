package simulator

import (
	"fmt"

	"holdfast/engine"
)

// The digests of the old OS and the desired OS of the hosts in Fleet, and of a
// third OS.
const (
	V1 = "v1"
	V2 = "v2"
	V3 = "v3"
)

// Fleet returns an inventory with that many members of one etcd cluster, and
// that many workers, which are drained.
func Fleet(members, workers int) engine.Inventory {
	os := &engine.OS{Driver: "simulator", Commit: V2}
	inv := engine.Inventory{Site: "test", Pools: []engine.Pool{
		{Name: "etcd", OS: os},
		{Name: "worker", OS: os, After: []string{"etcd"}, Drain: &engine.Drain{Command: "drain", Undo: "undrain"}},
	}}
	if members > 0 {
		inv.Clusters = []engine.Cluster{{Name: "main", ClientPort: 2379}}
	}
	for i := range members {
		inv.Hosts = append(inv.Hosts, engine.Host{Name: fmt.Sprintf("etcd-%d", i), Pool: "etcd", Cluster: "main"})
	}
	for i := range workers {
		inv.Hosts = append(inv.Hosts, engine.Host{Name: fmt.Sprintf("worker-%d", i), Pool: "worker"})
	}
	return inv
}

// Large returns the inventory of a large site in three zones. It has clusters
// of three and five members in turn, two clusters in each pool. The other hosts
// are in worker pools, which come after a pool of members and, in groups of
// three, after each other. The budget of a pool is a tenth of its hosts.
func Large(hosts, clusters, pools int) engine.Inventory {
	os := &engine.OS{Driver: "simulator", Commit: V2}
	tenth := engine.CountOrPercent{Percent: 10, Set: true}
	inv := engine.Inventory{Site: "large"}
	heads := (clusters + 1) / 2
	for i := range heads {
		inv.Pools = append(inv.Pools, engine.Pool{Name: fmt.Sprintf("etcd-%02d", i), OS: os, MaxUnavailable: engine.CountOrPercent{Count: 2, Set: true}})
	}
	for i := range pools - heads {
		p := engine.Pool{
			Name: fmt.Sprintf("worker-%02d", i), OS: os, MaxUnavailable: tenth,
			After: []string{inv.Pools[i%heads].Name}, Drain: &engine.Drain{Command: "drain", Undo: "undrain"},
		}
		if i%3 > 0 {
			p.After = append(p.After, inv.Pools[len(inv.Pools)-1].Name)
		}
		inv.Pools = append(inv.Pools, p)
	}
	add := func(pool engine.Pool, cluster string) {
		n := len(inv.Hosts)
		inv.Hosts = append(inv.Hosts, engine.Host{Name: fmt.Sprintf("%s-%04d", pool.Name, n), Pool: pool.Name, Cluster: cluster, Zone: fmt.Sprintf("rack-%d", n%3)})
	}
	for i := range clusters {
		c := engine.Cluster{Name: fmt.Sprintf("cluster-%02d", i), ClientPort: 2379}
		inv.Clusters = append(inv.Clusters, c)
		for range 3 + i%2*2 {
			add(inv.Pools[i/2], c.Name)
		}
	}
	for i := 0; len(inv.Hosts) < hosts; i++ {
		add(inv.Pools[heads+i%(pools-heads)], "")
	}
	return inv
}

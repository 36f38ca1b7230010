package hosttest

import (
	"fmt"

	"holdfast/engine"
)

// The digests of the OS that hosts of Fleet run, and are to run.
const (
	V1 = "v1"
	V2 = "v2"
)

// Fleet is an inventory of so many members of one etcd cluster and workers,
// which come after them. Workers are drained.
func Fleet(members, workers int) engine.Inventory {
	os := &engine.OS{Driver: "hosttest", Commit: V2}
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

// Package kubefacts has the observed state of Kubernetes clusters: their nodes, the
// leases of nodes, and everything that decides whether a node can be drained.
package kubefacts

import (
	"slices"
	"time"
)

// ClusterFacts is the observed state of a Kubernetes cluster at one moment.
type ClusterFacts struct {
	Name         string
	Problem      *Problem      // why there are no facts; nil if there are some
	Nodes        []Node        // all nodes
	Leases       []Lease       // leases of nodes, which tools for maintenance take
	Maintenances []Maintenance // objects NodeMaintenance
	Warnings     []Problem     // why some of the facts are missing
	ClockAhead   time.Duration // how far the clock of the API is ahead of the bastion's
}

// Maintenance is an object NodeMaintenance of medik8s: a person keeps a node out of use.
type Maintenance struct {
	Node   string
	Name   string
	Reason string
}

// Node returns the node with that name.
func (c ClusterFacts) Node(name string) (Node, bool) {
	i := slices.IndexFunc(c.Nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		return Node{}, false
	}
	return c.Nodes[i], true
}

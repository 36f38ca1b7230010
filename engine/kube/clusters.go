package kube

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
)

// Clusters has a client for each Kubernetes cluster of an inventory.
type Clusters struct {
	clients map[string]*Client
}

// Bastion is the machine from which APIs are reached.
type Bastion struct {
	Files    Files
	Programs Programs
	Agent    string                                     // names the program to the APIs
	Now      func() time.Time                           // its clock
	Sleep    func(context.Context, time.Duration) error // waits
}

// NewClusters connects to nothing.
func NewClusters(inv engine.Inventory, b Bastion) Clusters {
	c := Clusters{map[string]*Client{}}
	for _, k := range inv.Kubernetes {
		c.clients[k.Name] = &Client{cluster: k, bastion: b}
	}
	return c
}

// Gather reads the clusters with these names, side by side.
func (c Clusters) Gather(ctx context.Context, names []string) map[string]kubefacts.ClusterFacts {
	found := make([]kubefacts.ClusterFacts, len(names))
	var all conc.WaitGroup
	for i, name := range names {
		if client := c.clients[name]; client != nil {
			all.Go(func() { found[i] = client.Gather(ctx) })
		}
	}
	all.Wait()
	facts := make(map[string]kubefacts.ClusterFacts, len(names))
	for i, name := range names {
		facts[name] = found[i]
	}
	return facts
}

// ReadWorkloads reads the pods of nodes, by cluster, and the PodDisruptionBudgets of these clusters, side by side.
func (c Clusters) ReadWorkloads(ctx context.Context, nodes map[string][]string) map[string]kubefacts.Workload {
	names := slices.Sorted(maps.Keys(nodes))
	found := make([]kubefacts.Workload, len(names))
	var all conc.WaitGroup
	for i, name := range names {
		if client := c.clients[name]; client != nil {
			all.Go(func() { found[i] = client.ReadWorkload(ctx, nodes[name]) })
		}
	}
	all.Wait()
	workloads := make(map[string]kubefacts.Workload, len(names))
	for i, name := range names {
		workloads[name] = found[i]
	}
	return workloads
}

// ReadNode reads one node of a cluster.
func (c Clusters) ReadNode(ctx context.Context, cluster, node string) (kubefacts.Node, *kubefacts.Problem) {
	return c.clients[cluster].ReadNode(ctx, node)
}

// CheckFiles reads the kubeconfig of each cluster, and the files that it names. It connects to nothing.
func (c Clusters) CheckFiles() []*kubefacts.Problem {
	var problems []*kubefacts.Problem
	for _, name := range slices.Sorted(maps.Keys(c.clients)) {
		client := c.clients[name]
		if _, problem := readLogin(client.cluster, client.bastion.Files, client.bastion.Now()); problem != nil {
			problems = append(problems, problem)
		}
	}
	return problems
}

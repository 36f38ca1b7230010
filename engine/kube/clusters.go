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
	return readSideBySide(c, names, func(_ string, client *Client) kubefacts.ClusterFacts { return client.Gather(ctx) })
}

// ReadWorkloads reads the pods of nodes, by cluster, and the PodDisruptionBudgets of these clusters, side by side.
func (c Clusters) ReadWorkloads(ctx context.Context, nodes map[string][]string) map[string]kubefacts.Workload {
	return readSideBySide(c, slices.Collect(maps.Keys(nodes)), func(name string, client *Client) kubefacts.Workload { return client.ReadWorkload(ctx, nodes[name]) })
}

func readSideBySide[T any](c Clusters, names []string, read func(name string, client *Client) T) map[string]T {
	found := make([]T, len(names))
	var all conc.WaitGroup
	for i, name := range names {
		if client := c.clients[name]; client != nil {
			all.Go(func() { found[i] = read(name, client) })
		}
	}
	all.Wait()
	byName := make(map[string]T, len(names))
	for i, name := range names {
		byName[name] = found[i]
	}
	return byName
}

// ReadNode reads one node of a cluster.
func (c Clusters) ReadNode(ctx context.Context, cluster, node string) (kubefacts.Node, *kubefacts.Problem) {
	return c.clients[cluster].ReadNode(ctx, node)
}

// Cordon is Client.Cordon.
func (c Clusters) Cordon(ctx context.Context, cluster, node, by string) (kubefacts.Node, *kubefacts.Problem) {
	return c.clients[cluster].Cordon(ctx, node, by)
}

// Uncordon is Client.Uncordon.
func (c Clusters) Uncordon(ctx context.Context, cluster, node string) (kubefacts.Node, *kubefacts.Problem) {
	return c.clients[cluster].Uncordon(ctx, node)
}

// Evict is Client.Evict.
func (c Clusters) Evict(ctx context.Context, cluster string, r kubefacts.EvictionRequest) kubefacts.Eviction {
	return c.clients[cluster].Evict(ctx, r)
}

// TakeLease is Client.TakeLease.
func (c Clusters) TakeLease(ctx context.Context, cluster string, r kubefacts.LeaseRequest) (kubefacts.LeaseAnswer, kubefacts.Lease, *kubefacts.Problem) {
	return c.clients[cluster].TakeLease(ctx, r)
}

// ReleaseLease is Client.ReleaseLease.
func (c Clusters) ReleaseLease(ctx context.Context, cluster, node string) *kubefacts.Problem {
	return c.clients[cluster].ReleaseLease(ctx, node)
}

// FindMissingRights asks the APIs of clusters for the rights that a drain needs, and returns those that the user lacks. An
// API that does not tell counts as one that gives all rights: another problem of it names the cause.
func (c Clusters) FindMissingRights(ctx context.Context, names []string) map[string][]kubefacts.Right {
	return readSideBySide(c, names, func(_ string, client *Client) []kubefacts.Right { return client.FindMissingRights(ctx) })
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

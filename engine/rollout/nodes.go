package rollout

import (
	"context"
	"fmt"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
	"holdfast/engine/planner"
)

// GatherNodes gathers every Kubernetes cluster of the hosts, and adds their nodes to the facts of the hosts.
func (r *Run) GatherNodes(ctx context.Context, facts map[string]engine.Facts) map[string]kubefacts.ClusterFacts {
	return newGatherer(r).gatherNodes(ctx, facts)
}

func (g *gatherer) gatherNodes(ctx context.Context, facts map[string]engine.Facts) map[string]kubefacts.ClusterFacts {
	names := planner.KubernetesConcerned(g.Inventory)
	if len(names) == 0 {
		return nil
	}
	clusters := g.Nodes.Gather(ctx, names)
	planner.AddNodes(g.Inventory, facts, clusters, g.Clock.Now())
	return clusters
}

// forecastDrains reads the pods that the drains of a plan move. Only the first plan of a run shows them.
func (p *planning) forecastDrains(ctx context.Context, survey planner.Survey) planner.Survey {
	nodes := survey.NodesToDrain()
	if len(nodes) == 0 {
		return survey
	}
	workloads := p.Nodes.ReadWorkloads(ctx, nodes)
	if clusters := survey.ClustersToDrain(); len(clusters) > 0 {
		for cluster, missing := range p.Nodes.FindMissingRights(ctx, clusters) {
			w := workloads[cluster]
			w.Missing = missing
			workloads[cluster] = w
		}
	}
	return survey.WithWorkloads(workloads)
}

// awaitNode waits until the node is Ready. After a full reboot, it must report another boot of the kernel than before: the API
// calls a node Ready until its kubelet has been silent for a while. Kubelets report the boot ID of the kernel, without soft reboots.
func (w *hostWait) awaitNode(ctx context.Context, want engine.AwaitNode) error {
	return w.pollUntil(ctx, func(ctx context.Context) (missing string, fatal error) {
		n, problem := w.Nodes.ReadNode(ctx, want.Cluster, want.Node)
		switch {
		case problem != nil:
			return problem.Text(), nil
		case n.Deleted:
			return "", nil // a person deletes it: nobody waits for it
		case !n.Ready:
			return fmt.Sprintf("node %s is not Ready (%s)", n.Name, n.NotReady), nil
		case want.Rebooted && n.BootID == w.hp.BootID.Kernel():
			return fmt.Sprintf("the kubelet of node %s has not reported its new boot", n.Name), nil
		}
		return "", nil
	})
}

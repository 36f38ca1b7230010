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
	return survey.WithWorkloads(p.gatherer.readWorkloads(ctx, nodes, survey.ClustersToDrain()))
}

// readWorkloads reads the pods of nodes, and the rights for drains through the API of clusters.
func (g *gatherer) readWorkloads(ctx context.Context, nodes map[string][]string, byAPI []string) map[string]kubefacts.Workload {
	if len(nodes) == 0 {
		return nil
	}
	workloads := g.Nodes.ReadWorkloads(ctx, nodes)
	if len(byAPI) == 0 {
		return workloads
	}
	for cluster, missing := range g.Nodes.FindMissingRights(ctx, byAPI) {
		w := workloads[cluster]
		w.Missing = missing
		workloads[cluster] = w
	}
	return workloads
}

// awaitNode waits until the node is Ready. After a full reboot, it must report another boot of the kernel than before: the API
// calls a node Ready until its kubelet has been silent for a while. Kubelets report the boot ID of the kernel, without soft reboots.
func (w *hostWait) awaitNode(ctx context.Context, want engine.AwaitNode) error {
	present, verified := "", !want.Present
	return w.pollUntil(ctx, func(ctx context.Context) (missing string, fatal error) {
		if !verified {
			owned, missing, fatal := w.verifyNode(ctx, want.Cluster, want.Node)
			if !owned {
				return missing, fatal
			}
			f, err := w.probeHost(ctx)
			if err != nil {
				return "the host does not answer: " + err.Error(), nil
			}
			present, verified = f.BootID.Kernel(), true
		}
		n, problem := w.Nodes.ReadNode(ctx, want.Cluster, want.Node)
		switch {
		case problem != nil:
			return problem.Text(), nil
		case n.Deleted:
			return "", nil // a person deletes it: nobody waits for it
		case !n.Ready:
			return fmt.Sprintf("node %s is not Ready (%s)", n.Name, n.NotReady), nil
		case present != "" && n.BootID != "" && n.BootID != present:
			return fmt.Sprintf("the kubelet of node %s has not reported the present boot of its host", n.Name), nil
		case want.Rebooted && n.BootID == w.hp.BootID.Kernel():
			return fmt.Sprintf("the kubelet of node %s has not reported its new boot", n.Name), nil
		}
		return "", nil
	})
}

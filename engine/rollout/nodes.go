package rollout

import (
	"context"
	"fmt"
	"slices"
	"time"

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

// Limits of the reads of single nodes before a batch.
const (
	roomNodes  = 20 // read one by one; a list of all pods has fewer requests for more
	roomRounds = 3  // a host that is left out of the batch may make room for another one
)

// planWithRoom plans again so that the drains of the next batch do not wait for each other. It reads the pods of the nodes of this batch only:
// other hosts count as hosts with room until they are in the batch. If these are too many, or the batch keeps changing, it reads all nodes.
func (p *planning) planWithRoom(ctx context.Context, g Gathered, plan engine.Plan) (planner.Survey, engine.Plan) {
	survey, read := g.survey, map[string][]string{}
	for round := 1; ; round++ {
		unread := addUnread(read, survey.NodesDrainedTogether(plan))
		if unread == 0 {
			return survey, plan
		}
		all := round > roomRounds || countNodes(read) > roomNodes
		if all {
			read = survey.NodesToDrain()
		}
		survey = survey.WithRoom(p.Nodes.ReadWorkloads(ctx, read))
		plan = survey.Plan(p.Clock.Now(), g.Clusters)
		if all {
			return survey, plan
		}
	}
}

// addUnread adds nodes to those that are read, and returns how many are new.
func addUnread(read, nodes map[string][]string) (added int) {
	for cluster, names := range nodes {
		for _, name := range names {
			if !slices.Contains(read[cluster], name) {
				read[cluster] = append(read[cluster], name)
				added++
			}
		}
	}
	return added
}

func countNodes(nodes map[string][]string) (count int) {
	for _, names := range nodes {
		count += len(names)
	}
	return count
}

// awaitNode waits until the node is Ready. After a full reboot, it must report another boot of the kernel than before: the API
// calls a node Ready until its kubelet has been silent for a while. Kubelets report the boot ID of the kernel, without soft reboots.
// After a soft reboot that this run ordered, the kubelet must have reported since then: each kubelet does so when it starts.
func (w *hostWait) awaitNode(ctx context.Context, want engine.AwaitNode, ordered time.Time) error {
	present, verified := "", !want.Verify
	needsReport := want.SoftRebooted && !ordered.IsZero()
	var since time.Time // of the order, by the clock of the host
	return w.pollUntil(ctx, func(ctx context.Context) (missing string, fatal error) {
		if !verified {
			owned, missing, fatal := w.verifyNode(ctx, want.Kubernetes, want.Node)
			if !owned {
				return missing, fatal
			}
			verified = true
		}
		if want.InCurrentBoot && present == "" || needsReport && since.IsZero() {
			f, err := w.probeHost(ctx)
			if err != nil {
				return "the host does not answer: " + err.Error(), nil
			}
			if since = ordered.Add(f.Clock.Sub(f.GatheredAt)); want.InCurrentBoot {
				present = f.BootID.Kernel()
			}
		}
		n, problem := w.Nodes.ReadNode(ctx, want.Kubernetes, want.Node)
		switch {
		case problem != nil:
			return problem.Text(), nil
		case n.Gone:
			return fmt.Sprintf("node %s is gone, and its kubelet has not registered it again", n.Name), nil
		case n.Deleted:
			return "", nil // a person deletes it: nobody waits for it
		case !n.Ready:
			return fmt.Sprintf("node %s is not Ready (%s)", n.Name, n.NotReady), nil
		case present != "" && n.BootID != "" && n.BootID != present:
			return fmt.Sprintf("the kubelet of node %s has not reported the present boot of its host", n.Name), nil
		case want.Rebooted && n.BootID == w.hp.BootID.Kernel():
			return fmt.Sprintf("the kubelet of node %s has not reported its new boot", n.Name), nil
		case needsReport && !n.HeartbeatAt.IsZero() && !n.HeartbeatAt.After(since):
			return fmt.Sprintf("the kubelet of node %s has not reported since the soft reboot", n.Name), nil
		}
		return "", nil
	})
}

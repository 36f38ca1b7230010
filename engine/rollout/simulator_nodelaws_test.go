package rollout_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"holdfast/engine/kubefacts"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// alteredNodes are Kubernetes clusters of which some questions have other answers.
type alteredNodes struct {
	rollout.Nodes

	gather   func(map[string]kubefacts.ClusterFacts)
	read     func(map[string]kubefacts.Workload)
	uncordon bool // nobody uncordons
	release  bool // nobody releases a lease
	cordon   bool // nobody cordons
	twice    bool // every eviction is repeated after the pod was made again, without its UID
	swapped  bool // every change is asked of the other one of two clusters, which has nodes and pods with the same names
}

func (a alteredNodes) swapCluster(cluster string) string {
	if a.swapped {
		return map[string]string{"k0": "k1", "k1": "k0"}[cluster]
	}
	return cluster
}

func (a alteredNodes) Gather(ctx context.Context, names []string) map[string]kubefacts.ClusterFacts {
	all := a.Nodes.Gather(ctx, names)
	if a.gather != nil {
		a.gather(all)
	}
	return all
}

func (a alteredNodes) ReadWorkloads(ctx context.Context, nodes map[string][]string) map[string]kubefacts.Workload {
	all := a.Nodes.ReadWorkloads(ctx, nodes)
	if a.read != nil {
		a.read(all)
	}
	return all
}

func (a alteredNodes) ReadNode(ctx context.Context, cluster, node string) (kubefacts.Node, *kubefacts.Problem) {
	n, problem := a.Nodes.ReadNode(ctx, cluster, node)
	n.Cordoned = n.Cordoned || a.cordon
	return n, problem
}

func (a alteredNodes) Cordon(ctx context.Context, cluster, node, by string) (kubefacts.Node, *kubefacts.Problem) {
	if a.cordon {
		return a.ReadNode(ctx, cluster, node)
	}
	return a.Nodes.Cordon(ctx, a.swapCluster(cluster), node, by)
}

func (a alteredNodes) Uncordon(ctx context.Context, cluster, node string) (kubefacts.Node, *kubefacts.Problem) {
	if a.uncordon {
		return kubefacts.Node{}, nil
	}
	return a.Nodes.Uncordon(ctx, a.swapCluster(cluster), node)
}

func (a alteredNodes) ReleaseLease(ctx context.Context, cluster, node string) *kubefacts.Problem {
	if a.release {
		return nil
	}
	return a.Nodes.ReleaseLease(ctx, a.swapCluster(cluster), node)
}

func (a alteredNodes) Evict(ctx context.Context, cluster string, r kubefacts.EvictionRequest) kubefacts.Eviction {
	e := a.Nodes.Evict(ctx, cluster, r)
	if a.twice && e.Kind == kubefacts.PodEvicted {
		time.Sleep(100 * time.Second)
		r.Pod.UID = ""
		a.Nodes.Evict(ctx, cluster, r)
	}
	return e
}

// TestNodeLawsBite lets every run of the histories break a law about nodes, in one way after the other.
func TestNodeLawsBite(t *testing.T) {
	for name, c := range map[string]struct {
		nodes  alteredNodes
		broken string
		first  uint64 // seed that is tried first, because it showed the violation when the test was written
	}{
		"pods": {alteredNodes{read: func(all map[string]kubefacts.Workload) {
			for name, w := range all {
				w.Pods = nil
				all[name] = w
			}
		}}, "is disrupted with pod", 1},
		"maintenance": {alteredNodes{gather: func(all map[string]kubefacts.ClusterFacts) {
			for name, f := range all {
				f.Maintenances = nil
				all[name] = f
			}
		}}, "a NodeMaintenance names its node", 497},
		"cordons":      {alteredNodes{cordon: true}, "which is not cordoned", 1},
		"undo":         {alteredNodes{uncordon: true}, "while its node is cordoned by a run", 1},
		"lease at end": {alteredNodes{release: true}, "has the lease of its node", 1},
		"other UID":    {alteredNodes{twice: true}, "is evicted from node", 1},
		"elsewhere":    {alteredNodes{twice: true}, "is drained without a hold", 1},
		"namesakes":    {alteredNodes{swapped: true}, "is cordoned, and is no host of the run", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			played := 0
			for s := c.first; played < 300; s++ {
				h := newHistory(s)
				if len(h.kubernetes) == 0 || c.nodes.swapped && len(h.kubernetes) < 2 {
					continue
				}
				played++
				h.sabotage = func(_ *simulator.Site, r *rollout.Run) {
					altered := c.nodes
					altered.Nodes = r.Nodes
					r.Nodes = altered
				}
				if err := runInBubble(t, h.playHistory); err != nil && strings.Contains(err.Error(), "BROKEN") && strings.Contains(err.Error(), c.broken) {
					t.Logf("seed %d tells", s)
					return
				}
			}
			t.Errorf("no history breaks a law that says %q", c.broken)
		})
	}
}

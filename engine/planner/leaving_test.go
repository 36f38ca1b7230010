package planner_test

import (
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
	"holdfast/engine/planner"
)

// TestLeavingHostsMatchNoNode: a machine registers the node name of the host that it replaces. Both would match the one node, by its
// name and its address.
func TestLeavingHostsMatchNoNode(t *testing.T) {
	w := &world{pools: []engine.Pool{{Name: "worker"}}, hosts: []*machine{worker(0).in(machine{work: "reboot"}), worker(1).in(machine{})}}
	in := w.input()
	in.Inventory.Kubernetes = []engine.KubernetesCluster{{Name: "main"}}
	for i := range in.Inventory.Hosts {
		in.Inventory.Hosts[i].Kubernetes = "main"
	}
	in.Inventory.Hosts[0].Address, in.Inventory.Hosts[1].Leaving = "10.0.0.7", true
	in.Kubernetes = map[string]kubefacts.ClusterFacts{"main": {Name: "main", Nodes: []kubefacts.Node{{Name: "worker-1", Addresses: []string{"10.0.0.7"}, Ready: true, BootID: "boot"}}}}
	planner.AddNodes(in.Inventory, in.Facts, in.Kubernetes, in.Now)
	if p := planner.NewPlan(in); len(p.Refusals) > 0 || len(p.Batches) != 1 {
		t.Errorf("refusals %q, batches %v", p.Refusals, p.Batches)
	}
	in.Inventory.Hosts[0].Leaving = true
	if names := planner.KubernetesConcerned(in.Inventory); len(names) > 0 {
		t.Errorf("%v are asked for leaving hosts", names)
	}
}

// TestALeavingVoter: nobody asks the voter of a host that leaves the site. Only work on its cluster is refused, and the plan has the next
// step.
func TestALeavingVoter(t *testing.T) {
	w := etcdWorld([]*machine{member(0), member(1), member(2)}, 1)
	w.hosts = append(w.hosts, worker(0).in(machine{work: "reboot"}))
	w.pools = append(w.pools, engine.Pool{Name: "worker"})
	w.hosts[0].work, w.hosts[2].sick = "reboot", true
	in := w.input()
	in.Inventory.Hosts[2].Leaving, in.Inventory.Hosts[2].Retired = true, true
	p := planner.NewPlan(in)
	if len(p.Batches) > 0 || len(p.Refusals) != 1 || !slices.ContainsFunc(p.Warnings, func(s string) bool { return strings.HasPrefix(s, "etcd-2 is leaving, and still has a voter") }) {
		t.Errorf("batches %v, refusals %q, warnings %q", p.Batches, p.Refusals, p.Warnings)
	}
	w.hosts[0].work = ""
	in = w.input()
	in.Inventory.Hosts[2].Leaving, in.Inventory.Hosts[2].Retired = true, true
	if p := planner.NewPlan(in); len(p.Batches) != 1 || len(p.UnhealthyClusters) > 0 {
		t.Errorf("without work in the cluster: batches %v, unhealthy %v, refusals %q", p.Batches, p.UnhealthyClusters, p.Refusals)
	}
}

package planner

import (
	"slices"

	"holdfast/engine"
)

// snapshotSteps returns the steps that save the etcd clusters before the first batch: those with members that the batches
// disrupt, and those that a task asks for. Clusters that this run has saved are left out. playLoop.takeSnapshots in rollout
// carries the steps out.
func snapshotSteps(in Input, batches []engine.Batch, work map[string]*engine.HostPlan) []engine.Step {
	disrupted := map[string]bool{}
	for _, b := range batches {
		for _, name := range b.Hosts {
			if hp := work[name]; hp.Disruptive() {
				disrupted[hp.Cluster] = true
			}
		}
	}
	var steps []engine.Step
	for _, c := range in.Inventory.Clusters {
		asked := in.Play != nil && in.Play.Has(engine.EtcdSnapshotTask) && in.selectsMemberOf(c.Name)
		if _, saved := in.Saved[c.Name]; !saved && (asked || disrupted[c.Name] && !c.NoSnapshot) {
			steps = append(steps, engine.Step{Name: "snapshot etcd", On: c.Name, Do: engine.Op{Snapshot: &engine.Snapshot{Cluster: c.Name}}, Timeout: engine.SnapshotTimeout})
		}
	}
	return steps
}

func (in Input) selectsMemberOf(cluster string) bool {
	return slices.ContainsFunc(in.Inventory.Members(cluster), in.Selected)
}

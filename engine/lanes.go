package engine

// lanes orders the hosts that need staging: members of an etcd cluster one
// after the other and the leader last, every other host on its own.
func lanes(in Input, batches []Batch, work map[string]*HostPlan) []Lane {
	var out []Lane
	byCluster := map[string]int{}
	leaders := map[string]string{}
	for _, b := range batches {
		for _, name := range b.Hosts {
			hp := work[name]
			switch {
			case len(hp.Stage) == 0:
			case hp.Cluster == "":
				out = append(out, Lane{Hosts: []string{name}})
			case in.Clusters[hp.Cluster].Leader() == name:
				leaders[hp.Cluster] = name
			default:
				out = addMember(out, byCluster, hp.Cluster, name)
			}
		}
	}
	for _, c := range in.Inventory.Clusters {
		if name := leaders[c.Name]; name != "" {
			out = addMember(out, byCluster, c.Name, name)
		}
	}
	return out
}

func addMember(out []Lane, byCluster map[string]int, cluster, name string) []Lane {
	i, ok := byCluster[cluster]
	if !ok {
		byCluster[cluster] = len(out)
		return append(out, Lane{Cluster: cluster, Hosts: []string{name}})
	}
	out[i].Hosts = append(out[i].Hosts, name)
	return out
}

// snapshots gives the steps that save each etcd cluster the plan will disrupt.
func snapshots(in Input, batches []Batch, work map[string]*HostPlan) []Step {
	disrupted := map[string]bool{}
	for _, b := range batches {
		for _, name := range b.Hosts {
			if hp := work[name]; hp.Disruptive() {
				disrupted[hp.Cluster] = true
			}
		}
	}
	var steps []Step
	for _, c := range in.Inventory.Clusters {
		if _, saved := in.Saved[c.Name]; disrupted[c.Name] && !saved && !c.NoSnapshot {
			steps = append(steps, Step{Name: "snapshot etcd", On: c.Name, Do: Op{Snapshot: &Snapshot{Cluster: c.Name}}, Timeout: snapshotTimeout})
		}
	}
	return steps
}

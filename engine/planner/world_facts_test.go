package planner_test

import (
	"errors"
	"fmt"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/kubefacts"
	"holdfast/engine/planner"
)

// input returns the part of the world that a planner sees.
func (w *world) input() planner.Input {
	in := planner.Input{
		Request:  planner.Request{Inventory: engine.Inventory{Site: "test", Pools: w.pools, MaxUnavailable: w.site}, Desired: map[string]engine.Desired{}, Dead: []string{deadRun}, Repair: w.repair},
		Facts:    map[string]engine.Facts{},
		Clusters: map[string]etcdfacts.ClusterFacts{},
		Run:      thisRun,
		Bastion:  thisBastion,
		Now:      now,
		Failed:   map[string]string{},
	}
	work, ignored := map[string]string{}, map[string]bool{}
	for _, m := range w.hosts {
		in.Inventory.Hosts = append(in.Inventory.Hosts, engine.Host{Name: m.name, Pool: m.pool, Cluster: m.cluster, Zone: m.zone, Paused: m.paused})
		if m.failed {
			in.Failed[m.name] = "it failed"
		}
		in.Desired[m.name] = engine.Desired{OS: &engine.OS{Commit: "new"}}
		in.Facts[m.name] = m.facts()
		work[m.name], ignored[m.name] = m.work, m.ignored
	}
	for _, name := range sortedKeys(w.clusters) {
		c := w.clusters[name]
		in.Inventory.Clusters = append(in.Inventory.Clusters, engine.Cluster{Name: name, AllowOutage: c.allowOutage})
		if !c.unknown {
			in.Clusters[name] = w.clusterFacts(name)
		}
	}
	in.Modules = []engine.Module{namedFake(fakeModule{work})}
	in.Selected = func(h engine.Host) bool { return !ignored[h.Name] }
	return in
}

func (m *machine) facts() engine.Facts {
	if m.lost {
		return engine.Facts{Host: m.name, Unreachable: "connection refused"}
	}
	f := engine.Facts{Host: m.name, BootID: "boot-1", Clock: now, Running: []string{"sshd.service"}}
	hold := engine.Hold{Kind: engine.RunHold, Bastion: thisBastion, Holder: "ann@b1", Reason: "update", Acquired: now.Add(-1), Expires: now.Add(1)}
	if m.node != "" {
		f.Node = &kubefacts.NodeState{Node: m.name, Absence: map[string]kubefacts.Absence{"cordoned": kubefacts.Cordoned, "deleted": kubefacts.BeingDeleted, "not-ready": kubefacts.NotReady}[m.node]}
	}
	if m.rejected {
		f.Rejected = []string{"new"}
	}
	switch m.hold {
	case "":
		return f
	case "unreadable":
		f.HoldProblem = "its hold cannot be read"
		return f
	case "maintenance":
		hold.Kind, hold.Run, hold.Expires = engine.MaintenanceHold, "m-1", now.Add(-1)
	case "foreign":
		hold.Run = "run-of-somebody"
	case "expired":
		hold.Run, hold.Expires = "run-of-somebody", now.Add(-1)
	case "dead":
		hold.Run = deadRun
	case "own":
		hold.Run = thisRun
	}
	f.Hold = &hold
	return f
}

func (w *world) clusterFacts(name string) etcdfacts.ClusterFacts {
	c := etcdfacts.ClusterFacts{Name: name}
	for _, m := range w.hosts {
		if m.cluster == name {
			c.Members = append(c.Members, etcdfacts.Member{Name: m.name, Host: m.name, Healthy: !m.sick, Leader: w.clusters[name].leader == m.name})
		}
	}
	if w.clusters[name].learner {
		c.Members = append(c.Members, etcdfacts.Member{Name: "new", Learner: true, Healthy: true})
	}
	if w.clusters[name].alarm {
		c.Alarms = []string{"NOSPACE"}
	}
	return c
}

// fakeModule has the work of each host in a map.
type fakeModule struct{ work map[string]string }

// namedFake returns a module that only makes changes.
func namedFake(c engine.ChangePlanner) engine.Module { return engine.Module{Name: "fake", Changes: c} }

func (f fakeModule) Diff(_ engine.Desired, facts engine.Facts) (engine.Difference, error) {
	c := engine.Change{Module: "fake", Resource: "os", Before: "old", After: "new", Rule: "built in"}
	switch f.work[facts.Host] {
	case "unclear":
		return engine.Difference{}, errors.New("two deployments are booted")
	case "reboot":
		c.Actions = []engine.Action{{Type: engine.DrainAction}, {Type: engine.RebootAction}}
	case "restart":
		c.Actions = []engine.Action{{Type: engine.RestartUnit, Unit: "etcd.service"}}
	case "quiet":
		c.Actions = []engine.Action{{Type: engine.NoAction}}
	default:
		return engine.Difference{}, nil
	}
	return engine.Difference{Changes: []engine.Change{c}, Steps: f.planSteps}, nil
}

func (fakeModule) planSteps(t engine.Target, changes []engine.Change) engine.Steps {
	step := func(name string) []engine.Step {
		return []engine.Step{{Name: name, On: t.Host.Name, Do: engine.Op{Exec: &engine.Exec{Script: engine.NewScript("true # " + name)}}, Timeout: 1e9}}
	}
	if changes[0].Actions[0].Type == engine.DrainAction {
		order := step("reboot")
		order[0].Reboots = true
		return engine.Steps{Stage: step("stage"), Reboot: append(step("sync disks"), order...)}
	}
	return engine.Steps{Write: step("write")}
}

// adjustedFake is a fakeModule whose steps adjust changes.
type adjustedFake struct {
	fakeModule
	adjust func(engine.Target, *engine.Steps)
}

func (m adjustedFake) Diff(d engine.Desired, f engine.Facts) (engine.Difference, error) {
	x, err := m.fakeModule.Diff(d, f)
	x.Steps = func(t engine.Target, changes []engine.Change) engine.Steps {
		steps := m.planSteps(t, changes)
		m.adjust(t, &steps)
		return steps
	}
	return x, err
}

// member, worker and names make machines for a world.
func member(i int) *machine {
	return &machine{name: fmt.Sprintf("etcd-%d", i), pool: "etcd", cluster: "main"}
}

func worker(i int) *machine {
	return &machine{name: fmt.Sprintf("worker-%d", i), pool: "worker"}
}

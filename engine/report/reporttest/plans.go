package reporttest

import (
	"fmt"
	"time"

	"holdfast/engine"
)

// OSPlan returns the work of an OS update on a host.
func OSPlan(host, pool, cluster, zone string) engine.HostPlan {
	return engine.HostPlan{
		Host: host, Pool: pool, Cluster: cluster, Zone: zone, Actions: Reboot,
		Changes:  []engine.Change{{Module: "os", Resource: "os", Before: "1.0 (ffe304ca31ef)", After: "bc30253b4147", Rule: "built-in: an OS image takes effect at a reboot", Actions: Reboot}},
		Stage:    []engine.Step{{Name: "stage", On: host, Timeout: engine.Duration(30 * time.Minute)}},
		Sequence: []engine.Step{{Name: "hold", On: host, Timeout: engine.Duration(time.Minute)}, {Name: "finalize", On: host, Timeout: engine.Duration(2 * time.Minute)}},
	}
}

// ExamplePlan returns a plan with work, exclusions and warnings.
func ExamplePlan() engine.Plan {
	return engine.Plan{
		Schema: 1, Site: "berlin", Total: 9, Matching: []string{"worker-04"},
		Hosts: []engine.HostPlan{
			OSPlan("etcd-0", "etcd", "main", "rack-a"), OSPlan("etcd-1", "etcd", "main", "rack-b"), OSPlan("etcd-2", "etcd", "main", "rack-c"),
			OSPlan("worker-01", "worker", "", ""), OSPlan("worker-02", "worker", "", ""),
			{Host: "worker-05", Pool: "worker", Adopt: "20261120-220000-aa11c35e7f90d284", Actions: []engine.Action{}, Sequence: []engine.Step{}},
		},
		Excluded: []engine.Exclusion{
			{Host: "worker-03", Kind: engine.Unreachable, Reason: "connect to 10.0.1.3:22: no answer within 10s"},
			{Host: "worker-06", Kind: engine.Held, Reason: "held by ann@bastion since 2026-11-21 07:00 UTC for \"DIMM \x1b[31mswap\" (OPS-17)"},
		},
		Before:   []engine.Step{{Name: "snapshot etcd", On: "main", Do: engine.Op{Snapshot: &engine.Snapshot{Cluster: "main"}}}},
		Lanes:    []engine.Lane{{Cluster: "main", Hosts: []string{"etcd-1", "etcd-2", "etcd-0"}}, {Hosts: []string{"worker-01"}}, {Hosts: []string{"worker-02"}}},
		Batches:  []engine.Batch{{Pools: []string{"etcd", "worker"}, Hosts: []string{"etcd-1", "worker-01", "worker-05"}}, {Pools: []string{"etcd", "worker"}, Hosts: []string{"etcd-2", "worker-02"}}, {Pools: []string{"etcd"}, Hosts: []string{"etcd-0"}}},
		Warnings: []string{"worker-05: run 20261120-220000-aa11c35e7f90d284 ended and left its hold; this run adopts it"},
	}
}

// LargePlan returns the plan of a site of two etcd clusters and 480 workers.
// Some of its hosts are unreachable, and some are staged.
func LargePlan() engine.Plan {
	p := engine.Plan{Schema: 1, Site: "berlin", Total: 520}
	for _, cluster := range []string{"events", "main"} {
		var hosts []string
		for i := range 3 {
			name := fmt.Sprintf("%s-%d", cluster, i)
			hosts = append(hosts, name)
			p.Hosts = append(p.Hosts, OSPlan(name, "etcd", cluster, fmt.Sprintf("rack-%c", 'a'+i)))
			p.Batches = append(p.Batches, engine.Batch{Pools: []string{"etcd"}, Hosts: []string{name}})
		}
		p.Before = append(p.Before, engine.Step{Name: "snapshot etcd", On: cluster, Do: engine.Op{Snapshot: &engine.Snapshot{Cluster: cluster}}})
		p.Lanes = append(p.Lanes, engine.Lane{Cluster: cluster, Hosts: hosts})
	}
	for i := range 480 {
		name := fmt.Sprintf("worker-%03d", i)
		hp := OSPlan(name, "worker", "", "")
		if i < 8 {
			hp.Stage = nil
		} else {
			p.Lanes = append(p.Lanes, engine.Lane{Hosts: []string{name}})
		}
		p.Hosts = append(p.Hosts, hp)
		if i%20 == 0 {
			p.Batches = append(p.Batches, engine.Batch{Pools: []string{"worker"}})
		}
		last := &p.Batches[len(p.Batches)-1]
		last.Hosts = append(last.Hosts, name)
	}
	for i := range 30 {
		p.Excluded = append(p.Excluded, engine.Exclusion{Host: fmt.Sprintf("edge-%02d", i), Kind: engine.Unreachable, Reason: fmt.Sprintf("connect to 10.0.9.%d:22: no route to host", i)})
	}
	for i := range 3 {
		p.Excluded = append(p.Excluded, engine.Exclusion{Host: fmt.Sprintf("gpu-%d", i), Kind: engine.Blocked, Reason: "pool gpu comes after pool worker, where edge-00 is not updated"})
	}
	p.Excluded = append(p.Excluded, engine.Exclusion{Host: "gpu-3", Kind: engine.Held, Reason: "held by ann@bastion since 2026-11-21 07:00 UTC for \"fans\""})
	return p
}

// GateStep returns the step of a gate.
func GateStep(name, on string, g engine.Gate) engine.Step {
	g.Name = name
	return engine.Step{Name: "gate " + name, On: on, Do: engine.Op{Gate: &g}, Timeout: engine.Duration(5 * time.Minute)}
}

// RollingPlan returns a plan with a canary, a soak, gates, a window and a rollback.
func RollingPlan() engine.Plan {
	p := engine.Plan{Schema: 1, Site: "berlin", Total: 20, Play: "upgrade the workers", Matching: []string{"etcd-0"}}
	ceph := GateStep("ceph", engine.Bastion, engine.Gate{Command: "ceph health | grep -q HEALTH_OK"})
	p.Start = []engine.Step{GateStep("no alerts", engine.Bastion, engine.Gate{PromQL: &engine.PromQLGate{URL: "http://prom.example:9090", Query: "absent(ALERTS)"}})}
	worker := func(i int) string {
		name := fmt.Sprintf("worker-%02d", i)
		hp := OSPlan(name, "worker", "", "")
		hp.Rollback = []engine.Step{{Name: "roll back", On: name, Timeout: engine.Duration(2 * time.Minute)}, {Name: "wait for boot", On: name, Timeout: engine.Duration(20 * time.Minute)}}
		p.Hosts = append(p.Hosts, hp)
		p.Lanes = append(p.Lanes, engine.Lane{Hosts: []string{name}})
		return name
	}
	p.Batches = []engine.Batch{{Pools: []string{"worker"}, Hosts: []string{worker(1)}, Canaries: []string{"worker"}, Before: []engine.Step{ceph}}}
	for i := range 5 {
		p.Batches = append(p.Batches, engine.Batch{Pools: []string{"worker"}, Hosts: []string{worker(2*i + 2), worker(2*i + 3)}, After: []engine.Step{GateStep("console", engine.Bastion, engine.Gate{HTTP: &engine.HTTPGate{URL: "https://{pool}.example/healthz"}})}})
	}
	p.Batches[1].Soak = engine.Duration(10 * time.Minute)
	closed := "pool edge: outside its maintenance window for a batch of 30m (Sat 22:00-04:00 Europe/Berlin); the next may begin on Sat 2026-11-21 22:00 CET"
	for i := range 3 {
		name := fmt.Sprintf("edge-%d", i)
		hp := OSPlan(name, "edge", "", "")
		if i < 2 {
			p.Lanes = append(p.Lanes, engine.Lane{Hosts: []string{name}})
		} else {
			hp.Stage = nil
		}
		p.Hosts = append(p.Hosts, hp)
		p.Excluded = append(p.Excluded, engine.Exclusion{Host: name, Kind: engine.Closed, Reason: closed})
	}
	p.Excluded = append(p.Excluded,
		engine.Exclusion{Host: "gpu-0", Kind: engine.Paused, Reason: "the inventory pauses pool gpu"},
		engine.Exclusion{Host: "gpu-1", Kind: engine.Paused, Reason: "the inventory pauses pool gpu"},
		engine.Exclusion{Host: "worker-12", Kind: engine.RolledBack, Reason: "it was rolled back from bc30253b4147, which failed there; give it another OS, or try again with --retry-rolled-back"},
		engine.Exclusion{Host: "worker-13", Kind: engine.Failed, Reason: "gate ceph: exit status 1"},
	)
	return p
}

var (
	Reboot = []engine.Action{{Type: engine.DrainAction}, {Type: engine.RebootAction}}
	Began  = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
)

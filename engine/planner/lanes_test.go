package planner_test

import (
	"slices"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/planner"
)

// nearInput returns three members, a worker near their cluster, and one elsewhere. All have another OS to stage. The
// timeout of their stage step is that of their pool. When a plan is made, the map is filled: it has the hosts to be staged,
// and whether the governor stages them.
func nearInput(latency *engine.Latency) (planner.Input, map[string]bool) {
	w := &world{
		pools:    []engine.Pool{{Name: "etcd", Timeouts: engine.Timeouts{Stage: engine.Duration(20 * time.Minute)}}, {Name: "worker", Timeouts: engine.Timeouts{Stage: engine.Duration(45 * time.Minute)}}},
		clusters: map[string]*etcd{"main": {leader: "etcd-1"}},
	}
	for _, m := range []*machine{member(0), member(1), member(2), worker(0), worker(1)} {
		w.hosts = append(w.hosts, m.in(machine{work: "reboot"}))
	}
	in := w.input()
	in.Inventory.Hosts[3].NearCluster = "main"
	in.Inventory.Clusters[0].Latency = latency
	governed := map[string]bool{}
	in.Modules[0].Changes = adjustedFake{in.Modules[0].Changes.(fakeModule), func(t engine.Target, s *engine.Steps) {
		governed[t.Host.Name] = t.Governed
		s.Stage[0].Timeout = t.Pool.Timeouts.Stage
	}}
	return in, governed
}

// TestHostsNearAClusterAreStagedWithItsMembers checks that a host near a cluster is staged in the lane of the members,
// never at the same time as one of them, with the leader last, and under the governor. Another host has its own lane.
func TestHostsNearAClusterAreStagedWithItsMembers(t *testing.T) {
	in, governed := nearInput(&engine.Latency{})
	lanes := planner.NewPlan(in).Lanes
	if len(lanes) != 2 {
		t.Fatalf("%+v", lanes)
	}
	i := slices.IndexFunc(lanes, func(l engine.Lane) bool { return l.Cluster == "main" })
	if i < 0 || lanes[1-i].Cluster != "" || lanes[1-i].Governing != nil || !slices.Equal(lanes[1-i].Hosts, []string{"worker-1"}) {
		t.Fatalf("%+v", lanes)
	}
	if hosts := lanes[i].Hosts; len(hosts) != 4 || hosts[3] != "etcd-1" || !slices.Contains(hosts, "worker-0") {
		t.Errorf("%v", hosts)
	}
	for host, is := range governed {
		if is != (host != "worker-1") {
			t.Errorf("%s: governed %t", host, is)
		}
	}
	if len(governed) != 5 {
		t.Errorf("%v", governed)
	}
}

// TestDeadlineIsTheLongestTimeout checks the deadline in the plan: the longest timeout of the hosts of the lane, which
// can be that of a host near the cluster.
func TestDeadlineIsTheLongestTimeout(t *testing.T) {
	in, _ := nearInput(&engine.Latency{AbortAfter: engine.Duration(time.Minute)})
	for _, l := range planner.NewPlan(in).Lanes {
		if l.Cluster == "" {
			continue
		}
		if g := l.Governing; g == nil || g.Deadline != engine.Duration(45*time.Minute) || g.AbortAfter != engine.Duration(time.Minute) || g.WALFsyncP99 != engine.Duration(10*time.Millisecond) || g.FloorRate != 1<<20 {
			t.Errorf("%+v", g)
		}
	}
}

// TestWithoutLimitsNothingIsGoverned checks that hosts near a cluster without limits of latency are staged with its
// members and not governed.
func TestWithoutLimitsNothingIsGoverned(t *testing.T) {
	in, governed := nearInput(nil)
	for _, l := range planner.NewPlan(in).Lanes {
		if l.Governing != nil || (l.Cluster == "main") != (len(l.Hosts) == 4) {
			t.Errorf("%+v", l)
		}
	}
	for host, is := range governed {
		if is {
			t.Errorf("%s is governed", host)
		}
	}
}

package planner_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/planner"
)

// nearInput returns three members, a worker near their cluster, and one elsewhere. All have another OS to stage. When a
// plan is made, the map is filled: it has the hosts to be staged, and whether the governor stages them.
func nearInput(members, workers engine.Timeouts) (planner.Input, map[string]bool) {
	w := &world{
		pools:    []engine.Pool{{Name: "etcd", Timeouts: members}, {Name: "worker", Timeouts: workers}},
		clusters: map[string]*etcd{"main": {leader: "etcd-1"}},
	}
	for _, m := range []*machine{member(0), member(1), member(2), worker(0), worker(1)} {
		w.hosts = append(w.hosts, m.in(machine{work: "reboot"}))
	}
	in := w.input()
	in.Inventory.Hosts[3].NearCluster = "main"
	governed := map[string]bool{}
	in.Modules[0].Changes = adjustedFake{in.Modules[0].Changes.(fakeModule), func(t engine.Target, s *engine.Steps) {
		governed[t.Host.Name] = t.Governed
		s.Stage[0].Timeout = t.StageTimeout()
	}}
	return in, governed
}

// TestHostsNearAClusterAreStagedWithItsMembers checks that a host near a cluster is staged in the lane of the members,
// never at the same time as one of them, with the leader last, and under the governor. Another host has its own lane.
func TestHostsNearAClusterAreStagedWithItsMembers(t *testing.T) {
	in, governed := nearInput(engine.Timeouts{}, engine.Timeouts{})
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

// TestClustersAreGovernedByDefault checks the limits of a cluster that sets nothing, and which hosts are staged within them.
func TestClustersAreGovernedByDefault(t *testing.T) {
	in, governed := nearInput(engine.Timeouts{}, engine.Timeouts{})
	g := laneOf(t, in, "main").Governing
	want := engine.Latency{
		WALFsyncP99: engine.Duration(10 * time.Millisecond), BackendCommitP99: engine.Duration(25 * time.Millisecond), AbortAfter: engine.Duration(5 * time.Minute),
	}
	if g == nil || g.Latency != want || g.Deadline != engine.Duration(2*time.Hour) || g.FloorBytesPerSecond != 1<<20 {
		t.Errorf("%+v", g)
	}
	if !maps.Equal(governed, map[string]bool{"etcd-0": true, "etcd-1": true, "etcd-2": true, "worker-0": true, "worker-1": false}) {
		t.Errorf("%v", governed)
	}
}

// TestDeadlineIsTheLongestTimeout checks the deadline in the plan: the longest timeout of the hosts of the lane, which
// can be that of a host near the cluster. A timeout of the inventory replaces the default of a governed staging.
func TestDeadlineIsTheLongestTimeout(t *testing.T) {
	in, _ := nearInput(engine.Timeouts{Stage: engine.Duration(20 * time.Minute)}, engine.Timeouts{Stage: engine.Duration(45 * time.Minute)})
	in.Inventory.Clusters[0].Latency = &engine.Latency{AbortAfter: engine.Duration(time.Minute)}
	g := laneOf(t, in, "main").Governing
	if g == nil || g.Deadline != engine.Duration(45*time.Minute) || g.AbortAfter != engine.Duration(time.Minute) || g.WALFsyncP99 != engine.Duration(10*time.Millisecond) {
		t.Errorf("%+v", g)
	}
}

// TestGovernorSwitchedOff checks that hosts near a cluster with governor = false are staged with its members and not
// governed.
func TestGovernorSwitchedOff(t *testing.T) {
	in, governed := nearInput(engine.Timeouts{}, engine.Timeouts{})
	in.Inventory.Clusters[0].NotGoverned = true
	lane := laneOf(t, in, "main")
	if lane.Governing != nil || len(lane.Hosts) != 4 {
		t.Errorf("%+v", lane)
	}
	for host, is := range governed {
		if is {
			t.Errorf("%s is governed", host)
		}
	}
}

func laneOf(t *testing.T, in planner.Input, cluster string) engine.Lane {
	t.Helper()
	lanes := planner.NewPlan(in).Lanes
	i := slices.IndexFunc(lanes, func(l engine.Lane) bool { return l.Cluster == cluster })
	if i < 0 {
		t.Fatalf("no lane of %s: %+v", cluster, lanes)
	}
	return lanes[i]
}

package planner_test

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/planner"
)

// TestStrayEtcd checks that a host whose etcd belongs to no cluster of the
// inventory is named and not disrupted, unless the inventory allows it.
func TestStrayEtcd(t *testing.T) {
	for _, tc := range []struct {
		name         string
		work         string
		cluster      bool
		ignored, out bool
	}{
		{"a reboot", "reboot", false, false, true},
		{"a restart", "restart", false, false, true},
		{"nothing that disrupts", "quiet", false, false, false},
		{"nothing to do", "", false, false, false},
		{"the inventory says so", "reboot", false, true, false},
		{"its cluster is known", "reboot", true, false, false},
	} {
		w := &world{pools: []engine.Pool{{Name: "worker"}}, hosts: []*machine{worker(0).in(machine{work: tc.work})}}
		if tc.cluster {
			w = etcdWorld([]*machine{member(0), member(1), member(2)}, 1)
			w.hosts[0].work = tc.work
		}
		in := w.input()
		name := w.hosts[0].name
		f := in.Facts[name]
		f.Etcd = []string{"etcd.service runs", "a listener on port 2380"}
		in.Facts[name] = f
		in.Inventory.Hosts[0].IgnoreEtcd = tc.ignored
		p := planner.NewPlan(in)
		if out := len(p.Excluded) == 1 && p.Host(name) == nil; out != tc.out || out && (p.Verdict().Exit != engine.ExitFailed || len(p.Batches) > 0) {
			t.Errorf("%s: left out %v, batches %v, exit %d", tc.name, p.Excluded, p.Batches, p.Verdict().Exit)
		}
		if tc.out && !strings.Contains(p.Excluded[0].Reason, "it runs etcd (etcd.service runs, a listener on port 2380) and is in no etcd_cluster of the inventory") {
			t.Errorf("%s: %s", tc.name, p.Excluded[0].Reason)
		}
	}
}

// TestStrayEtcdBesideAMember checks that a member whose host runs the etcd of another cluster, too, is named and not disrupted, unless
// the inventory allows it. An ordinary member has several signs, and one server.
func TestStrayEtcdBesideAMember(t *testing.T) {
	for _, tc := range []struct {
		name         string
		work         string
		servers      []string
		ignored, out bool
	}{
		{"an ordinary member", "reboot", []string{"etcd.service"}, false, false},
		{"its server does not run", "reboot", nil, false, false},
		{"a reboot", "reboot", []string{"etcd-events.service", "etcd.service"}, false, true},
		{"a restart", "restart", []string{"etcd-events.service", "etcd.service"}, false, true},
		{"nothing that disrupts", "quiet", []string{"etcd-events.service", "etcd.service"}, false, false},
		{"the inventory says so", "reboot", []string{"etcd-events.service", "etcd.service"}, true, false},
	} {
		w := etcdWorld([]*machine{member(0), member(1), member(2)}, 1)
		w.hosts[0].work = tc.work
		in := w.input()
		f := in.Facts["etcd-0"]
		f.Etcd, f.EtcdServers = []string{"etcd.service runs", "a listener on port 2379", "a listener on port 2380"}, tc.servers
		in.Facts["etcd-0"] = f
		in.Inventory.Hosts[0].IgnoreEtcd = tc.ignored
		p := planner.NewPlan(in)
		if out := len(p.Excluded) == 1 && p.Host("etcd-0") == nil; out != tc.out || out && (p.Verdict().Exit != engine.ExitFailed || len(p.Batches) > 0) {
			t.Errorf("%s: left out %v, batches %v, exit %d", tc.name, p.Excluded, p.Batches, p.Verdict().Exit)
		}
		if tc.out && !strings.Contains(p.Excluded[0].Reason, "it runs 2 servers of etcd (etcd-events.service, etcd.service), and only one can be its member of cluster main") {
			t.Errorf("%s: %s", tc.name, p.Excluded[0].Reason)
		}
	}
}

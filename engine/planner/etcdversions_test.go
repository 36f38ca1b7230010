package planner

import (
	"fmt"
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
)

// Of every two minor versions, etcd supports an update to the same and to the
// next one.
func TestEtcdUpdates(t *testing.T) {
	for runs := range 8 {
		for to := range 8 {
			u, ok := newEtcdUpdate(engine.EtcdUpdate{Host: "etcd-0", Cluster: "main", From: "3.5.20", To: fmt.Sprintf("3.%d.7", to)}, etcdfacts.ClusterFacts{Version: fmt.Sprintf("3.%d.0", runs)}, false)
			want := engine.EtcdSupported
			switch {
			case to < runs:
				want = engine.EtcdDowngrade
			case to-runs > 1:
				want = engine.EtcdSkips
			}
			if !ok || u.Kind != want {
				t.Errorf("from 3.%d to 3.%d: %q, want %q", runs, to, u.Kind, want)
			}
		}
	}
	for _, unknown := range []struct{ to, cluster string }{{"3.6.4", ""}, {"", "3.6.0"}, {"v3", "3.6.0"}} {
		if u, ok := newEtcdUpdate(engine.EtcdUpdate{To: unknown.to}, etcdfacts.ClusterFacts{Version: unknown.cluster}, false); ok {
			t.Errorf("update %+v", u)
		}
	}
	c := etcdfacts.ClusterFacts{Members: []etcdfacts.Member{{Version: "3.10.1"}, {}, {Version: "3.9.2"}}}
	if v := leastEtcdVersion(c); v != "3.9.2" {
		t.Errorf("oldest version %s", v)
	}
	if c.Version = "3.8.0"; leastEtcdVersion(c) != "3.8.0" {
		t.Errorf("cluster version %s", leastEtcdVersion(c))
	}
}

// TestEtcdForgetsPromotions: etcd 3.5 before 3.5.20 does not store that a learner was promoted, and etcd 3.6 may then not start. Members of
// managed clusters were learners. Those of others may have been.
func TestEtcdForgetsPromotions(t *testing.T) {
	for _, c := range []struct {
		runs, to string
		managed  bool
		want     engine.EtcdUpdateKind
	}{
		{"3.5.19", "3.6.4", true, engine.EtcdForgetsPromotions},
		{"3.5.1", "3.6.0", true, engine.EtcdForgetsPromotions},
		{"3.5.19", "3.6.4", false, engine.EtcdMayForgetPromotions},
		{"3.5.20", "3.6.4", true, engine.EtcdSupported},
		{"3.5.21", "3.6.4", false, engine.EtcdSupported},
		{"3.5.16", "3.5.20", true, engine.EtcdSupported},
		{"3.6.1", "3.6.4", true, engine.EtcdSupported}, // it has started
		{"3.5.16", "3.7.0", true, engine.EtcdSkips},
		{"3.4.30", "3.5.16", true, engine.EtcdSupported},
		{"", "3.6.4", true, engine.EtcdForgetsPromotions}, // as the other members
	} {
		facts := etcdfacts.ClusterFacts{Version: "3.5.0", Members: []etcdfacts.Member{{Host: "etcd-0", Version: c.runs}, {Host: "etcd-1", Version: "3.5.16"}}}
		if c.runs == "3.4.30" {
			facts.Version = "3.4.0"
		}
		u, ok := newEtcdUpdate(engine.EtcdUpdate{Host: "etcd-0", Cluster: "main", From: c.runs, To: c.to}, facts, c.managed)
		if !ok || u.Kind != c.want {
			t.Errorf("%+v: %q", c, u.Kind)
		}
	}
}

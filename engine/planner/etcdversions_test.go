package planner

import (
	"fmt"
	"testing"

	"holdfast/engine"
)

// Of every two minor versions, etcd supports an update to the same and to the
// next one.
func TestEtcdUpdates(t *testing.T) {
	for runs := range 8 {
		for to := range 8 {
			u, ok := newEtcdUpdate(engine.EtcdUpdate{Host: "etcd-0", Cluster: "main", To: fmt.Sprintf("3.%d.7", to), ClusterVersion: fmt.Sprintf("3.%d.0", runs)})
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
	for _, unknown := range []engine.EtcdUpdate{{To: "3.6.4"}, {ClusterVersion: "3.6.0"}, {To: "v3", ClusterVersion: "3.6.0"}} {
		if u, ok := newEtcdUpdate(unknown); ok {
			t.Errorf("update %+v", u)
		}
	}
	c := engine.ClusterFacts{Members: []engine.Member{{Version: "3.10.1"}, {}, {Version: "3.9.2"}}}
	if v := leastEtcdVersion(c); v != "3.9.2" {
		t.Errorf("oldest version %s", v)
	}
	if c.Version = "3.8.0"; leastEtcdVersion(c) != "3.8.0" {
		t.Errorf("cluster version %s", leastEtcdVersion(c))
	}
}

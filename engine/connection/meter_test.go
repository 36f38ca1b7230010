package connection

import (
	"errors"
	"slices"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd"
	"holdfast/engine/etcd/metrics"
	"holdfast/engine/etcdfacts"
)

// TestAddExcesses checks that a member beyond the limits of its cluster, or beyond
// their defaults, is named, and still counts as healthy.
func TestAddExcesses(t *testing.T) {
	s := engine.ClusterStatus{Latency: []engine.LatencyPoint{
		{Host: "etcd-0", WALFsyncP99Seconds: 0.009, BackendCommitP99Seconds: 0.024},
		{Host: "etcd-1", WALFsyncP99Seconds: 0.058, BackendCommitP99Seconds: 0.024},
	}}
	addExcesses(&s, engine.Cluster{NotGoverned: true})
	if len(s.LatencyProblems) > 0 {
		t.Errorf("problems %q of a cluster without limits", s.LatencyProblems)
	}
	addExcesses(&s, engine.Cluster{})
	addExcesses(&s, engine.Cluster{Latency: &engine.Latency{WALFsyncP99: engine.Duration(50 * time.Millisecond)}})
	want := []string{"slow disk on etcd-1: p99 of WAL fsync is 58 ms, the limit 10 ms", "slow disk on etcd-1: p99 of WAL fsync is 58 ms, the limit 50 ms"}
	if !slices.Equal(s.LatencyProblems, want) || engine.ClustersVerdict([]engine.ClusterStatus{s}).Exit != engine.ExitOK {
		t.Errorf("problems %q", s.LatencyProblems)
	}
}

// TestAddLatencies checks that missing metrics of a member are named once. They
// are not named for an unhealthy member, or for a member on no host of the
// inventory.
func TestAddLatencies(t *testing.T) {
	facts := etcdfacts.ClusterFacts{Name: "main", Members: []etcdfacts.Member{
		{Name: "a", Host: "a", Healthy: true}, {Name: "b", Host: "b", Healthy: true}, {Name: "c", Host: "c"}, {Name: "d", Healthy: true},
	}}
	well := etcd.Scraped{Metrics: metrics.Counters{ScrapedAt: time.Unix(100, 0), Quota: 2 << 30}}
	later := etcd.Scraped{Metrics: metrics.Counters{ScrapedAt: time.Unix(105, 0), Quota: 2 << 30}}
	broken := etcd.Scraped{Err: errors.New("no answer in time")}
	s := engine.NewClusterStatus(facts, time.Unix(105, 0))
	addLatencies(&s, map[string]etcd.Scraped{"a": well, "b": well, "c": well}, map[string]etcd.Scraped{"a": later, "b": broken, "c": broken})
	if want := []string{"member b has no latency: no answer in time"}; !slices.Equal(s.LatencyProblems, want) {
		t.Errorf("problems %q", s.LatencyProblems)
	}
	if len(s.Latency) != 1 || s.Latency[0].Window != engine.Duration(5*time.Second) || s.Members[0].DBQuotaBytes != 2<<30 {
		t.Errorf("latencies %+v of %+v", s.Latency, s.Members)
	}
}

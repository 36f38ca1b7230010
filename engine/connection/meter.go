package connection

import (
	"context"
	"fmt"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/etcd"
)

// Meter reads the status of etcd clusters repeatedly. The window of each
// latency is the time since the previous reading. A meter must not be used
// concurrently.
type Meter struct {
	clusters *Clusters
	names    []string
	before   []map[string]etcd.Scraped // previous metrics of each cluster, by host; nil: no latencies
}

// NewMeter returns a meter of clusters. Without latencies it reads no metrics.
func (c *Clusters) NewMeter(names []string, latencies bool) *Meter {
	m := &Meter{clusters: c, names: names}
	if latencies {
		m.before = make([]map[string]etcd.Scraped, len(names))
	}
	return m
}

// Begin begins the first window. It returns false if it has read no metrics of any
// member: then Read would find no latency, and the caller need not wait for one.
func (m *Meter) Begin(ctx context.Context) bool {
	if m.before == nil {
		return false
	}
	m.forEach(func(i int, name string) { m.before[i] = m.scrapeCluster(ctx, name) })
	for _, cluster := range m.before {
		for _, s := range cluster {
			if s.Err == nil {
				return true
			}
		}
	}
	return false
}

// Read ends the window, gathers the facts of all clusters, and begins the next window.
func (m *Meter) Read(ctx context.Context) []engine.ClusterStatus {
	all := make([]engine.ClusterStatus, len(m.names))
	m.forEach(func(i int, name string) {
		var scraped map[string]etcd.Scraped
		if m.before != nil {
			scraped = m.scrapeCluster(ctx, name)
		}
		all[i] = engine.NewClusterStatus(m.clusters.Gather(ctx, name), time.Now().UTC())
		if m.before != nil {
			addLatencies(&all[i], m.before[i], scraped)
			spec, _ := m.clusters.inv.Cluster(name)
			addExcesses(&all[i], spec)
			m.before[i] = scraped
		}
	})
	return all
}

func (m *Meter) forEach(f func(i int, name string)) {
	var work conc.WaitGroup
	for i, name := range m.names {
		work.Go(func() { f(i, name) })
	}
	work.Wait()
}

// scrapeCluster returns nil without a connection to the cluster: Read reports this error with the facts.
func (m *Meter) scrapeCluster(ctx context.Context, name string) map[string]etcd.Scraped {
	cluster, err := m.clusters.Open(ctx, name)
	if err != nil {
		return nil
	}
	return cluster.ScrapeAll(ctx)
}

// addLatencies reports a missing latency only of a healthy member: an unhealthy member is a problem already.
func addLatencies(s *engine.ClusterStatus, before, after map[string]etcd.Scraped) {
	for i := range s.Members {
		m := &s.Members[i]
		scraped, asked := after[m.Host]
		if !asked {
			continue
		}
		if m.DBQuotaBytes == 0 {
			m.DBQuotaBytes = scraped.Metrics.Quota
		}
		point, err := etcd.P99Between(before[m.Host], scraped, m.Host)
		switch {
		case err == nil:
			s.Latency = append(s.Latency, point)
		case m.Healthy:
			s.LatencyProblems = append(s.LatencyProblems, fmt.Sprintf("member %s has no latency: %v", m.Name, err))
		}
	}
}

// addExcesses reports the members that exceed the latency limits of the cluster.
// These limits are for stagings. A member that exceeds them without a staging is
// slow, but not unhealthy. A cluster that is not governed has no limits.
func addExcesses(s *engine.ClusterStatus, spec engine.Cluster) {
	if spec.NotGoverned {
		return
	}
	limits := spec.Latency.WithDefaults()
	for _, p := range s.Latency {
		for _, metric := range []struct {
			engine.LatencyMetric
			p99   float64
			limit engine.Duration
		}{{engine.WALFsync, p.WALFsyncP99Seconds, limits.WALFsyncP99}, {engine.BackendCommit, p.BackendCommitP99Seconds, limits.BackendCommitP99}} {
			if limit := time.Duration(metric.limit).Seconds(); metric.p99 > limit {
				s.LatencyProblems = append(s.LatencyProblems, fmt.Sprintf("slow disk on %s: p99 of %s is %.0f ms, the limit %.0f ms", p.Host, metric.Words(), metric.p99*1000, limit*1000))
			}
		}
	}
}

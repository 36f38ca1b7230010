package metrics

import (
	"time"

	"holdfast/engine"
)

// Counters holds the disk latencies and leader changes of one scrape of a member.
type Counters struct {
	WALFsync      Histogram // etcd_disk_wal_fsync_duration_seconds
	BackendCommit Histogram // etcd_disk_backend_commit_duration_seconds
	LeaderChanges uint64    // etcd_server_leader_changes_seen_total
	Started       float64   // process_start_time_seconds
	Quota         int64     // etcd_server_quota_backend_bytes; 0: not known
	ScrapedAt     time.Time // time of the answer

	// FailedMessages has the number of messages that the member could not send to another member since it started, by the
	// ID of that member in hexadecimal: etcd_network_peer_sent_failures_total.
	FailedMessages map[string]uint64
}

const stall = 1.1 // seconds; etcd has a bucket up to 1.024

// Since returns the difference to an earlier scrape of the same member. If the member has restarted since, its counters
// began at 0, and Since returns all of this scrape.
func (m Counters) Since(earlier Counters) Counters {
	if m.Started != earlier.Started || m.LeaderChanges < earlier.LeaderChanges {
		return m
	}
	m.WALFsync = m.WALFsync.countsSince(earlier.WALFsync)
	m.BackendCommit = m.BackendCommit.countsSince(earlier.BackendCommit)
	m.LeaderChanges -= earlier.LeaderChanges
	return m
}

// P99Since estimates the p99 of the disk latencies since an earlier scrape of the same member. A histogram without
// observations has no bucket. If the member has restarted since, all its observations are within the window.
func (m Counters) P99Since(earlier Counters, host string) engine.LatencyPoint {
	return m.Since(earlier).Latency(host, m.ScrapedAt.Sub(earlier.ScrapedAt), 0)
}

// Plus returns the observations of both counters together.
func (m Counters) Plus(other Counters) Counters {
	m.WALFsync = m.WALFsync.addHistogram(other.WALFsync)
	m.BackendCommit = m.BackendCommit.addHistogram(other.BackendCommit)
	return m
}

// Latency estimates the p99 of the disk latencies in a window. If exceptional is not 0, it ignores that number of the
// slowest observations of a metric, but at most half of them, where that leads to a lower estimate. If a metric has an
// observation of more than about a second, Latency ignores none of its observations.
func (m Counters) Latency(host string, window time.Duration, exceptional int) engine.LatencyPoint {
	return m.latencyWithout(host, window, func(h Histogram) float64 {
		if h.hasStall() {
			return 0
		}
		return float64(exceptional)
	})
}

// IdleLatency is like Latency, but also ignores observations of more than a second, and ignores at most 5 % of few
// observations: otherwise the latency of a member with one write per second would seem too low.
func (m Counters) IdleLatency(host string, window time.Duration, exceptional int) engine.LatencyPoint {
	return m.latencyWithout(host, window, func(h Histogram) float64 { return min(float64(exceptional), float64(h.Count())/20) })
}

func (m Counters) latencyWithout(host string, window time.Duration, exceptional func(Histogram) float64) engine.LatencyPoint {
	point := engine.LatencyPoint{Host: host, Window: engine.Duration(window)}
	point.WALFsyncP99Seconds, point.WALFsyncBucket = m.WALFsync.p99InSeconds(exceptional(m.WALFsync))
	point.BackendCommitP99Seconds, point.BackendCommitBucket = m.BackendCommit.p99InSeconds(exceptional(m.BackendCommit))
	return point
}

// hasStall reports whether an observation took more than about a second, the default time after which etcd elects
// another leader. A disk that stalls completes few writes, and without hasStall Latency could ignore all of them.
func (h Histogram) hasStall() bool {
	var below uint64
	for _, b := range h.Buckets {
		if b.UpperBound <= stall {
			below = b.Count
		}
	}
	return h.Count() > below
}

func (h Histogram) p99InSeconds(exceptional float64) (float64, *engine.LatencyBucket) {
	q := 0.99
	if count := float64(h.Count()); exceptional > 0 && count > 0 {
		q = min(q, max(count-exceptional, count/2)/count) // of few observations, at most half are ignored
	}
	e, ok := h.Quantile(q)
	if !ok {
		return 0, nil
	}
	return e.Value.Seconds(), &engine.LatencyBucket{LowSeconds: e.Low.Seconds(), HighSeconds: e.High.Seconds(), Observed: e.Observed}
}

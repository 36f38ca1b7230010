package connection

import (
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/metrics"
	"holdfast/engine/governor"
)

// counters implements governor.Counters.
type counters struct {
	metrics metrics.Counters
	window  time.Duration // time of the observations after earlier counters
}

// Since returns the observations after earlier counters of the same member.
func (c counters) Since(earlier governor.Counters) governor.Counters {
	before, _ := earlier.(counters) // there are no other types
	return counters{metrics: c.metrics.Since(before.metrics), window: c.metrics.ScrapedAt.Sub(before.metrics.ScrapedAt)}
}

// Plus returns the observations of both counters.
func (c counters) Plus(other governor.Counters) governor.Counters {
	more, _ := other.(counters)
	return counters{metrics: c.metrics.Plus(more.metrics), window: c.window + more.window}
}

// Latency estimates the p99 of the observations. If the latency without the
// given number of slowest observations is lower, Latency returns that one.
func (c counters) Latency(host string, exceptional int) engine.LatencyPoint {
	return c.metrics.Latency(host, c.window, exceptional)
}

// IdleLatency is like Latency, but also ignores observations of more than a second.
func (c counters) IdleLatency(host string, exceptional int) engine.LatencyPoint {
	return c.metrics.IdleLatency(host, c.window, exceptional)
}

package governed

import (
	"fmt"
	"time"

	"holdfast/engine"
	"holdfast/engine/report/termtext"
)

// Line returns the line of an event of the governor. It returns "" if no line
// is needed: the failure reports why a staging was stopped, and the summary has
// the latencies.
func Line(host string, g engine.Governor) string {
	switch {
	case g.Stopped != "", g.State == engine.GovernorEnded:
		return ""
	case len(g.Levers) > 0:
		return leversLine(host, g.Levers)
	case g.State == engine.GovernorPaused:
		return host + ": staging paused: " + slowdownReason(g)
	case g.State == engine.GovernorSlowed:
		return host + ": staging slowed: " + slowdownReason(g)
	}
	return host + ": staging at full speed again"
}

// Terms returns the limits of a governed staging for a plan.
func Terms(g engine.Governing) string {
	return fmt.Sprintf("p99 of WAL fsync at most %s, of backend commit %s, or %g times the idle one; at least %.1f%% of the time or %d MiB/s, at most %s a host, stops after %s over a limit",
		g.WALFsyncP99.Trimmed(), g.BackendCommitP99.Trimmed(), engine.IdleFactor, g.FloorShare*100, g.FloorRate>>20, g.Deadline.Trimmed(), g.AbortAfter.Trimmed())
}

func leversLine(host string, levers []engine.Lever) string {
	for _, l := range levers {
		if !l.InForce {
			return fmt.Sprintf("%s: staging cannot be slowed (%s is not in force: %s); it is stopped if etcd becomes too slow", host, l.Name, l.Reason)
		}
	}
	return ""
}

func slowdownReason(g engine.Governor) string {
	if g.Stalled > 0 {
		return "the member on " + g.Member + " has completed no write for " + roundLatency(g.Stalled)
	}
	if g.Metric == "" {
		return "not all members report their disk latency"
	}
	text := fmt.Sprintf("p99 of %s on %s is %s", MetricName(g.Metric), g.Member, formatLatency(g.P99))
	if g.P99 > g.Limit {
		return text + ", the limit " + formatLatency(g.Limit)
	}
	return text + " again, within the limit"
}

func formatLatency(d engine.Duration) string {
	return termtext.FormatLatency(time.Duration(d).Seconds())
}

// MetricName returns the name of a latency for people.
func MetricName(m engine.LatencyMetric) string {
	if m == engine.BackendCommit {
		return "backend commit"
	}
	return "WAL fsync"
}

// Totals collects the results of all governed stagings of a cluster.
type Totals struct {
	stagings       int
	slowed, paused engine.Duration
}

// Add adds the end of a staging.
func (t *Totals) Add(g engine.Governor) {
	t.stagings++
	t.slowed += g.Slowed
	t.paused += g.Paused
}

// Format returns the line of the summary about a cluster.
func (t *Totals) Format(cluster string) string {
	if t.slowed+t.paused == 0 {
		return ""
	}
	return fmt.Sprintf("  etcd %s: staging was slowed for %s and paused for %s in %s\n",
		cluster, roundLatency(t.slowed), roundLatency(t.paused), termtext.FormatCount(t.stagings, "staging", "stagings"))
}

func roundLatency(d engine.Duration) string { return time.Duration(d).Round(time.Second).String() }

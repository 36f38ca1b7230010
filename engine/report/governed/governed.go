package governed

import (
	"fmt"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/report/termtext"
)

// Line returns the line of an event of the governor. It returns "" if no line
// is needed: the failure reports why a staging was stopped, and the summary has
// the latencies.
func Line(host string, g engine.Governor) string {
	switch {
	case g.StopReason != "", g.State == engine.GovernorEnded:
		return ""
	case len(g.Levers) > 0:
		return leversLine(host, g.Levers)
	case g.State == engine.GovernorFixed:
		return host + ": staging at a slow, fixed pace: no member reports its disk latency"
	case g.State == engine.GovernorPaused:
		return host + ": staging paused: " + describeCause(g, "close to")
	case g.State == engine.GovernorSlowed && g.Metric != "" && g.Stalled == 0 && g.P99 <= g.Limit:
		return host + ": staging goes on at a slow pace: " + describeCause(g, "within")
	case g.State == engine.GovernorSlowed:
		return host + ": staging slowed: " + describeCause(g, "within")
	case g.Pace != nil && g.Pace.Pause > 0:
		return host + ": staging no longer slowed"
	}
	return host + ": staging at full speed again"
}

// Terms returns the limits of a governed staging for a plan, in two lines.
func Terms(g engine.Governing) []string {
	return []string{
		fmt.Sprintf("p99 of WAL fsync at most %s, of backend commit %s, or %g times the idle latency", g.WALFsyncP99.Trimmed(), g.BackendCommitP99.Trimmed(), engine.IdleFactor),
		fmt.Sprintf("slowest pace: %.2g%% of the time, or %d MiB/s; at most %s per host; stops after %s over a limit", g.FloorShare*100, g.FloorBytesPerSecond>>20, g.Deadline.Trimmed(), g.AbortAfter.Trimmed()),
	}
}

// leversLine names a host whose staging cannot be frozen, and the levers that
// slow it. It ignores the lever rate of a host whose OS the bastion does not
// serve.
func leversLine(host string, levers []engine.Lever) string {
	var failed []string
	inForce := map[engine.LeverName]bool{}
	for _, l := range levers {
		switch {
		case l.InForce:
			inForce[l.Name] = true
		case l.Name != engine.RateLever:
			failed = append(failed, fmt.Sprintf("%s is not in force: %s", l.Name, l.Reason))
		}
	}
	if len(failed) == 0 || inForce[engine.FreezeLever] {
		return ""
	}
	reasons := " (" + strings.Join(failed, "; ") + ")"
	switch io, rate := inForce[engine.IOLever], inForce[engine.RateLever]; {
	case io && rate:
		return host + ": the rates of its disk and of its contents slow the staging, which cannot be paused" + reasons
	case io:
		return host + ": only the rate of its disk slows the staging, which cannot be paused" + reasons
	case rate:
		return host + ": only the rate of its contents slows the staging" + reasons
	}
	return host + ": staging cannot be slowed" + reasons + "; it is stopped if the measured latency of etcd stays too high"
}

// describeCause describes the member that decided the pace. within relates a
// latency that does not exceed its limit to this limit.
func describeCause(g engine.Governor, within string) string {
	switch {
	case g.MemberHost == "":
		return "not all members report their disk latency"
	case g.Stalled > 0:
		return "the member on " + g.MemberHost + " has completed no " + g.Metric.Words() + " for " + roundLatency(g.Stalled)
	case g.Metric == "" && g.Window > 0:
		return "the member on " + g.MemberHost + " has not reported its disk latency for " + roundLatency(g.Window)
	case g.Metric == "":
		return "the member on " + g.MemberHost + " does not report its disk latency"
	}
	text := fmt.Sprintf("p99 of %s on %s is %s, ", g.Metric.Words(), g.MemberHost, formatLatency(g.P99))
	if g.P99 > g.Limit {
		return text + "the limit " + formatLatency(g.Limit)
	}
	return text + within + " the limit of " + formatLatency(g.Limit)
}

func formatLatency(d engine.Duration) string {
	return termtext.FormatLatency(time.Duration(d).Seconds())
}

// Totals collects the results of all governed stagings of a cluster.
type Totals struct {
	stagings              int
	slowed, paused, fixed engine.Duration
}

// Add adds the end of a staging.
func (t *Totals) Add(g engine.Governor) {
	t.stagings++
	t.slowed += g.SlowedFor
	t.paused += g.PausedFor
	t.fixed += g.FixedFor
}

// Format returns the line of the summary about a cluster.
func (t *Totals) Format(cluster string) string {
	var times []string
	if t.slowed+t.paused > 0 {
		times = append(times, "was slowed for "+roundLatency(t.slowed)+" and paused for "+roundLatency(t.paused))
	}
	if t.fixed > 0 {
		times = append(times, "had a slow, fixed pace for "+roundLatency(t.fixed))
	}
	if times == nil {
		return ""
	}
	return fmt.Sprintf("  etcd %s: staging %s in %s\n", cluster, strings.Join(times, ", and "), termtext.FormatCount(t.stagings, "staging", "stagings"))
}

func roundLatency(d engine.Duration) string { return time.Duration(d).Round(time.Second).String() }

package bench

import (
	"fmt"
	"math"
	"time"

	"holdfast/cmd/holdfast-lab/internal/probe"
	"holdfast/engine"
)

// result is the outcome of one run.
type result struct {
	idle, during, worst latencies // latencies of the member that is staged; for way (a), of the others
	others              latencies // highest latencies of the other members during the same time: the effect of the machine
	excess              float64   // the highest p99 while staging, in relation to its limit
	othersExcess        float64   // excess of the other members
	taken               float64   // used share of the processors' time before the update

	writerIdle, writer time.Duration // p99 of writes, idle and while staging
	gap                time.Duration // the longest time without a commit in the whole update
	failed             int           // failed writes in the whole update
	errors             []string      // errors of the failed writes
	leadersLost        int           // leaders lost in the whole update, except for the reboot of the leader
	away               time.Duration // how long the cluster lacked the member
	staged             time.Duration // how long staging took; for way (a) the whole update
	slowed, paused     time.Duration // how long the governor slowed and paused the staging
}

func summarizeResult(u update, m moments, samples []sample, record probe.Record) result {
	r := result{taken: m.taken, staged: m.staged.Sub(m.began), slowed: m.slowed, paused: m.paused}
	for _, h := range u.bench.Lab.Hosts() {
		s := seriesOf(samples, h.Name)
		idle, staging := s.scrapesBetween(m.idleBegan, m.idleBegan.Add(idleTime)).overallLatencies(), s.scrapesBetween(m.began, m.staged)
		during := staging.overallLatencies()
		if h.Name != u.host.Name {
			r.others.raiseTo(during)
			r.othersExcess = max(r.othersExcess, during.excessOver(idle))
		}
		if (h.Name == u.host.Name) == u.way.offline {
			continue // the member is away, or is not staged
		}
		r.idle.raiseTo(idle)
		r.during.raiseTo(during)
		r.worst.raiseTo(staging.worstLatencies())
		r.excess = max(r.excess, during.excessOver(idle))
	}
	r.writerIdle = probe.Summarize(record.Between(m.idleBegan, m.idleBegan.Add(idleTime))).P99
	staging := probe.Summarize(record.Between(m.began, m.staged))
	whole := probe.Summarize(record.Between(m.began, m.ended))
	r.writer, r.gap, r.failed = staging.P99, whole.Gap, whole.Failed
	r.leadersLost = max(whole.LeaderChanges-1, 0)
	if !u.way.offline {
		r.leadersLost = max(r.leadersLost, staging.LeaderChanges)
	}
	r.errors = whole.Errors
	for _, member := range whole.Members {
		if member.Name == u.host.Name {
			r.away = member.Longest()
		}
	}
	return r
}

func defaultLimits() engine.Latency { return (*engine.Latency)(nil).WithDefaults() }

// excessOver returns the highest p99 in relation to its limit. The idle latency may raise the
// limit.
func (l latencies) excessOver(idle latencies) float64 {
	limits := defaultLimits()
	highest := 0.0
	for i, limit := range [latencyKinds]engine.Duration{walFsync: limits.WALFsyncP99, backendCommit: limits.BackendCommitP99} {
		raised := max(float64(limit), engine.IdleFactor*float64(idle[i].p99))
		highest = max(highest, float64(l[i].p99)/raised)
	}
	return highest
}

func (r result) String() string {
	text := fmt.Sprintf("WAL fsync p99 %s (idle %s), backend commit p99 %s (idle %s), %.2f of the limit; other members %s and %s; staged in %s; without the member %s; %d writes failed, longest gap %s, %d leaders lost; %.0f %% of the processors taken before",
		formatTime(r.during[walFsync].p99), formatTime(r.idle[walFsync].p99), formatTime(r.during[backendCommit].p99), formatTime(r.idle[backendCommit].p99),
		r.excess, formatTime(r.others[walFsync].p99), formatTime(r.others[backendCommit].p99), formatTime(r.staged), formatTime(r.away), r.failed, formatTime(r.gap), r.leadersLost, 100*r.taken)
	for _, e := range r.errors {
		text += "\n    a write failed: " + e
	}
	return text
}

// formatTime prints a duration with about three digits, and an infinite one as the last bucket of
// etcd.
func formatTime(d time.Duration) string {
	switch {
	case d == math.MaxInt64:
		return "> 8.2 s"
	case d >= 10*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1000)
	}
	return fmt.Sprintf("%.1f ms", d.Seconds()*1000)
}

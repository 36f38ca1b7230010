package governing

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/governor"
)

// Idle has the disk latencies of the clusters before the first staging of a run.
type Idle struct {
	mu        sync.Mutex
	byCluster map[string]*idleLatency
	warned    map[string]bool // clusters that were measured
}

// idleLatency is the disk latency of the members of a cluster before the first staging of the run.
type idleLatency struct {
	byHost   map[string]engine.LatencyPoint
	observed map[string]governor.Counters
	absent   []string // hosts of members that did not answer
	blind    bool     // no member answered
}

// measureCluster measures the members of a cluster once in a run. A member that
// does not answer has no idle latency: it is switched off, or holdfast cannot
// reach its metrics. The run warns, and stages slowly until the member answers.
// While an earlier run is still staging a host near the cluster, no member has
// one: the latency includes that staging, and must not raise the limits. Then the
// next staging measures again.
func (x *Idle) measureCluster(ctx context.Context, p Ports, s Staging) *idleLatency {
	cluster := s.Lane.Cluster
	if idle := x.latencyOf(cluster); idle != nil {
		return idle
	}
	first := p.scrapeMembers(ctx, cluster, callTimeout)
	if p.Sleep(ctx, idleDuration) != nil {
		return &idleLatency{}
	}
	idle := &idleLatency{byHost: map[string]engine.LatencyPoint{}, observed: map[string]governor.Counters{}, blind: true}
	var problems []problem
	for i, m := range p.scrapeMembers(ctx, cluster, callTimeout) {
		before := i < len(first) && first[i].Counters != nil
		switch {
		case m.Counters == nil && !before:
			idle.absent = append(idle.absent, m.Host)
			problems = append(problems, problem{m.Host, m.Problem})
			continue
		case m.Counters != nil && before && len(s.Staged) == 0:
			idle.observed[m.Host] = m.Counters.Since(first[i].Counters)
			idle.byHost[m.Host] = governor.IdleLatency(m.Host, idle.observed[m.Host])
		}
		idle.blind = false
	}
	if ctx.Err() != nil {
		return idle
	}
	if x.isFirstWarning(cluster) {
		p.warnOfIdle(s, idle, problems)
	}
	if len(s.Staged) == 0 {
		x.noteLatency(cluster, idle)
	}
	return idle
}

// problem is the reason why a member has no latency.
type problem struct{ host, reason string }

func (p Ports) warnOfIdle(s Staging, idle *idleLatency, problems []problem) {
	cluster := "etcd cluster " + s.Lane.Cluster
	var unknown []string
	for _, x := range problems {
		unknown = append(unknown, x.host+" is not known ("+x.reason+")")
	}
	switch {
	case idle.blind && len(problems) == 0:
		p.emitWarning(cluster + ": the disk latency of its members is not known (its members are not known); " + adviceIfBlind)
	case idle.blind:
		last := problems[len(problems)-1]
		p.emitWarning(cluster + ": the disk latency of its members is not known (" + last.host + ": " + last.reason + "); " + adviceIfBlind)
	case len(unknown) > 0:
		p.emitWarning(cluster + ": the disk latency of " + strings.Join(unknown, ", that of ") + "; until all members of the inventory report it, hosts near the cluster are staged at a slow pace")
	}
	if !idle.blind && len(s.Staged) > 0 {
		p.emitWarning(cluster + ": its idle latency is not measured, because an earlier run is still staging " + strings.Join(s.Staged, ", ") + "; the limits are those of the inventory until a pause shows it")
	}
	common := governor.LimitsOf(s.Lane.Governing.Latency)
	for _, host := range slices.Sorted(maps.Keys(idle.byHost)) {
		wal, commit := governor.P99Of(idle.byHost[host])
		if highest := common.Highest(); wal > highest.WALFsync || commit > highest.BackendCommit {
			p.emitWarning(fmt.Sprintf("%s: %s is slow although nothing is staged: its p99 is %s for WAL fsyncs and %s for backend commits; the limits are at most %s and %s",
				cluster, host, roundLatency(wal), roundLatency(commit), highest.WALFsync, highest.BackendCommit))
		}
	}
}

const adviceIfBlind = "hosts near it are staged at a slow, fixed pace, if they can be slowed; set the block metrics of the cluster, or governor = false"

func roundLatency(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

func (x *Idle) isFirstWarning(cluster string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.warned == nil {
		x.warned = map[string]bool{}
	}
	first := !x.warned[cluster]
	x.warned[cluster] = true
	return first
}

func (p Ports) emitWarning(message string) {
	p.Emit(event.Event{Type: event.Warned, Message: message})
}

func (x *Idle) latencyOf(cluster string) *idleLatency {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.byCluster[cluster]
}

func (x *Idle) noteLatency(cluster string, idle *idleLatency) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byCluster == nil {
		x.byCluster = map[string]*idleLatency{}
	}
	x.byCluster[cluster] = idle
}

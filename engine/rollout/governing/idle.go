package governing

import (
	"context"
	"strings"
	"sync"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/governor"
)

// Idle has the disk latencies of the clusters before the first staging of a run.
type Idle struct {
	mu        sync.Mutex
	byCluster map[string]*idleLatency
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
// one: the latency includes that staging, and must not raise the limits.
func (x *Idle) measureCluster(ctx context.Context, p Ports, s Staging) *idleLatency {
	cluster := s.Lane.Cluster
	if idle := x.latencyOf(cluster); idle != nil {
		return idle
	}
	first := p.scrapeMembers(ctx, cluster)
	if p.Clock.Sleep(ctx, idleDuration) != nil {
		return &idleLatency{}
	}
	idle := &idleLatency{byHost: map[string]engine.LatencyPoint{}, observed: map[string]governor.Counters{}, blind: true}
	problem := "its members are not known"
	var problems []string
	for i, m := range p.scrapeMembers(ctx, cluster) {
		if m.Counters == nil {
			problem = m.Host + ": " + m.Problem
			idle.absent = append(idle.absent, m.Host)
			problems = append(problems, m.Host+" is not known ("+m.Problem+")")
			continue
		}
		idle.blind = false
		if i < len(first) && first[i].Counters != nil && len(s.Staged) == 0 {
			idle.observed[m.Host] = m.Counters.Since(first[i].Counters)
			idle.byHost[m.Host] = idle.observed[m.Host].Latency(m.Host, 0)
		}
	}
	if ctx.Err() != nil {
		return idle
	}
	switch {
	case idle.blind:
		p.emitWarning("etcd cluster " + cluster + ": the disk latency of its members is not known (" + problem + "); hosts near it are staged at a slow, fixed pace, if they can be slowed; set the block metrics of the cluster, or governor = false")
	case len(idle.absent) > 0:
		p.emitWarning("etcd cluster " + cluster + ": the disk latency of " + strings.Join(problems, ", that of ") + "; until all members of the inventory report it, hosts near the cluster are staged at a slow pace")
	}
	if !idle.blind && len(s.Staged) > 0 {
		p.emitWarning("etcd cluster " + cluster + ": its idle latency is not measured, because an earlier run is still staging " + strings.Join(s.Staged, ", ") + "; the limits are those of the inventory until a pause shows it")
	}
	x.noteLatency(cluster, idle)
	return idle
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

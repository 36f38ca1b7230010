package governing

import (
	"context"
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
	blind    bool // no member serves metrics
}

// measureCluster measures the members of a cluster once in a run. A member that
// does not answer has no idle latency. Such a member is also missing in the
// samples during a staging.
func (x *Idle) measureCluster(ctx context.Context, p Ports, cluster string) *idleLatency {
	if idle := x.latencyOf(cluster); idle != nil {
		return idle
	}
	first := p.scrapeMembers(ctx, cluster)
	if p.Clock.Sleep(ctx, idleDuration) != nil {
		return &idleLatency{}
	}
	idle := &idleLatency{byHost: map[string]engine.LatencyPoint{}, observed: map[string]governor.Counters{}, blind: true}
	problem := "its members are not known"
	for i, s := range p.scrapeMembers(ctx, cluster) {
		if s.Counters == nil {
			problem = s.Host + ": " + s.Problem
			continue
		}
		idle.blind = false
		if i < len(first) && first[i].Counters != nil {
			idle.observed[s.Host] = s.Counters.Since(first[i].Counters)
			idle.byHost[s.Host] = idle.observed[s.Host].Latency(s.Host, 0)
		}
	}
	if ctx.Err() != nil {
		return idle
	}
	if idle.blind {
		p.Emit(event.Event{Type: event.Warned, Message: "etcd cluster " + cluster + ": the disk latency of its members is not known (" + problem + "); hosts near it are staged at a slow, fixed pace; set the block metrics of the cluster, or governor = false"})
	}
	x.noteLatency(cluster, idle)
	return idle
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

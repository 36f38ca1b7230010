package rollout

import (
	"context"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/governor"
)

const (
	governEvery  = time.Second      // between two samples of the governor
	governCall   = 5 * time.Second  // bounds a scrape of all members, and a script that sends a pace
	renewPace    = 5 * time.Second  // a host that hears nothing falls back to its safe pace
	idleDuration = 10 * time.Second // of the measurement before the first staging near a cluster
)

// idleLatency is the disk latency of the members of a cluster before the first staging of the run.
type idleLatency struct {
	byHost   map[string]engine.LatencyPoint
	observed map[string]governor.Counters
	blind    bool // no member serves metrics
}

// measureIdle measures the members of a cluster once in a run. A member that does not answer has no idle latency; it is
// missing in the samples while hosts are staged, too.
func (r *Run) measureIdle(ctx context.Context, cluster string) *idleLatency {
	if idle := r.state.idleOf(cluster); idle != nil {
		return idle
	}
	first := r.scrapeMembers(ctx, cluster)
	if r.Clock.Sleep(ctx, idleDuration) != nil {
		return &idleLatency{}
	}
	idle := &idleLatency{byHost: map[string]engine.LatencyPoint{}, observed: map[string]governor.Counters{}, blind: true}
	problem := "its members are not known"
	for i, s := range r.scrapeMembers(ctx, cluster) {
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
		r.emitWarning("etcd cluster " + cluster + ": the disk latency of its members is not known (" + problem + "); hosts near it are staged at a slow, fixed pace")
	}
	r.state.noteIdle(cluster, idle)
	return idle
}

func (r *Run) scrapeMembers(ctx context.Context, cluster string) []governor.Scrape {
	ctx, cancel := context.WithTimeout(ctx, governCall)
	defer cancel()
	return r.Clusters.ScrapeMembers(ctx, cluster)
}

// runGoverned runs a staging step while the governor controls its pace.
func (r *Run) runGoverned(ctx context.Context, hp engine.HostPlan, s engine.Step, lane engine.Lane) *engine.Failure {
	idle := r.measureIdle(ctx, lane.Cluster)
	if ctx.Err() != nil {
		return &engine.Failure{Host: hp.Host, Step: s.Name, Cause: errStopped.Error(), Kind: KindStopped}
	}
	g := r.newGovernedStage(hp, s, lane, idle)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	loop, end := context.WithCancel(ctx)
	defer end()
	var wait conc.WaitGroup
	wait.Go(func() {
		if f := g.governUntilDone(loop); f != nil {
			stop(f)
		}
	})
	failure := r.runStep(ctx, hp, s)
	end()
	wait.Wait()
	g.emitEnd()
	return failure
}

func (r *Run) newGovernedStage(hp engine.HostPlan, s engine.Step, lane engine.Lane, idle *idleLatency) *governedStage {
	common := governor.LimitsOf(lane.Governing.Latency)
	limits := map[string]governor.Limits{}
	for host, point := range idle.byHost {
		limits[host] = common.Raised(point)
	}
	now, timeout := r.Clock.Now(), toDuration(s.Timeout)
	settings := governor.Settings{
		Common: common, Limits: limits, Members: len(r.Inventory.Members(lane.Cluster)), Blind: idle.blind,
		Began: now, Deadline: now.Add(max(timeout-governCall, timeout/2)), AbortAfter: toDuration(lane.Governing.AbortAfter),
	}
	return &governedStage{
		run: r, plan: hp, step: s, cluster: lane.Cluster, state: engine.GovernorFree, since: now,
		controller: governor.New(settings), watch: governor.NewWatch(idle.observed),
	}
}

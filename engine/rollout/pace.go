package rollout

import (
	"context"

	"holdfast/engine"
)

func (r *Run) waitForSoak(ctx context.Context, p *runState, b engine.Batch) *engine.Failure {
	e := engine.Event{Pool: joinNames(b.Pools), Step: "soak", Batch: p.batches, Until: r.Clock.Now().Add(toDuration(b.Soak))}
	return r.runInterruptible(ctx, func(ctx context.Context) *engine.Failure {
		return r.runBetweenEvents(e, func(*stepHeartbeat) error { return r.Clock.Sleep(ctx, toDuration(b.Soak)) })
	})
}

func (r *Run) askGatesBefore(ctx context.Context, b engine.Batch, number int) *engine.Failure {
	for _, s := range b.Before {
		about := engine.Batch{Pools: b.Pools, Hosts: b.HostsToAsk(*s.Do.Gate)}
		if f := r.askGates(ctx, about, []engine.Step{s}, number); f != nil {
			return f
		}
	}
	return nil
}

// gatherAtEnd gathers facts once more if staging or a batch ended early, so that the end of the run
// reports the hosts as they are.
func (r *Run) gatherAtEnd(ctx context.Context, p *runState, err error) {
	if err == nil || !p.hasBegun() || ctx.Err() != nil || r.events.firstError() != nil {
		return
	}
	if gathered, err := r.gatherSite(ctx, p); err == nil {
		p.gathered = gathered
	}
}

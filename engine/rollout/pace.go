package rollout

import (
	"context"

	"holdfast/engine"
)

// soak waits as long as the canaries still have to run. The operator may cut
// that short.
func (r *Run) soak(ctx context.Context, p *progress, b engine.Batch) *engine.Failure {
	e := engine.Event{Pool: joined(b.Pools), Step: "soak", Batch: p.batches, Until: r.Clock.Now().Add(duration(b.Soak))}
	return r.softly(ctx, func(ctx context.Context) *engine.Failure {
		return r.timed(e, func(*pulse) error { return r.Clock.Sleep(ctx, duration(b.Soak)) })
	})
}

// gatesBefore asks the gates before a batch.
func (r *Run) gatesBefore(ctx context.Context, b engine.Batch, number int) *engine.Failure {
	for _, s := range b.Before {
		about := engine.Batch{Pools: b.Pools, Hosts: b.AskedBefore(*s.Do.Gate)}
		if f := r.gates(ctx, about, []engine.Step{s}, number); f != nil {
			return f
		}
	}
	return nil
}

// lastLook looks at the hosts once more where staging or a batch was cut short, so
// that the end of the run tells how they are and not how they were before it.
func (r *Run) lastLook(ctx context.Context, p *progress, err error) {
	if err == nil || !p.hasBegun() || ctx.Err() != nil || r.events.failed() != nil {
		return
	}
	if sight, err := r.look(ctx, p); err == nil {
		p.sight = sight
	}
}

package rollout

import (
	"cmp"
	"context"
	"time"

	"holdfast/engine"
)

// askGate asks a gate until its answer is good, or its time is up.
func (r *Run) askGate(ctx context.Context, hp engine.HostPlan, s engine.Step) error {
	g := *s.Do.Gate
	for {
		err := r.bastion(ctx, hp, g.Command)
		if err == nil || ctx.Err() != nil || r.Clock.Sleep(ctx, duration(cmp.Or(g.Interval, engine.Duration(5*time.Second)))) != nil {
			return err
		}
	}
}

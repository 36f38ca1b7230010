package rollout

import (
	"context"

	"holdfast/engine"
)

// AskGate asks a gate about a host, within the timeout of its step.
func (r *Run) AskGate(ctx context.Context, hp engine.HostPlan, s engine.Step) *engine.Failure {
	a := newPlayLoop(r).gates
	return a.runInterruptible(ctx, func(ctx context.Context) *engine.Failure {
		ctx, cancel := withStepTimeout(ctx, s)
		defer cancel()
		return asFailure(a.runWithHeartbeat(stepEvent(hp, s, 0), func(heartbeat *stepHeartbeat) error { return a.askGate(ctx, hp, s, heartbeat) }), hp.Host, s.Name)
	})
}

// AskBatchGate asks a gate about the hosts of a batch, within the timeout of
// its step.
func (r *Run) AskBatchGate(ctx context.Context, hosts []string, hp engine.HostPlan, s engine.Step) *engine.Failure {
	a := newPlayLoop(r).gates
	return a.runInterruptible(ctx, func(ctx context.Context) *engine.Failure {
		ctx, cancel := withStepTimeout(ctx, s)
		defer cancel()
		b := engine.Batch{Hosts: hosts, Pools: []string{hp.Pool}}
		return asFailure(a.runWithHeartbeat(stepEvent(hp, s, 0), func(heartbeat *stepHeartbeat) error { return a.askBatchGate(ctx, b, s, heartbeat) }), hp.Host, s.Name)
	})
}

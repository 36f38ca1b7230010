package rollout

import (
	"context"

	"holdfast/engine"
)

// AskGate asks a gate about a host, within the time of its step.
func (r *Run) AskGate(ctx context.Context, hp engine.HostPlan, s engine.Step) *engine.Failure {
	return r.softly(ctx, func(ctx context.Context) *engine.Failure {
		ctx, cancel := bounded(ctx, s)
		defer cancel()
		return asFailure(r.withPulse(stepEvent(hp, s, 0), func(pulse *pulse) error { return r.askGate(ctx, hp, s, pulse) }), hp.Host, s.Name)
	})
}

// AskBatchGate asks a gate about the hosts of a batch, within the time of its step.
func (r *Run) AskBatchGate(ctx context.Context, hosts []string, hp engine.HostPlan, s engine.Step) *engine.Failure {
	return r.softly(ctx, func(ctx context.Context) *engine.Failure {
		ctx, cancel := bounded(ctx, s)
		defer cancel()
		b := engine.Batch{Hosts: hosts, Pools: []string{hp.Pool}}
		return asFailure(r.withPulse(stepEvent(hp, s, 0), func(pulse *pulse) error { return r.askBatchGate(ctx, b, s, pulse) }), hp.Host, s.Name)
	})
}

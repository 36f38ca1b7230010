package rollout

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/conc/pool"

	"holdfast/engine"
	"holdfast/engine/event"
)

// runBatch works on the hosts of a batch in parallel. Budgets limit the number
// of disrupted hosts. Non-disruptive hosts need no budget; as many of them run
// at once as hosts are gathered at once. The failure of one host does not stop
// the others.
func (r *Run) runBatch(ctx context.Context, plan engine.Plan) error {
	b := plan.Batches[0]
	began := r.Clock.Now()
	r.state.batches, r.state.gated, r.state.agreed = r.state.batches+1, nil, nil
	number := r.state.batches
	r.state.sharedGather = r.newSharedGather(plan)
	if err := r.emitEvent(event.Event{Type: event.BatchStarted, Batch: number, Hosts: b.Hosts, Canaries: b.Canaries, Message: joinNames(b.Hosts)}); err != nil {
		return err
	}
	var failed failures
	workers, quiet := pool.New(), pool.New().WithMaxGoroutines(r.forkCount(gatherForks))
	for _, name := range b.Hosts {
		if hp := *plan.Host(name); !hp.NonDisruptive() {
			workers.Go(func() { failed.add(r.runSequence(ctx, hp)) })
		}
	}
	for _, name := range b.Hosts {
		if hp := *plan.Host(name); hp.NonDisruptive() {
			quiet.Go(func() { failed.add(r.runSequence(ctx, hp)) })
		}
	}
	quiet.Wait()
	workers.Wait()
	if f := r.fatalFailure(b, failed.all()); f != nil {
		return f
	}
	if f := r.askGatesAfter(ctx, b, number); f != nil {
		return f
	}
	r.noteEvent(event.Event{Type: event.BatchEnded, Batch: number, Canaries: b.Canaries, Took: engine.Duration(r.Clock.Now().Sub(began).Round(time.Millisecond))})
	return nil
}

// prepareBatch does the next thing that must happen before the gates of a batch. It returns false if nothing is left.
func (r *Run) prepareBatch(ctx context.Context, plan engine.Plan, b engine.Batch) (done bool, err error) {
	switch {
	case r.state.mustStageFirst(plan):
		r.state.stagedAll = true
		return true, r.stageLanes(ctx, plan, plan.Lanes)
	case needsStage(plan, b):
		return true, r.stageLanes(ctx, plan, lanesOf(plan.Lanes, b))
	case len(plan.Before) > 0:
		return true, r.takeSnapshots(ctx, plan)
	case b.Soak > 0:
		return true, asError(r.waitForSoak(ctx, b))
	case r.Step != nil && !slices.Equal(r.state.agreed, b.Hosts):
		r.state.agreed = b.Hosts
		return true, r.Step(ctx, plan)
	default:
		return false, nil
	}
}

func joinNames(names []string) string { return strings.Join(names, ", ") }

func (r *Run) waitForSoak(ctx context.Context, b engine.Batch) *engine.Failure {
	e := event.Event{Pool: joinNames(b.Pools), Step: "soak", Batch: r.state.batches, Until: r.Clock.Now().Add(toDuration(b.Soak))}
	return r.runInterruptible(ctx, func(ctx context.Context) *engine.Failure {
		return r.runBetweenEvents(e, func(*stepHeartbeat) error { return r.Clock.Sleep(ctx, toDuration(b.Soak)) })
	})
}

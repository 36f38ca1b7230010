package rollout

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/conc/pool"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/planner"
)

// runBatch works on the hosts of a batch in parallel. Budgets limit the number
// of disrupted hosts. Non-disruptive hosts need no budget; as many of them run
// at once as hosts are gathered at once. The failure of one host does not stop
// the others.
func (l *playLoop) runBatch(ctx context.Context, plan engine.Plan) error {
	b := plan.Batches[0]
	began := l.Clock.Now()
	l.state.batches, l.state.gated, l.state.agreed, l.state.worked = l.state.batches+1, nil, nil, true
	number := l.state.batches
	l.steps.batchHolds = newSharedGather(planner.NewBudgets(l.Inventory, l.state.facts, plan))
	if err := l.emitEvent(event.Event{Type: event.BatchStarted, Batch: number, Hosts: b.Hosts, Canaries: b.Canaries, Message: joinNames(b.Hosts)}); err != nil {
		return err
	}
	var failed failures
	workers, quiet := pool.New(), pool.New().WithMaxGoroutines(l.forkCount(gatherForks))
	for _, name := range b.Hosts {
		if hp := *plan.Host(name); !hp.NonDisruptive() {
			workers.Go(func() { failed.addFailure(l.newHostRun(hp).runSequence(ctx)) })
		}
	}
	for _, name := range b.Hosts {
		if hp := *plan.Host(name); hp.NonDisruptive() {
			quiet.Go(func() { failed.addFailure(l.newHostRun(hp).runSequence(ctx)) })
		}
	}
	quiet.Wait()
	workers.Wait()
	if f := l.fatalFailure(b, failed.listFailures()); f != nil {
		return f
	}
	if f := l.gates.askGatesAfter(ctx, b, number, l.state.doneSince()); f != nil {
		return f
	}
	l.noteEvent(event.Event{Type: event.BatchEnded, Batch: number, Canaries: b.Canaries, Took: engine.Duration(l.Clock.Now().Sub(began).Round(time.Millisecond))})
	return nil
}

// prepareBatch does the next thing that must happen before the gates of a batch. It returns false if nothing is left.
func (l *playLoop) prepareBatch(ctx context.Context, plan engine.Plan, b engine.Batch) (done bool, err error) {
	switch {
	case l.state.mustStageFirst(plan):
		l.state.stagedAll = true
		return true, l.stageLanes(ctx, plan, plan.Lanes)
	case needsStage(plan, b):
		return true, l.stageLanes(ctx, plan, lanesOf(plan.Lanes, b))
	case len(plan.Before) > 0:
		return true, l.takeSnapshots(ctx, plan)
	case b.Soak > 0:
		return true, asError(l.waitForSoak(ctx, b))
	case l.Step != nil && !slices.Equal(l.state.agreed, b.Hosts):
		l.state.agreed = b.Hosts
		return true, l.Step(ctx, plan)
	default:
		return false, nil
	}
}

func joinNames(names []string) string { return strings.Join(names, ", ") }

func (l *playLoop) waitForSoak(ctx context.Context, b engine.Batch) *engine.Failure {
	e := event.Event{Pool: joinNames(b.Pools), Step: "soak", Batch: l.state.batches, Until: l.Clock.Now().Add(toDuration(b.Soak))}
	return l.runInterruptible(ctx, func(ctx context.Context) *engine.Failure {
		return l.runBetweenEvents(e, func(*stepHeartbeat) error { return l.Clock.Sleep(ctx, toDuration(b.Soak)) })
	})
}

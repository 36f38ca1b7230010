package rollout

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/conc/pool"

	"holdfast/engine"
)

// runBatch disrupts the hosts of a batch in parallel. Budgets bound their number. Hosts that are
// not disrupted have no budget, so as many run at once as facts are gathered from. The failure of
// one host does not stop the others.
func (r *Run) runBatch(ctx context.Context, p *runState, plan engine.Plan) error {
	b := plan.Batches[0]
	began := r.Clock.Now()
	p.batches, p.gated, p.agreed = p.batches+1, "", ""
	number := p.batches
	r.sharedGather = r.newSharedGather(p, plan)
	if err := r.emitEvent(engine.Event{Type: engine.BatchStarted, Batch: number, Hosts: b.Hosts, Canaries: b.Canaries, Message: joinNames(b.Hosts)}); err != nil {
		return err
	}
	var failed failures
	workers, quiet := pool.New(), pool.New().WithMaxGoroutines(r.forkCount(gatherForks))
	for _, name := range b.Hosts {
		if hp := *plan.Host(name); !hp.NonDisruptive() {
			workers.Go(func() { failed.add(r.runSequence(ctx, p, hp, number)) })
		}
	}
	for _, name := range b.Hosts {
		if hp := *plan.Host(name); hp.NonDisruptive() {
			quiet.Go(func() { failed.add(r.runSequence(ctx, p, hp, number)) })
		}
	}
	quiet.Wait()
	workers.Wait()
	if f := r.fatalFailure(p, b, failed.all()); f != nil {
		return f
	}
	if f := r.askGatesAfter(ctx, p, b, number); f != nil {
		return f
	}
	r.noteEvent(engine.Event{Type: engine.BatchEnded, Batch: number, Canaries: b.Canaries, Took: engine.Duration(r.Clock.Now().Sub(began).Round(time.Millisecond))})
	return nil
}

// askGatesAfter asks the gates after a batch. A gate about hosts skips those that failed or still
// wait for a reboot.
func (r *Run) askGatesAfter(ctx context.Context, p *runState, b engine.Batch, number int) *engine.Failure {
	done := p.doneSince()
	for _, s := range b.After {
		asked := b
		if asksHosts(*s.Do.Gate) {
			asked.Hosts = slices.DeleteFunc(slices.Clone(r.hostsWithGate(b.Hosts, *s.Do.Gate)), func(h string) bool { return done[h].IsZero() })
			if len(asked.Hosts) == 0 {
				continue
			}
		}
		if f := r.askGates(ctx, asked, []engine.Step{s}, number); f != nil {
			return f
		}
	}
	return nil
}

func (r *Run) askGates(ctx context.Context, b engine.Batch, steps []engine.Step, number int) *engine.Failure {
	for _, s := range steps {
		f := r.runInterruptible(ctx, func(ctx context.Context) *engine.Failure {
			return r.runBetweenEvents(engine.Event{Step: s.Name, Batch: number}, func(heartbeat *stepHeartbeat) error {
				ctx, cancel := withStepTimeout(ctx, s)
				defer cancel()
				return r.askBatchGate(ctx, b, s, heartbeat)
			})
		})
		if f != nil {
			return f
		}
	}
	return nil
}

func joinNames(names []string) string { return strings.Join(names, ", ") }

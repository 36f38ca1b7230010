package rollout

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/conc/pool"

	"holdfast/engine"
)

// batch disrupts the hosts of a batch side by side, each by its own sequence.
// Budgets bound how many those are; of hosts that are not disrupted there may be
// any number, so they go as many at a time as they are looked at.
// A host that fails does not stop the others of its batch: they reach the end.
func (r *Run) batch(ctx context.Context, p *progress, plan engine.Plan) error {
	b := plan.Batches[0]
	began := r.Clock.Now()
	p.batches, p.gated, p.agreed = p.batches+1, "", ""
	number := p.batches
	r.lookout = r.lookOut(p, plan)
	if err := r.emit(engine.Event{Type: engine.BatchStarted, Batch: number, Hosts: b.Hosts, Canaries: b.Canaries, Message: joined(b.Hosts)}); err != nil {
		return err
	}
	var failed failures
	workers, quiet := pool.New(), pool.New().WithMaxGoroutines(r.forks(gatherForks))
	for _, name := range b.Hosts {
		if hp := *plan.Host(name); !hp.NonDisruptive() {
			workers.Go(func() { failed.add(r.roll(ctx, p, hp, number)) })
		}
	}
	for _, name := range b.Hosts {
		if hp := *plan.Host(name); hp.NonDisruptive() {
			quiet.Go(func() { failed.add(r.roll(ctx, p, hp, number)) })
		}
	}
	quiet.Wait()
	workers.Wait()
	if f := r.ends(p, b, failed.all()); f != nil {
		return f
	}
	if f := r.gatesAfter(ctx, p, b, number); f != nil {
		return f
	}
	r.note(engine.Event{Type: engine.BatchEnded, Batch: number, Canaries: b.Canaries, Took: engine.Duration(r.Clock.Now().Sub(began).Round(time.Millisecond))})
	return nil
}

// gatesAfter asks the gates after a batch. Those about hosts are about the ones
// that the run is done with: others have failed, and may do so, or are still to
// be rebooted.
func (r *Run) gatesAfter(ctx context.Context, p *progress, b engine.Batch, number int) *engine.Failure {
	done := p.doneSince()
	for _, s := range b.After {
		asked := b
		if asksHosts(*s.Do.Gate) {
			asked.Hosts = slices.DeleteFunc(slices.Clone(r.ofGate(b.Hosts, *s.Do.Gate)), func(h string) bool { return done[h].IsZero() })
			if len(asked.Hosts) == 0 {
				continue
			}
		}
		if f := r.gates(ctx, asked, []engine.Step{s}, number); f != nil {
			return f
		}
	}
	return nil
}

// gates asks the gates before or after a batch. The operator may cut that short.
func (r *Run) gates(ctx context.Context, b engine.Batch, steps []engine.Step, number int) *engine.Failure {
	for _, s := range steps {
		f := r.softly(ctx, func(ctx context.Context) *engine.Failure {
			return r.timed(engine.Event{Step: s.Name, Batch: number}, func(pulse *pulse) error {
				ctx, cancel := bounded(ctx, s)
				defer cancel()
				return r.askBatchGate(ctx, b, s, pulse)
			})
		})
		if f != nil {
			return f
		}
	}
	return nil
}

func joined(names []string) string { return strings.Join(names, ", ") }

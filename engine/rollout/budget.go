package rollout

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc/pool"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/planner"
)

// sharedGather is how the hosts of a batch see what others have taken since it was
// planned. They ask at about the same time, so they share looks: who asks while
// a look is under way takes part in the next, as only that begins afterwards.
type sharedGather struct {
	budgets planner.Budgets
	others  []engine.Host
	begun   atomic.Int64  // looks
	turn    chan struct{} // has room for the one who looks; guards what follows
	ended   int64         // the last look that came to its end
	seen    []engine.Facts
}

// newSharedGather is the lookout for the first batch of a plan.
func (r *Run) newSharedGather(p *runState, plan engine.Plan) *sharedGather {
	b := planner.NewBudgets(r.Inventory, p.facts, plan)
	return &sharedGather{budgets: b, others: b.Others(), turn: make(chan struct{}, 1)}
}

// checkBudget proves, with the host's hold taken, that its pool and the site may
// lose it now, together with the rest of its batch.
func (r *Run) checkBudget(ctx context.Context, pool string) error {
	seen, err := r.sharedGather.gatherSince(ctx, r.gatherHolds)
	if err != nil {
		return err
	}
	cause, held := r.sharedGather.budgets.Exceeded(pool, seen)
	switch {
	case cause == "":
		return nil
	case held:
		return &engine.Failure{Kind: KindHeld, Cause: cause}
	}
	return &engine.Failure{Kind: KindUnsafe, Cause: cause}
}

// gatherSince gives what a look has shown that began after the call.
func (l *sharedGather) gatherSince(ctx context.Context, look func(context.Context, []engine.Host) []engine.Facts) ([]engine.Facts, error) {
	before := l.begun.Load()
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if l.ended > before {
		return l.seen, nil
	}
	number := l.begun.Add(1)
	seen := look(ctx, l.others)
	if ctx.Err() != nil { // it was cut short, and tells nothing to anybody
		return nil, context.Cause(ctx)
	}
	l.ended, l.seen = number, seen
	return seen, nil
}

// gatherHolds reads the holds of hosts side by side, and nothing else.
func (r *Run) gatherHolds(ctx context.Context, hosts []engine.Host) []engine.Facts {
	const quick = 20 * time.Second
	facts := make([]engine.Facts, len(hosts))
	workers := pool.New().WithMaxGoroutines(r.forkCount(gatherForks))
	for i, h := range hosts {
		workers.Go(func() {
			reply, err := r.runIdempotent(ctx, h.Name, Script{Text: hostscript.HoldLookScript(), Timeout: quick})
			if facts[i].Host = h.Name; err != nil {
				facts[i].Unreachable = err.Error()
				return
			}
			facts[i].Hold, facts[i].HoldProblem = hostscript.ReadHold(engine.Output{Stdout: reply.Stdout, Stderr: reply.Stderr, Code: reply.Code})
		})
	}
	workers.Wait()
	return facts
}

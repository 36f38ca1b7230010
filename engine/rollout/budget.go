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

// lookout is how the hosts of a batch see what others have taken since it was
// planned. They ask at about the same time, so they share looks: who asks while
// a look is under way takes part in the next, as only that begins afterwards.
type lookout struct {
	budgets planner.Budgets
	others  []engine.Host
	begun   atomic.Int64  // looks
	turn    chan struct{} // has room for the one who looks; guards what follows
	ended   int64         // the last look that came to its end
	seen    []engine.Facts
}

// lookOut is the lookout for the first batch of a plan.
func (r *Run) lookOut(p *progress, plan engine.Plan) *lookout {
	b := planner.NewBudgets(r.Inventory, p.facts, plan)
	return &lookout{budgets: b, others: b.Others(), turn: make(chan struct{}, 1)}
}

// checkBudget proves, with the host's hold taken, that its pool and the site may
// lose it now, together with the rest of its batch.
func (r *Run) checkBudget(ctx context.Context, pool string) error {
	seen, err := r.lookout.since(ctx, r.holdsOf)
	if err != nil {
		return err
	}
	cause, held := r.lookout.budgets.Exceeded(pool, seen)
	switch {
	case cause == "":
		return nil
	case held:
		return &engine.Failure{Kind: KindHeld, Cause: cause}
	}
	return &engine.Failure{Kind: KindUnsafe, Cause: cause}
}

// since gives what a look has shown that began after the call.
func (l *lookout) since(ctx context.Context, look func(context.Context, []engine.Host) []engine.Facts) ([]engine.Facts, error) {
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

// holdsOf reads the holds of hosts side by side, and nothing else.
func (r *Run) holdsOf(ctx context.Context, hosts []engine.Host) []engine.Facts {
	const quick = 20 * time.Second
	facts := make([]engine.Facts, len(hosts))
	workers := pool.New().WithMaxGoroutines(r.forks(gatherForks))
	for i, h := range hosts {
		workers.Go(func() {
			reply, err := r.insist(ctx, h.Name, Script{Text: hostscript.HoldLookScript(), Timeout: quick})
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

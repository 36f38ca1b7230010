package rollout

import (
	"context"
	"sync/atomic"

	"holdfast/engine"
	"holdfast/engine/planner"
)

// sharedGather lets the hosts of a batch share the holds that were gathered
// since the batch was planned. A host that asks while a round of gathering
// continues takes part in the next round, because only the next round begins
// after its own hold.
type sharedGather struct {
	budgets planner.Budgets
	others  []engine.Host
	begun   atomic.Int64  // number of rounds that began
	turn    chan struct{} // lock for the fields below: a channel with one place
	ended   int64         // number of the last complete round
	seen    []engine.Facts
}

func newSharedGather(b planner.Budgets) *sharedGather {
	return &sharedGather{budgets: b, others: b.UncountedHosts(), turn: make(chan struct{}, 1)}
}

// checkBudget proves, under the hold of the host, that its pool and the site
// may lose the host now, together with the rest of its batch.
func (r *stepRunner) checkBudget(ctx context.Context, pool string) error {
	seen, err := r.batchHolds.gatherSince(ctx, r.gatherHolds)
	if err != nil {
		return err
	}
	cause, held := r.batchHolds.budgets.Exceeded(pool, seen)
	switch {
	case cause == "":
		return nil
	case held:
		return &engine.Failure{Kind: engine.HeldFailure, Cause: cause}
	}
	return &engine.Failure{Kind: engine.UnsafeFailure, Cause: cause}
}

// gatherSince returns facts whose gathering began after the call.
func (l *sharedGather) gatherSince(ctx context.Context, gather func(context.Context, []engine.Host) []engine.Facts) ([]engine.Facts, error) {
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
	facts := gather(ctx, l.others)
	if ctx.Err() != nil { // the round was interrupted, and its facts do not count
		return nil, context.Cause(ctx)
	}
	l.ended, l.seen = number, facts
	return facts, nil
}

func (g *gatherer) gatherHolds(ctx context.Context, hosts []engine.Host) []engine.Facts {
	var names []string
	for _, h := range hosts {
		names = append(names, h.Name)
	}
	var facts []engine.Facts
	for _, r := range g.keepHolds().ReadAll(ctx, names) {
		facts = append(facts, r.Facts)
	}
	return facts
}

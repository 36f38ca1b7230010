package rollout

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/engine"
	"holdfast/engine/planner"
)

// arrivalWait bounds the wait of a held host for the other hosts of its batch. Hosts take their holds side by side, so a host that is this
// late hangs.
const arrivalWait = 2 * time.Second

// sharedGather lets the hosts of a batch share the holds that were gathered
// since the batch was planned. A host that asks while a round of gathering
// continues takes part in the next round, because only the next round begins
// after its own hold. So that one round is enough, a host first waits until the
// others have their holds, too, or have failed: a round reads up to all hosts of the site.
type sharedGather struct {
	budgets planner.Budgets
	others  []engine.Host
	begun   atomic.Int64  // number of rounds that began
	turn    chan struct{} // lock for the fields below: a channel with one place
	ended   int64         // number of the last complete round
	seen    []engine.Facts

	mu       sync.Mutex
	expected map[string]bool // hosts that have neither asked nor ended
	arrived  chan struct{}   // closed when expected is empty
}

// newSharedGather returns the holds that the hosts of the first batch of a plan share.
func newSharedGather(b planner.Budgets, plan engine.Plan) *sharedGather {
	l := &sharedGather{budgets: b, others: b.UncountedHosts(), turn: make(chan struct{}, 1), expected: map[string]bool{}, arrived: make(chan struct{})}
	for _, name := range plan.Batches[0].Hosts {
		if slices.ContainsFunc(plan.Host(name).Sequence, func(s engine.Step) bool { return s.Do.Budget != nil }) {
			l.expected[name] = true
		}
	}
	return l
}

// noteArrival notes that a host has its hold, or that its sequence has ended.
func (l *sharedGather) noteArrival(host string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.expected[host] {
		return
	}
	if delete(l.expected, host); len(l.expected) == 0 {
		close(l.arrived)
	}
}

// awaitArrivals waits until no host is expected, or for arrivalWait. A late host begins a round of its own.
func (l *sharedGather) awaitArrivals(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, arrivalWait)
	defer cancel()
	select {
	case <-l.arrived:
	case <-ctx.Done():
	}
}

// checkBudget proves, under the hold of the host, that its pool and the site
// may lose the host now, together with the rest of its batch.
func (r *stepRunner) checkBudget(ctx context.Context, host, pool string) error {
	r.batchHolds.noteArrival(host)
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

// gatherSince returns facts whose gathering began after the call. It first waits for the other hosts of the batch.
func (l *sharedGather) gatherSince(ctx context.Context, gather func(context.Context, []engine.Host) []engine.Facts) ([]engine.Facts, error) {
	before := l.begun.Load()
	l.awaitArrivals(ctx)
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

package rollout

import (
	"cmp"
	"slices"
	"sync"

	"holdfast/engine"
)

// failures are those of work that is done side by side, in the order in which
// they came.
type failures struct {
	mu   sync.Mutex
	list []*engine.Failure
}

// add keeps a failure, if there is one.
func (x *failures) add(f *engine.Failure) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if f != nil {
		x.list = append(x.list, f)
	}
}

func (x *failures) all() []*engine.Failure {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.list)
}

func (x *failures) worst() *engine.Failure { return worstFailure(x.all()) }

// worstFailure is the failure that a run ends with that ends because of all of these:
// one that no budget is for, else one of a host, else one that a hold or the
// operator made; of several the first.
func worstFailure(list []*engine.Failure) *engine.Failure {
	if len(list) == 0 {
		return nil
	}
	rank := func(f *engine.Failure) int {
		switch {
		case f.Exit() != engine.ExitFailed:
			return 2
		case isHostFailure(f):
			return 1
		}
		return 0
	}
	return slices.MinFunc(list, func(a, b *engine.Failure) int { return cmp.Compare(rank(a), rank(b)) })
}

// isHostFailure reports whether a failure is that of a host, which its pool's budget
// is for. All others end the run in any case.
func isHostFailure(f *engine.Failure) bool {
	switch f.Kind {
	case KindHeld, KindUnsafe, KindJournal, KindStopped, KindRefused:
		return false
	}
	return true
}

// fatalFailure gives the failure because of which the run does not go on after a batch,
// nil if it does: each is within the failure budget of its host's pool, and
// none is that of a canary. Then it says so.
func (r *Run) fatalFailure(p *runState, b engine.Batch, list []*engine.Failure) *engine.Failure {
	spent, failed := r.planInput(p.gathered, p).ExceededFailureBudget(), p.failureByHost()
	tolerable := func(f *engine.Failure) bool {
		h, _ := r.Inventory.Host(f.Host)
		_, counted := failed[f.Host]
		canary := slices.Contains(b.Canaries, h.Pool) && !r.BestEffort
		return isHostFailure(f) && counted && !canary && !spent.Covers(h)
	}
	if fatal := slices.DeleteFunc(slices.Clone(list), tolerable); len(fatal) > 0 {
		return worstFailure(fatal)
	}
	for _, f := range list {
		r.emitWarning(f.Host + " failed at " + f.Step + "; " + r.toleratedBy(p) + " lets the run go on without it")
	}
	return nil
}

// toleratedBy names what lets a run go on although hosts have failed.
func (r *Run) toleratedBy(p *runState) string {
	switch {
	case r.BestEffort:
		return "--best-effort"
	case p.play != nil && p.play.MaxFail != nil:
		return "max_fail_percentage of play " + p.play.Name
	}
	return "the failure budget of its pool"
}

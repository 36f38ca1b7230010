package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"holdfast/engine"
)

// failures collects the failures of parallel work, in the order of their
// arrival.
type failures struct {
	mu   sync.Mutex
	list []*engine.Failure
}

func (x *failures) addFailure(f *engine.Failure) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if f != nil {
		x.list = append(x.list, f)
	}
}

func (x *failures) listFailures() []*engine.Failure {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.list)
}

func (x *failures) worstFailure() *engine.Failure { return worstFailure(x.listFailures()) }

// worstFailure returns the failure to report: first an unsafe state, a refusal
// or a failed journal, then the failure of a host, then a hold or a stop. Among
// equal failures it returns the first.
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

// isHostFailure reports whether a failure budget may tolerate a failure. Any
// other failure ends the run.
func isHostFailure(f *engine.Failure) bool {
	switch f.Kind {
	case "", engine.UnreachableFailure, engine.ChangedFailure, engine.FullFailure, engine.CannotFailure, engine.LatencyFailure, engine.ActionFailure, engine.DrainFailure, engine.KubernetesFailure:
		return true
	case engine.HeldFailure, engine.UnsafeFailure, engine.JournalFailure, engine.StoppedFailure, engine.RefusedFailure:
	}
	return false // a failure of an unknown kind, too, because nobody has decided that it is tolerable
}

// fatalFailure returns the failure in list that ends the run. It returns nil,
// and warns, if each failure is within the failure budget of its pool or play
// and no canary of the batch failed. With --best-effort, canaries may fail.
func (p *planning) fatalFailure(b engine.Batch, list []*engine.Failure) *engine.Failure {
	spent, failed := p.planInput(p.state.gathered).ExceededFailureBudgets(), p.state.failureByHost()
	tolerable := func(f *engine.Failure) bool {
		h, _ := p.Inventory.Host(f.Host)
		_, counted := failed[f.Host]
		canary := slices.Contains(b.Canaries, h.Pool) && !p.BestEffort
		return isHostFailure(f) && counted && !canary && !slices.ContainsFunc(spent, func(b engine.FailureBudget) bool { return b.Covers(h) })
	}
	if fatal := slices.DeleteFunc(slices.Clone(list), tolerable); len(fatal) > 0 {
		return worstFailure(fatal)
	}
	for _, f := range list {
		p.emitWarning(f.Host + " failed at " + f.Step + "; " + p.toleratedBy() + " lets the run go on without it")
	}
	return nil
}

func (p *planning) toleratedBy() string {
	switch {
	case p.BestEffort:
		return "--best-effort"
	case p.state.play != nil && p.state.play.MaxFailPercentage != nil:
		return "max_fail_percentage of play " + p.state.play.Name
	}
	return "the failure budget of its pool"
}

// warnOfExceededBudget adds a warning to the plan of a play after which no later play would begin.
func (p *planning) warnOfExceededBudget(plan *engine.Plan) {
	f := exceededBudgetFailure(plan.ExceededBudget)
	if f != nil && p.state.play != &p.Plays[len(p.Plays)-1] {
		plan.Warnings = append(slices.Clip(plan.Warnings), f.Cause)
	}
}

// exceededBudgetFailure returns the failure of a run that begins no later play, because hosts of a play have failed, also in
// earlier runs. It returns nil if no failure budget is exceeded.
func exceededBudgetFailure(b engine.FailureBudget) *engine.Failure {
	if b == (engine.FailureBudget{}) {
		return nil
	}
	return &engine.Failure{
		Step: "plan", Cause: fmt.Sprintf("the failure budget of %s is exceeded by hosts that failed, have not come back, were rolled back or are not understood; no later play begins", b),
		Hint: "bring these hosts back first; if a later play may begin without them, select it with --tags",
	}
}

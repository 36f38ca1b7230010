package rollout

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"holdfast/engine"
)

// errStopped is the cause of failures after the operator stopped the run.
var errStopped = errors.New("stopped by the operator")

func asFailure(err error, host, step string) *engine.Failure {
	if err == nil {
		return nil
	}
	var f *engine.Failure
	if !errors.As(err, &f) {
		f = &engine.Failure{Cause: err.Error()}
		if errors.Is(err, context.Canceled) {
			f.Kind = engine.StoppedFailure
		}
	}
	whole := *f
	if whole.Host == "" {
		whole.Host = host
	}
	if whole.Step == "" {
		whole.Step = step
	}
	// Some scripts begin their message with the name of the step.
	whole.Cause = contextErrors.Replace(strings.TrimPrefix(whole.Cause, whole.Step+": "))
	return &whole
}

// contextErrors replaces the texts of package context.
var contextErrors = strings.NewReplacer(context.Canceled.Error(), errStopped.Error(), context.DeadlineExceeded.Error(), "no answer in time")

func (p *Ports) scriptFailure(reply Reply, cause string) *engine.Failure {
	return &engine.Failure{Stderr: p.Secrets.KeepTail(reply.Stderr, 4096), Cause: cause}
}

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

func (x *failures) all() []*engine.Failure {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.list)
}

func (x *failures) worst() *engine.Failure { return worstFailure(x.all()) }

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
	spent, failed := p.planInput(p.state.gathered).ExceededFailureBudget(), p.state.failureByHost()
	tolerable := func(f *engine.Failure) bool {
		h, _ := p.Inventory.Host(f.Host)
		_, counted := failed[f.Host]
		canary := slices.Contains(b.Canaries, h.Pool) && !p.BestEffort
		return isHostFailure(f) && counted && !canary && !spent.Covers(h)
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

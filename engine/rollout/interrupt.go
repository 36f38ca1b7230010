package rollout

import (
	"context"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/event"
)

// The messages at the operator's first and second Ctrl-C.
const (
	Stopping       = "stopping: no new batch; hosts that are under way reach a safe point; Ctrl-C again stops at once and leaves holds"
	StoppingAtOnce = "stopping at once; holds stay on the hosts"
)

// journalInterrupts journals each Ctrl-C of the operator when it comes, until
// stop is called. No event follows stop.
func (l *playLoop) journalInterrupts(ctx context.Context) (stop func()) {
	over := make(chan struct{})
	var soft <-chan struct{}
	if l.Soft != nil {
		soft = l.Soft.Done()
	}
	var wait conc.WaitGroup
	wait.Go(func() {
		select {
		case <-over:
		case <-soft:
		case <-ctx.Done():
		}
		if l.isStopping() { // also after both Ctrl-C
			l.noteEvent(event.Event{Type: event.Interrupted, Message: Stopping})
			select {
			case <-over:
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			l.noteEvent(event.Event{Type: event.Interrupted, Message: StoppingAtOnce})
		}
	})
	return func() {
		close(over)
		wait.Wait()
	}
}

func (p *Ports) isStopping() bool {
	return p.Soft != nil && p.Soft.Err() != nil
}

func (p *Ports) runInterruptible(ctx context.Context, do func(context.Context) *engine.Failure) *engine.Failure {
	soft, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if p.Soft != nil {
		defer context.AfterFunc(p.Soft, func() { cancel(errStopped) })()
	}
	failure := do(soft)
	if failure == nil || soft.Err() == nil {
		return failure
	}
	return &engine.Failure{Host: failure.Host, Step: failure.Step, Cause: errStopped.Error(), Kind: engine.StoppedFailure}
}

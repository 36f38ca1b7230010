package rollout

import (
	"context"

	"github.com/sourcegraph/conc"

	"holdfast/engine/event"
)

// The messages at the operator's first and second Ctrl-C.
const (
	Stopping       = "stopping: no new batch; hosts that are under way reach a safe point; Ctrl-C again stops at once and leaves holds"
	StoppingAtOnce = "stopping at once; holds stay on the hosts"
)

// journalInterrupts journals each Ctrl-C of the operator when it comes, until
// stop is called. No event follows stop.
func (r *Run) journalInterrupts(ctx context.Context) (stop func()) {
	over := make(chan struct{})
	var soft <-chan struct{}
	if r.Soft != nil {
		soft = r.Soft.Done()
	}
	var wait conc.WaitGroup
	wait.Go(func() {
		select {
		case <-over:
		case <-soft:
		case <-ctx.Done():
		}
		if r.isStopping() { // also after both Ctrl-C
			r.noteEvent(event.Event{Type: event.Interrupted, Message: Stopping})
			select {
			case <-over:
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			r.noteEvent(event.Event{Type: event.Interrupted, Message: StoppingAtOnce})
		}
	})
	return func() {
		close(over)
		wait.Wait()
	}
}

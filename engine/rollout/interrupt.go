package rollout

import (
	"context"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
)

// What becomes of a run when the operator presses Ctrl-C for the first and for
// the second time.
const (
	Stopping       = "stopping: no new batch; hosts that are under way reach a safe point; Ctrl-C again stops at once and leaves holds"
	StoppingAtOnce = "stopping at once; holds stay on the hosts"
)

// journalInterrupts puts the operator's Ctrl-C into the journal when it comes, whatever is
// under way. What it gives ends that; then nothing comes any more.
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
		if r.isStopping() { // also where both have come by now
			r.noteEvent(engine.Event{Type: engine.Interrupted, Message: Stopping})
			select {
			case <-over:
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			r.noteEvent(engine.Event{Type: engine.Interrupted, Message: StoppingAtOnce})
		}
	})
	return func() {
		close(over)
		wait.Wait()
	}
}

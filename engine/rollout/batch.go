package rollout

import (
	"context"
	"strings"
	"time"

	"github.com/sourcegraph/conc/pool"

	"holdfast/engine"
)

// batch disrupts the hosts of a batch side by side, each by its own sequence.
// A host that fails does not stop the others of its batch: they reach the end.
func (r *Run) batch(ctx context.Context, p *progress, plan engine.Plan, number int) error {
	b := plan.Batches[0]
	began := r.Clock.Now()
	if err := r.emit(engine.Event{Type: engine.BatchStarted, Batch: number, Message: joined(b.Hosts)}); err != nil {
		return err
	}
	if f := r.gates(ctx, b, b.Before, number); f != nil {
		return f
	}
	var first firstFailure
	workers := pool.New()
	for _, name := range b.Hosts {
		workers.Go(func() {
			first.set(r.roll(ctx, p, *plan.Host(name), number))
		})
	}
	workers.Wait()
	if f := first.get(); f != nil {
		return f
	}
	if f := r.gates(ctx, b, b.After, number); f != nil {
		return f
	}
	r.note(engine.Event{Type: engine.BatchEnded, Batch: number, Took: engine.Duration(r.Clock.Now().Sub(began).Round(time.Millisecond))})
	return nil
}

func (r *Run) gates(ctx context.Context, b engine.Batch, steps []engine.Step, number int) *engine.Failure {
	for _, s := range steps {
		f := r.timed(engine.Event{Step: s.Name, Batch: number}, func() error {
			ctx, cancel := bounded(ctx, s)
			defer cancel()
			return r.local(ctx, engine.HostPlan{Pool: joined(b.Pools)}, s)
		})
		if f != nil {
			return f
		}
	}
	return nil
}

// roll runs a host's sequence. Until the host is disturbed, a stop or a
// failure gives the hold back and leaves the host as it was; a host that was
// ordered to reboot is seen through, and a failure leaves it held with the
// reason.
func (r *Run) roll(ctx context.Context, p *progress, hp engine.HostPlan, number int) *engine.Failure {
	var passed sequence
	for _, s := range hp.Roll {
		failure := r.mayStep(ctx, hp, s, passed)
		if failure == nil {
			failure = r.stepIn(ctx, hp, s, number)
			passed.note(s, failure)
		}
		if failure != nil {
			return r.giveUp(ctx, p, hp, passed, failure)
		}
	}
	p.done(hp.Host)
	r.note(engine.Event{Type: engine.HostDone, Host: hp.Host, Pool: hp.Pool, Batch: number})
	return nil
}

// mayStep asks, as long as there is a way back, whether the operator wants to stop.
func (r *Run) mayStep(ctx context.Context, hp engine.HostPlan, s engine.Step, passed sequence) *engine.Failure {
	if ctx.Err() == nil && (passed.ordered || s.Do.Release != nil) {
		return nil
	}
	return asFailure(r.mayGoOn(ctx), hp.Host, s.Name)
}

// sequence is how far a host's sequence has come.
type sequence struct {
	held      bool
	disturbed bool          // the host is, or may be, no longer as it was
	ordered   bool          // it was, or may have been, ordered to reboot
	undo      []engine.Step // what a retreat takes back
}

func (q *sequence) note(s engine.Step, failure *engine.Failure) {
	if failure == nil && s.Do.TakeHold != nil {
		q.held = true
	}
	if !s.Disturbs || refused(failure) {
		return
	}
	q.disturbed = true
	q.ordered = q.ordered || s.Breaks
	if s.Do.Command != nil && s.Do.Command.Undo != "" {
		q.undo = append(q.undo, s)
	}
}

// refused reports whether a script said that it did nothing.
func refused(f *engine.Failure) bool {
	return f != nil && (f.Kind == KindHeld || f.Kind == KindChanged)
}

// giveUp ends a host's sequence early. Stopped by the operator before the
// reboot, the host is given back as it was. Not yet disturbed, it is released.
// Else it stays held, with the reason in its hold.
func (r *Run) giveUp(ctx context.Context, p *progress, hp engine.HostPlan, passed sequence, failure *engine.Failure) *engine.Failure {
	message := ""
	switch {
	case ctx.Err() != nil:
		failure.Kind = KindStopped // whatever the step made of being cut short
		message = "stopped at once; its hold stays"
	case !passed.held:
		message = "it was not disturbed and is not held"
	case !passed.disturbed, failure.Kind == KindStopped && !passed.ordered:
		message = r.retreat(ctx, hp, passed)
	default:
		message = r.keepHeld(ctx, hp, failure)
	}
	r.fail(p, hp, failure, message)
	return failure
}

// fail reports a host that could not be brought to its desired state.
func (r *Run) fail(p *progress, hp engine.HostPlan, failure *engine.Failure, message string) {
	if failure.Kind != KindStopped && failure.Kind != KindHeld {
		p.failedHost(hp.Host)
	}
	r.note(engine.Event{Type: engine.HostFailed, Host: hp.Host, Pool: hp.Pool, Failure: failure, Message: message})
}

// retreat takes back what was done to a host that is not rebooting, and
// releases it.
func (r *Run) retreat(ctx context.Context, hp engine.HostPlan, passed sequence) string {
	for _, s := range passed.undo {
		undo := s
		undo.Name, undo.Do = "undo "+s.Name, engine.Op{Command: &engine.Local{Command: s.Do.Command.Undo}}
		if f := r.step(ctx, hp, undo); f != nil {
			return r.keepHeld(ctx, hp, f)
		}
	}
	release := engine.Step{Name: "release", On: hp.Host, Do: engine.Op{Release: &engine.Release{}}, Timeout: engine.Duration(time.Minute)}
	if f := r.step(ctx, hp, release); f != nil {
		return "its hold could not be released: " + f.Cause
	}
	return "it was given back as it was, and is not held"
}

// keepHeld writes the reason into the hold of a host that failed.
func (r *Run) keepHeld(ctx context.Context, hp engine.HostPlan, failure *engine.Failure) string {
	script := engine.FailHoldScript(r.ID, failure.Cause, failure.Step)
	reply, err := r.exec(ctx, hp.Host, Script{Text: script, Timeout: time.Minute})
	switch {
	case err != nil:
		return "it stays held; the reason could not be written into its hold: " + err.Error()
	case reply.Code == engine.ScriptHeld:
		return "its hold is gone or somebody else's, and was left as it is"
	case reply.Code != 0:
		return "it stays held; the reason could not be written into its hold: " + tail(reply.Stderr, 200)
	}
	return "it stays held, with the reason in its hold; the next run takes it up first"
}

func joined(names []string) string { return strings.Join(names, ", ") }

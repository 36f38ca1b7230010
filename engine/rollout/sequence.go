package rollout

import (
	"context"
	"fmt"

	"holdfast/engine"
	"holdfast/engine/event"
)

// runSequence runs a host's sequence. Until the host is changed, a stop or a
// failure releases the hold and leaves the host unchanged. After a script has
// changed the host, a stop does not end the sequence, and a failure leaves the
// host held, with the reason.
func (r *Run) runSequence(ctx context.Context, hp engine.HostPlan) *engine.Failure {
	var passed sequenceState
	r.state.noteBegun(hp.Host, hp.Adopt != "" && hp.Adopt != r.ID)
	for _, s := range hp.Sequence {
		failure := r.mayRunStep(ctx, hp, s, passed)
		if failure == nil {
			var begun bool
			begun, failure = r.runSequenceStep(ctx, hp, s, passed)
			if begun {
				passed.noteStep(s, failure)
			}
		}
		if isFallbackFailure(s, failure) && r.state.noteFallback(hp, passed, failure) {
			r.emitWarning(fmt.Sprintf("%s: %s: %s; it is drained and rebooted instead", hp.Host, failure.Step, failure.Cause))
			return nil
		}
		if failure != nil && passed.mayRollBack(ctx, hp, s, failure) {
			return r.rollBackHost(ctx, hp, passed, failure)
		}
		if failure != nil {
			return r.giveUpHost(ctx, hp, passed, failure)
		}
	}
	if last := hp.Sequence[len(hp.Sequence)-1].Do.Release; last != nil && !last.Updated {
		failure := engine.Failure{Host: hp.Host, Step: "adopt", Cause: "run " + hp.Adopt + " has rolled it back to the OS it ran before"}
		r.noteEvent(event.Event{Type: event.HostFailed, Host: hp.Host, Pool: hp.Pool, Batch: r.state.batches, Failure: &failure, Message: "it is not held; it remembers which OS failed"})
		return nil
	}
	r.state.noteDone(hp.Host, r.Clock.Now())
	r.noteEvent(event.Event{Type: event.HostDone, Host: hp.Host, Pool: hp.Pool, Batch: r.state.batches})
	return nil
}

// runSequenceStep runs one step. While all steps so far can be undone, the
// operator may interrupt a step that only waits or runs on the bastion.
func (r *Run) runSequenceStep(ctx context.Context, hp engine.HostPlan, s engine.Step, passed sequenceState) (begun bool, failure *engine.Failure) {
	do := func(ctx context.Context) *engine.Failure {
		begun, failure = r.runStepInBatch(ctx, hp, s, r.state.batches)
		return failure
	}
	if passed.written || s.Do.Exec != nil || hasNoUndo(s) || s.Do.TakeHold != nil || s.Do.Release != nil || s.Do.MoveLeader != nil {
		failure = do(ctx)
	} else {
		failure = r.runInterruptible(ctx, do)
	}
	return begun, failure
}

func (r *Run) mayRunStep(ctx context.Context, hp engine.HostPlan, s engine.Step, passed sequenceState) *engine.Failure {
	if ctx.Err() == nil && (passed.written || s.Do.Release != nil) {
		return nil
	}
	return asFailure(r.mayGoOn(ctx), hp.Host, s.Name)
}

func (r *Run) giveUpFallbacks(ctx context.Context, last engine.Plan) (failed []*engine.Failure) {
	for _, f := range r.state.pendingFallbacks(last) {
		r.state.noteBegun(f.hp.Host, false)
		failed = append(failed, r.giveUpHost(ctx, f.hp, f.passed, f.failure))
	}
	return failed
}

// isFallbackFailure reports whether a reboot replaces a failed action. The host
// has a record of the failure, so the next plan contains the reboot, within
// budgets and quorum.
func isFallbackFailure(s engine.Step, failure *engine.Failure) bool {
	return failure != nil && failure.Kind == engine.ActionFailure && s.Do.Exec != nil && s.Do.Exec.Fallback
}

// sequenceState is the progress of a host's sequence.
type sequenceState struct {
	held    bool          // this run holds the host, or may hold it
	changed bool          // the host is changed, or may be changed
	written bool          // a step without an undo has changed the host, or may have
	back    bool          // the host runs the desired OS, and its units were checked
	undo    []engine.Step // undo steps of the steps that have begun
}

// noteStep notes the effect of a step that began. A step whose answer is lost
// may have had its full effect.
func (q *sequenceState) noteStep(s engine.Step, failure *engine.Failure) {
	if didNothing(failure) {
		return
	}
	q.held = q.held || s.Do.TakeHold != nil
	q.back = q.back || s.Do.AwaitUnits != nil // this step comes after any boot
	if !s.ChangesHost {
		return
	}
	q.changed = true
	q.written = q.written || hasNoUndo(s)
	if s.Do.Command != nil && s.Do.Command.Undo != "" {
		q.undo = append(q.undo, s)
	}
}

func hasNoUndo(s engine.Step) bool {
	return s.ChangesHost && (s.Do.Exec != nil || s.Do.Defragment != nil || s.Do.Command != nil && s.Do.Command.Undo == "")
}

func didNothing(f *engine.Failure) bool {
	return f != nil && (f.Kind == engine.HeldFailure || f.Kind == engine.ChangedFailure || f.Kind == engine.FullFailure || f.Kind == engine.CannotFailure)
}

// mayRetreat reports whether the host can be released unchanged. A host of a
// dead run cannot, because its earlier state is unknown.
func (q sequenceState) mayRetreat(hp engine.HostPlan, failure *engine.Failure) bool {
	stopped := (failure.Kind == engine.StoppedFailure || failure.Kind == engine.JournalFailure) && !q.written
	return hp.Adopt == "" && (!q.changed || stopped)
}

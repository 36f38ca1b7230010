package rollout

import (
	"context"
	"fmt"

	"holdfast/engine"
)

// runSequence runs a host's sequence. Until the host is disturbed, a stop or a
// failure gives the hold back and leaves the host as it was; a host that a
// script has changed is seen through, and a failure leaves it held with the
// reason.
func (r *Run) runSequence(ctx context.Context, p *runState, hp engine.HostPlan, number int) *engine.Failure {
	var passed sequenceState
	p.noteBegun(hp.Host, hp.Adopt != "" && hp.Adopt != r.ID)
	for _, s := range hp.Sequence {
		failure := r.mayRunStep(ctx, hp, s, passed)
		if failure == nil {
			var begun bool
			begun, failure = r.runSequenceStep(ctx, hp, s, passed, number)
			if begun {
				passed.noteStep(s, failure)
			}
		}
		if isFallbackFailure(s, failure) && p.noteFallback(hp, passed, failure) {
			r.emitWarning(fmt.Sprintf("%s: %s: %s; it is drained and rebooted instead", hp.Host, failure.Step, failure.Cause))
			return nil
		}
		if failure != nil && passed.mayRollBack(ctx, hp, s, failure) {
			return r.rollBackHost(ctx, p, hp, passed, failure)
		}
		if failure != nil {
			return r.giveUpHost(ctx, p, hp, passed, failure)
		}
	}
	if last := hp.Sequence[len(hp.Sequence)-1].Do.Release; last != nil && !last.Updated {
		failure := engine.Failure{Host: hp.Host, Step: "take over", Cause: "run " + hp.Adopt + " has rolled it back to the OS it ran before"}
		r.noteEvent(engine.Event{Type: engine.HostFailed, Host: hp.Host, Pool: hp.Pool, Batch: number, Failure: &failure, Message: "it is not held; it remembers which OS failed"})
		return nil
	}
	p.noteDone(hp.Host, r.Clock.Now())
	r.noteEvent(engine.Event{Type: engine.HostDone, Host: hp.Host, Pool: hp.Pool, Batch: number})
	return nil
}

// runSequenceStep runs one step. As long as there is a way back, the operator may cut
// short what only waits, or runs on the bastion.
func (r *Run) runSequenceStep(ctx context.Context, hp engine.HostPlan, s engine.Step, passed sequenceState, number int) (begun bool, failure *engine.Failure) {
	do := func(ctx context.Context) *engine.Failure {
		begun, failure = r.runStepInBatch(ctx, hp, s, number)
		return failure
	}
	if passed.written || s.Do.Exec != nil || hasNoUndo(s) || s.Do.TakeHold != nil || s.Do.Release != nil || s.Do.MoveLeader != nil {
		failure = do(ctx)
	} else {
		failure = r.runInterruptible(ctx, do)
	}
	return begun, failure
}

// mayRunStep asks, as long as there is a way back, whether the operator wants to stop.
func (r *Run) mayRunStep(ctx context.Context, hp engine.HostPlan, s engine.Step, passed sequenceState) *engine.Failure {
	if ctx.Err() == nil && (passed.written || s.Do.Release != nil) {
		return nil
	}
	return asFailure(r.mayGoOn(ctx), hp.Host, s.Name)
}

// giveUpFallbacks gives up the hosts that a reboot was to help, where the run, or a play,
// ends before it came to that. It gives the failures.
func (r *Run) giveUpFallbacks(ctx context.Context, p *runState, last engine.Plan) (failed []*engine.Failure) {
	for _, f := range p.pendingFallbacks(last) {
		p.noteBegun(f.hp.Host, false)
		failed = append(failed, r.giveUpHost(ctx, p, f.hp, f.passed, f.failure))
	}
	return failed
}

// isFallbackFailure reports whether a reboot stands in for what failed. The host is as
// it was left, and has it on record: the next plan finds out, and puts the
// reboot where budgets and quorum allow it.
func isFallbackFailure(s engine.Step, failure *engine.Failure) bool {
	return failure != nil && failure.Kind == KindAction && s.Do.Exec != nil && s.Do.Exec.Fallback
}

// sequenceState is how far a host's sequence has come.
type sequenceState struct {
	held    bool          // the host is, or may be, held by this run
	changed bool          // it is, or may be, no longer as it was
	written bool          // it was, or may have been, changed or ordered to reboot in a way that nothing takes back
	back    bool          // it runs the OS that it is to run, and was looked at whether all else runs
	undo    []engine.Step // what a retreat takes back
}

// noteStep keeps what a step that began did to the host. If its answer was lost
// it may have done all of it.
func (q *sequenceState) noteStep(s engine.Step, failure *engine.Failure) {
	if didNothing(failure) {
		return
	}
	q.held = q.held || s.Do.TakeHold != nil
	q.back = q.back || s.Do.AwaitUnits != nil // which comes after any boot
	if !s.ChangesHost {
		return
	}
	q.changed = true
	q.written = q.written || hasNoUndo(s)
	if s.Do.Command != nil && s.Do.Command.Undo != "" {
		q.undo = append(q.undo, s)
	}
}

// hasNoUndo reports whether a step disturbs the host and has no undo.
func hasNoUndo(s engine.Step) bool {
	return s.ChangesHost && (s.Do.Exec != nil || s.Do.Defragment != nil || s.Do.Command != nil && s.Do.Command.Undo == "")
}

// didNothing reports whether a script said that it did nothing.
func didNothing(f *engine.Failure) bool {
	return f != nil && (f.Kind == KindHeld || f.Kind == KindChanged || f.Kind == KindFull || f.Kind == KindCannot)
}

// mayRetreat reports whether the host can be given back as it was. One that a
// dead run left behind cannot: nobody knows how it was before.
func (q sequenceState) mayRetreat(hp engine.HostPlan, failure *engine.Failure) bool {
	stopped := (failure.Kind == KindStopped || failure.Kind == KindJournal) && !q.written
	return hp.Adopt == "" && (!q.changed || stopped)
}

package rollout

import (
	"context"
	"fmt"

	"holdfast/engine"
)

// roll runs a host's sequence. Until the host is disturbed, a stop or a
// failure gives the hold back and leaves the host as it was; a host that a
// script has changed is seen through, and a failure leaves it held with the
// reason.
func (r *Run) roll(ctx context.Context, p *progress, hp engine.HostPlan, number int) *engine.Failure {
	var passed sequence
	p.takenUp(hp.Host, hp.Adopt != "" && hp.Adopt != r.ID)
	for _, s := range hp.Sequence {
		failure := r.mayStep(ctx, hp, s, passed)
		if failure == nil {
			var begun bool
			begun, failure = r.rollStep(ctx, hp, s, passed, number)
			if begun {
				passed.note(s, failure)
			}
		}
		if fallsBack(s, failure) && p.fallBack(hp, passed, failure) {
			r.warn(fmt.Sprintf("%s: %s: %s; it is drained and rebooted instead", hp.Host, failure.Step, failure.Cause))
			return nil
		}
		if failure != nil && passed.mayRollBack(ctx, hp, s, failure) {
			return r.rollBack(ctx, p, hp, passed, failure)
		}
		if failure != nil {
			return r.giveUp(ctx, p, hp, passed, failure)
		}
	}
	if last := hp.Sequence[len(hp.Sequence)-1].Do.Release; last != nil && !last.Updated {
		failure := engine.Failure{Host: hp.Host, Step: "take over", Cause: "run " + hp.Adopt + " has rolled it back to the OS it ran before"}
		r.note(engine.Event{Type: engine.HostFailed, Host: hp.Host, Pool: hp.Pool, Batch: number, Failure: &failure, Message: "it is not held; it remembers which OS failed"})
		return nil
	}
	p.finished(hp.Host, r.Clock.Now())
	r.note(engine.Event{Type: engine.HostDone, Host: hp.Host, Pool: hp.Pool, Batch: number})
	return nil
}

// rollStep runs one step. As long as there is a way back, the operator may cut
// short what only waits, or runs on the bastion.
func (r *Run) rollStep(ctx context.Context, hp engine.HostPlan, s engine.Step, passed sequence, number int) (begun bool, failure *engine.Failure) {
	do := func(ctx context.Context) *engine.Failure {
		begun, failure = r.stepIn(ctx, hp, s, number)
		return failure
	}
	if passed.written || s.Do.Exec != nil || oneWay(s) || s.Do.TakeHold != nil || s.Do.Release != nil || s.Do.MoveLeader != nil {
		failure = do(ctx)
	} else {
		failure = r.softly(ctx, do)
	}
	return begun, failure
}

// mayStep asks, as long as there is a way back, whether the operator wants to stop.
func (r *Run) mayStep(ctx context.Context, hp engine.HostPlan, s engine.Step, passed sequence) *engine.Failure {
	if ctx.Err() == nil && (passed.written || s.Do.Release != nil) {
		return nil
	}
	return asFailure(r.mayGoOn(ctx), hp.Host, s.Name)
}

// strand gives up the hosts that a reboot was to help, where the run, or a play,
// ends before it came to that. It gives the failures.
func (r *Run) strand(ctx context.Context, p *progress, last engine.Plan) (failed []*engine.Failure) {
	for _, f := range p.stranded(last) {
		p.takenUp(f.hp.Host, false)
		failed = append(failed, r.giveUp(ctx, p, f.hp, f.passed, f.failure))
	}
	return failed
}

// fallsBack reports whether a reboot stands in for what failed. The host is as
// it was left, and has it on record: the next plan finds out, and puts the
// reboot where budgets and quorum allow it.
func fallsBack(s engine.Step, failure *engine.Failure) bool {
	return failure != nil && failure.Kind == KindAction && s.Do.Exec != nil && s.Do.Exec.Fallback
}

// sequence is how far a host's sequence has come.
type sequence struct {
	held      bool          // the host is, or may be, held by this run
	disturbed bool          // it is, or may be, no longer as it was
	written   bool          // it was, or may have been, changed or ordered to reboot in a way that nothing takes back
	back      bool          // it runs the OS that it is to run, and was looked at whether all else runs
	undo      []engine.Step // what a retreat takes back
}

// note keeps what a step that began did to the host. If its answer was lost
// it may have done all of it.
func (q *sequence) note(s engine.Step, failure *engine.Failure) {
	if refused(failure) {
		return
	}
	q.held = q.held || s.Do.TakeHold != nil
	q.back = q.back || s.Do.AwaitUnits != nil // which comes after any boot
	if !s.ChangesHost {
		return
	}
	q.disturbed = true
	q.written = q.written || oneWay(s)
	if s.Do.Command != nil && s.Do.Command.Undo != "" {
		q.undo = append(q.undo, s)
	}
}

// oneWay reports whether a step disturbs the host and has no undo.
func oneWay(s engine.Step) bool {
	return s.ChangesHost && (s.Do.Exec != nil || s.Do.Defragment != nil || s.Do.Command != nil && s.Do.Command.Undo == "")
}

// refused reports whether a script said that it did nothing.
func refused(f *engine.Failure) bool {
	return f != nil && (f.Kind == KindHeld || f.Kind == KindChanged || f.Kind == KindFull || f.Kind == KindCannot)
}

// mayRetreat reports whether the host can be given back as it was. One that a
// dead run left behind cannot: nobody knows how it was before.
func (q sequence) mayRetreat(hp engine.HostPlan, failure *engine.Failure) bool {
	stopped := (failure.Kind == KindStopped || failure.Kind == KindJournal) && !q.written
	return hp.Adopt == "" && (!q.disturbed || stopped)
}

package rollout

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/textutil"
)

// hostRun is the part of a run on one host: its staging, or its sequence.
type hostRun struct {
	*stepRunner
	state  *runState
	hp     engine.HostPlan
	passed sequenceState
}

func (l *playLoop) newHostRun(hp engine.HostPlan) *hostRun {
	return &hostRun{stepRunner: l.steps, state: l.state, hp: hp}
}

// runSequence runs a host's sequence. Until the host is changed, a stop or a
// failure releases the hold and leaves the host unchanged. After a script has
// changed the host, a stop does not end the sequence, and a failure leaves the
// host held, with the reason.
func (h *hostRun) runSequence(ctx context.Context) *engine.Failure {
	if err := h.state.mayRestartFirst(h.hp); err != nil {
		return h.giveUpHost(ctx, asFailure(err, h.hp.Host, "restart survivors"))
	}
	h.state.noteBegun(h.hp.Host, h.hp.Adopt != "" && h.hp.Adopt != h.ID)
	for _, s := range h.hp.Sequence {
		failure := h.mayRunStep(ctx, s)
		if failure == nil {
			var begun bool
			begun, failure = h.runSequenceStep(ctx, s)
			if begun {
				h.passed.noteStep(s, failure)
			}
		}
		if isFallbackFailure(s, failure) && h.state.noteFallback(h.hp, h.passed, failure) {
			h.emitWarning(fmt.Sprintf("%s: %s: %s; it is drained and rebooted instead", h.hp.Host, failure.Step, failure.Cause))
			return nil
		}
		if failure != nil && h.passed.mayRollBack(ctx, h.hp, s, failure) {
			return h.rollBackHost(ctx, failure)
		}
		if failure != nil {
			return h.giveUpHost(ctx, failure)
		}
	}
	if h.hp.RestartsFirst { // the rest of its work follows
		return nil
	}
	if last := h.hp.Sequence[len(h.hp.Sequence)-1].Do.Release; last != nil && !last.Updated {
		failure := engine.Failure{Host: h.hp.Host, Step: "adopt", Cause: "run " + h.hp.Adopt + " has rolled it back to the OS it ran before"}
		h.noteEvent(event.Event{Type: event.HostFailed, Host: h.hp.Host, Pool: h.hp.Pool, Batch: h.state.batches, Failure: &failure, Message: "it is not held; it remembers which OS failed"})
		return nil
	}
	h.state.noteDone(h.hp, h.Clock.Now())
	h.noteEvent(event.Event{Type: event.HostDone, Host: h.hp.Host, Pool: h.hp.Pool, Batch: h.state.batches})
	return nil
}

// runSequenceStep runs one step. While all steps so far can be undone, the
// operator may interrupt a step that only waits or runs on the bastion.
func (h *hostRun) runSequenceStep(ctx context.Context, s engine.Step) (begun bool, failure *engine.Failure) {
	do := func(ctx context.Context) *engine.Failure {
		begun, failure = h.runStepInBatch(ctx, h.hp, s, h.state.batches)
		return failure
	}
	if h.passed.written || s.Do.Exec != nil || hasNoUndo(s) || s.Do.TakeHold != nil || s.Do.Release != nil || s.Do.MoveLeader != nil {
		failure = do(ctx)
	} else {
		failure = h.runInterruptible(ctx, do)
	}
	return begun, failure
}

func (h *hostRun) mayRunStep(ctx context.Context, s engine.Step) *engine.Failure {
	if ctx.Err() == nil && (h.passed.written || s.Do.Release != nil) {
		return nil
	}
	return asFailure(h.mayGoOn(ctx), h.hp.Host, s.Name)
}

func (l *playLoop) giveUpFallbacks(ctx context.Context, last engine.Plan) (failed []*engine.Failure) {
	for _, f := range l.state.pendingFallbacks(last) {
		l.state.noteBegun(f.hp.Host, false)
		h := l.newHostRun(f.hp)
		h.passed = f.passed
		failed = append(failed, h.giveUpHost(ctx, f.failure))
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
	undo    []engine.Step // steps that have begun and have an undo
	lasting []string      // commands without an undo that have begun, by the names of their steps

	unproved *sequenceState // progress before a change on probation; nil: none is on probation
}

// noteStep notes the effect of a step that began. A step whose answer is lost
// may have had its full effect.
func (q *sequenceState) noteStep(s engine.Step, failure *engine.Failure) {
	if s.Do.ProveLogin != nil && q.unproved != nil {
		if didNothing(failure) { // the change on probation was undone
			q.changed, q.written = q.unproved.changed, q.unproved.written
		}
		q.unproved = nil
	}
	if didNothing(failure) {
		return
	}
	if s.Do.Exec != nil && s.Do.Exec.Probation {
		before := *q
		q.unproved = &before
	}
	q.held = q.held || s.Do.TakeHold != nil
	q.back = q.back || s.Do.AwaitUnits != nil // this step comes after any boot
	if !s.ChangesHost {
		return
	}
	q.changed = true
	isUndone := func(begun engine.Step) bool { return reflect.DeepEqual(begun.Undo.Do, s.Do) }
	if s.Do.Command != nil && s.Undo == nil && !slices.ContainsFunc(q.undo, isUndone) {
		q.lasting = append(q.lasting, s.Name)
	}
	if failure == nil {
		q.undo = slices.DeleteFunc(slices.Clone(q.undo), isUndone)
	}
	q.written = q.written || hasNoUndo(s)
	if s.Undo != nil {
		q.undo = append(q.undo, s)
	}
}

// describeDrained says that a host without the hold of this run is still drained. No later run knows of
// that drain, and this run must not undo it, because somebody else may have the host.
func (q sequenceState) describeDrained() string {
	var drained []string
	for _, s := range q.undo {
		drained = append(drained, "; "+s.Name+" was done or begun, and was not undone; when the host may work again, run: "+textutil.FirstLine(s.UndoText()))
	}
	for _, name := range q.lasting {
		drained = append(drained, "; "+name+" was done or begun, and has no undo")
	}
	return strings.Join(drained, "")
}

func hasNoUndo(s engine.Step) bool {
	stops := s.Do.RestartSurvivors != nil && s.Do.RestartSurvivors.Stop
	return s.ChangesHost && s.Undo == nil && (stops || s.Do.Exec != nil || s.Do.Defragment != nil || s.Do.Command != nil)
}

func didNothing(f *engine.Failure) bool {
	return f != nil && (f.Kind == engine.HeldFailure || f.Kind == engine.ChangedFailure || f.Kind == engine.FullFailure || f.Kind == engine.CannotFailure)
}

// mayRetreat reports whether the host can be released unchanged. A host of a
// dead run cannot, because its earlier state is unknown.
func (q sequenceState) mayRetreat(hp engine.HostPlan, failure *engine.Failure) bool {
	canUndo := !q.written && slices.Contains([]engine.FailureKind{engine.StoppedFailure, engine.JournalFailure, engine.DrainFailure, engine.KubernetesFailure}, failure.Kind)
	return hp.Adopt == "" && (!q.changed || canUndo)
}

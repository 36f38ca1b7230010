package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/hold"
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
		failure, begun := h.mayRunStep(ctx, s), false
		if failure == nil {
			begun, failure = h.runSequenceStep(ctx, s)
			if begun {
				h.passed.noteStep(s, failure)
			}
		}
		if isFallbackFailure(s, failure) && h.state.noteFallback(h.hp, h.passed, failure) {
			h.emitWarning(fmt.Sprintf("%s: %s: %s; it is drained and rebooted instead", h.hp.Host, failure.Step, failure.Cause))
			return nil
		}
		if failure != nil && begun && h.passed.mayRollBack(ctx, h.hp, s, failure) {
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
		h.noteEvent(event.Event{
			Type: event.HostFailed, Host: h.hp.Host, Pool: h.hp.Pool, Batch: h.state.batches, Failure: &failure, Outcome: event.RolledBackEarlierOutcome, Message: "it is not held; it remembers which OS failed",
		})
		return nil
	}
	h.state.noteDone(h.hp, h.Clock.Now())
	found := h.listRegained()
	h.state.noteFound(found)
	h.noteEvent(event.Event{Type: event.HostDone, Host: h.hp.Host, Pool: h.hp.Pool, Batch: h.state.batches, Regained: found})
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

// isFallbackFailure reports whether a reboot replaces a failed action. The host
// has a record of the failure, so the next plan contains the reboot, within
// budgets and quorum.
func isFallbackFailure(s engine.Step, failure *engine.Failure) bool {
	return failure != nil && failure.Kind == engine.ActionFailure && s.Do.Exec != nil && s.Do.Exec.Fallback
}

// giveUpHost ends a host's sequence early. If all steps can be undone, it
// undoes them and releases the host. Otherwise the host stays held, with the
// reason in its hold.
func (h *hostRun) giveUpHost(ctx context.Context, cause *engine.Failure) *engine.Failure {
	failure := *cause
	var message string
	var outcome event.HostOutcome
	switch {
	case ctx.Err() != nil:
		failure.Kind = engine.StoppedFailure // the interrupted step may have returned another kind
		message = "stopped at once; its hold stays"
		if !h.passed.held && h.hp.Adopt == "" {
			message = "stopped at once; it is not held"
		}
	case !h.passed.held && h.hp.Adopt == h.ID:
		outcome, message = h.keepHeld(ctx, &failure)
	case !h.passed.held && h.hp.Adopt != "":
		message = "it was left as it is, as run " + h.hp.Adopt + " left it"
	case !h.passed.held && h.passed.changed:
		message = "it was changed without being disturbed, and is not held; the next run goes on with it"
	case !h.passed.held && failure.Kind == engine.HeldFailure: // somebody else holds the host
		message = "it was not disturbed, and this run does not hold it"
	case !h.passed.held:
		message = "it was not disturbed and is not held"
	case h.passed.mayRetreat(h.hp, &failure):
		outcome, message = h.undoAndRelease(ctx, &failure)
	default:
		outcome, message = h.keepHeld(ctx, &failure)
	}
	h.failHost(&failure, outcome, message)
	return &failure
}

func (h *hostRun) failHost(failure *engine.Failure, outcome event.HostOutcome, message string) {
	if failure.Kind != engine.StoppedFailure && failure.Kind != engine.HeldFailure {
		h.state.noteFailure(h.hp.Host, failure)
	}
	h.noteEvent(event.Event{Type: event.HostFailed, Host: h.hp.Host, Pool: h.hp.Pool, Failure: failure, Outcome: outcome, Message: message})
}

// undoAndRelease undoes the steps on a host that is not rebooting, and releases
// the host. It does so even if the journal fails, because it only ends work
// that the journal has. If an undo fails, the host stays held, and the failure tells both.
func (h *hostRun) undoAndRelease(ctx context.Context, failure *engine.Failure) (event.HostOutcome, string) {
	for _, s := range h.passed.undo {
		if f := h.runUndoStep(ctx, h.hp, *s.Undo); f != nil {
			failure.Cause += "; and " + f.Step + ": " + f.Cause
			return h.keepHeld(ctx, failure)
		}
	}
	release := engine.Step{Name: "release", On: h.hp.Host, Do: engine.Op{Release: &engine.Release{}}, Timeout: engine.Duration(time.Minute + hold.LockTime)}
	switch f := h.runUndoStep(ctx, h.hp, release); {
	case f != nil && f.Kind == engine.HeldFailure:
		return event.HoldLostOutcome, "its hold could not be released: " + f.Cause
	case f != nil:
		return "", "its hold could not be released: " + f.Cause
	}
	return event.GivenBackOutcome, "it was given back as it was, and is not held"
}

// keepHeld writes the reason into the hold, and returns HoldLostOutcome if the run does not hold the host any more.
func (h *hostRun) keepHeld(ctx context.Context, failure *engine.Failure) (event.HostOutcome, string) {
	told := engine.Failure{Cause: h.redactForHold(failure.Cause), Step: h.redactForHold(failure.Step), NotBooted: failure.NotBooted}
	err := h.keepHolds().Fail(ctx, h.hp.Host, told)
	var f *engine.Failure
	switch {
	case errors.As(err, &f) && f.Kind == engine.HeldFailure:
		return event.HoldLostOutcome, "its hold is gone or somebody else's, and was left as it is" + h.passed.describeDrained()
	case err != nil:
		return "", "it stays held; the reason could not be written into its hold: " + hold.DescribeError(err)
	}
	return "", "it stays held, with the reason in its hold; the next run takes it up before hosts that are not held"
}

// redactForHold returns a text for a hold, which all users of the host can
// read. The text has no secrets, is printable, and is short, because a hold
// that is too long cannot be parsed.
func (p *Ports) redactForHold(text string) string {
	const most = 1024
	return textutil.CutText(textutil.Printable(p.Secrets.Hide(text)), most)
}

// rollBackHost boots the previous OS, once for each failed OS, because the host
// records the failed ones. If the rollback fails as well, the host stays held. It
// drains the host first, unless the drain of this sequence still lasts: then it
// needs nobody to answer that the host is drained. A dead run may have died in the
// middle of its drain, so the host is drained again after it.
func (h *hostRun) rollBackHost(ctx context.Context, cause *engine.Failure) *engine.Failure {
	h.emitWarning(h.hp.Host + ": " + cause.Step + ": " + textutil.FirstLine(cause.Cause) + "; it is rolled back to the OS it ran before")
	said := "it could not be rolled back: "
	order := slices.IndexFunc(h.hp.Rollback, func(s engine.Step) bool { return s.Reboots })
	for i, s := range h.hp.Rollback {
		if i < order && h.passed.isDrainedBy(s) {
			continue
		}
		begun, f := h.runStepInBatch(ctx, h.hp, s, 0)
		if begun {
			h.passed.noteStep(s, f)
		}
		if f != nil {
			failure := *cause
			failure.Cause += "; and " + said + f.Step + ": " + f.Cause
			return h.giveUpHost(ctx, &failure)
		}
		if s.Do.AwaitBoot != nil {
			said = "it is not well with the OS it ran before, to which it was rolled back: "
		}
	}
	h.failHost(cause, event.RolledBackOutcome, "it was rolled back to the OS it ran before, and is not held; it remembers that this OS failed")
	return cause
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

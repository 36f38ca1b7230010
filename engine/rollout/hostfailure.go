package rollout

import (
	"context"
	"errors"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/hold"
	"holdfast/engine/textutil"
)

// giveUpHost ends a host's sequence early. If all steps can be undone, it
// undoes them and releases the host. Otherwise the host stays held, with the
// reason in its hold.
func (h *hostRun) giveUpHost(ctx context.Context, cause *engine.Failure) *engine.Failure {
	failure := *cause
	message := ""
	switch {
	case ctx.Err() != nil:
		failure.Kind = engine.StoppedFailure // the interrupted step may have returned another kind
		message = "stopped at once; its hold stays"
		if !h.passed.held && h.hp.Adopt == "" {
			message = "stopped at once; it is not held"
		}
	case !h.passed.held && h.hp.Adopt == h.ID:
		message = h.keepHeld(ctx, &failure)
	case !h.passed.held && h.hp.Adopt != "":
		message = "it was left as it is, as run " + h.hp.Adopt + " left it"
	case !h.passed.held && h.passed.changed:
		message = "it was changed without being disturbed, and is not held; the next run goes on with it"
	case !h.passed.held && failure.Kind == engine.HeldFailure: // somebody else holds the host
		message = "it was not disturbed, and this run does not hold it"
	case !h.passed.held:
		message = "it was not disturbed and is not held"
	case h.passed.mayRetreat(h.hp, &failure):
		message = h.undoAndRelease(ctx, &failure)
	default:
		message = h.keepHeld(ctx, &failure)
	}
	h.failHost(&failure, message)
	return &failure
}

func (h *hostRun) failHost(failure *engine.Failure, message string) {
	h.failHostAs(failure, "", message)
}

func (h *hostRun) failHostAs(failure *engine.Failure, fate event.HostOutcome, message string) {
	if failure.Kind != engine.StoppedFailure && failure.Kind != engine.HeldFailure {
		h.state.noteFailure(h.hp.Host, failure)
	}
	h.noteEvent(event.Event{Type: event.HostFailed, Host: h.hp.Host, Pool: h.hp.Pool, Failure: failure, Outcome: fate, Message: message})
}

// undoAndRelease undoes the steps on a host that is not rebooting, and releases
// the host. It does so even if the journal fails, because it only ends work
// that the journal has. If an undo fails, the host stays held, and the failure tells both.
func (h *hostRun) undoAndRelease(ctx context.Context, failure *engine.Failure) string {
	for _, s := range h.passed.undo {
		if f := h.runUndoStep(ctx, h.hp, *s.Undo); f != nil {
			failure.Cause += "; and " + f.Step + ": " + f.Cause
			return h.keepHeld(ctx, failure)
		}
	}
	release := engine.Step{Name: "release", On: h.hp.Host, Do: engine.Op{Release: &engine.Release{}}, Timeout: engine.Duration(time.Minute)}
	if f := h.runUndoStep(ctx, h.hp, release); f != nil {
		return "its hold could not be released: " + f.Cause
	}
	return "it was given back as it was, and is not held"
}

func (h *hostRun) keepHeld(ctx context.Context, failure *engine.Failure) string {
	told := engine.Failure{Cause: h.redactForHold(failure.Cause), Step: h.redactForHold(failure.Step), NotBooted: failure.NotBooted}
	err := h.keepHolds().Fail(ctx, h.hp.Host, told)
	var f *engine.Failure
	switch {
	case errors.As(err, &f) && f.Kind == engine.HeldFailure:
		return "its hold is gone or somebody else's, and was left as it is" + h.passed.describeDrained()
	case err != nil:
		return "it stays held; the reason could not be written into its hold: " + hold.DescribeError(err)
	}
	return "it stays held, with the reason in its hold; the next run takes it up first"
}

// redactForHold returns a text for a hold, which all users of the host can
// read. The text has no secrets, is printable, and is short, because a hold
// that is too long cannot be parsed.
func (p *Ports) redactForHold(text string) string {
	const most = 1024
	return textutil.CutText(textutil.Printable(p.Secrets.Hide(text)), most)
}

// mayRollBack reports whether a host boots its previous OS because a step
// failed: its pool has rollback on failure, and the step tests the OS. Other
// steps, such as the release, may fail with a good OS. A probe whose connection
// is lost may, too.
func (q sequenceState) mayRollBack(ctx context.Context, hp engine.HostPlan, s engine.Step, failure *engine.Failure) bool {
	switch failure.Kind {
	case engine.HeldFailure, engine.StoppedFailure, engine.JournalFailure, engine.UnreachableFailure:
		return false
	case "", engine.ActionFailure, engine.CannotFailure, engine.ChangedFailure, engine.FullFailure, engine.LatencyFailure, engine.RefusedFailure, engine.UnsafeFailure, engine.DrainFailure, engine.KubernetesFailure:
	}
	judges := s.Do.AwaitUnits != nil || s.Do.AwaitEtcd != nil || s.Do.Gate != nil || s.Do.Exec != nil // an Exec here is a task
	return q.back && judges && len(hp.Rollback) > 0 && ctx.Err() == nil
}

// rollBackHost boots the previous OS, once for each failed OS, because the host
// records the failed ones. If the rollback fails as well, the host stays held.
func (h *hostRun) rollBackHost(ctx context.Context, cause *engine.Failure) *engine.Failure {
	h.emitWarning(h.hp.Host + ": " + cause.Step + ": " + textutil.FirstLine(cause.Cause) + "; it is rolled back to the OS it ran before")
	said := "it could not be rolled back: "
	for _, s := range h.hp.Rollback {
		if f := h.runStep(ctx, h.hp, s); f != nil {
			failure := *cause
			failure.Cause += "; and " + said + f.Step + ": " + f.Cause
			return h.giveUpHost(ctx, &failure)
		}
		if s.Do.AwaitBoot != nil {
			said = "it is not well with the OS it ran before, to which it was rolled back: "
		}
	}
	h.failHostAs(cause, event.RolledBackOutcome, "it was rolled back to the OS it ran before, and is not held; it remembers that this OS failed")
	return cause
}

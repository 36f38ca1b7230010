package rollout

import (
	"context"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/hostscript"
	"holdfast/engine/textutil"
)

// giveUpHost ends a host's sequence early. If all steps can be undone, it
// undoes them and releases the host. Otherwise the host stays held, with the
// reason in its hold.
func (r *Run) giveUpHost(ctx context.Context, hp engine.HostPlan, passed sequenceState, cause *engine.Failure) *engine.Failure {
	failure := *cause
	message := ""
	switch {
	case ctx.Err() != nil:
		failure.Kind = engine.StoppedFailure // the interrupted step may have returned another kind
		message = "stopped at once; its hold stays"
		if !passed.held && hp.Adopt == "" {
			message = "stopped at once; it is not held"
		}
	case !passed.held && hp.Adopt == r.ID:
		message = r.keepHeld(ctx, hp, &failure)
	case !passed.held && hp.Adopt != "":
		message = "it was left as it is, held by run " + hp.Adopt
	case !passed.held && passed.changed:
		message = "it was changed without being disturbed, and is not held; the next run goes on with it"
	case !passed.held && failure.Kind == engine.HeldFailure: // somebody else holds the host
		message = "it was not disturbed, and this run does not hold it"
	case !passed.held:
		message = "it was not disturbed and is not held"
	case passed.mayRetreat(hp, &failure):
		message = r.undoAndRelease(ctx, hp, passed)
	default:
		message = r.keepHeld(ctx, hp, &failure)
	}
	r.failHost(hp, &failure, message)
	return &failure
}

func (r *Run) failHost(hp engine.HostPlan, failure *engine.Failure, message string) {
	r.failHostAs(hp, failure, "", message)
}

func (r *Run) failHostAs(hp engine.HostPlan, failure *engine.Failure, fate event.HostOutcome, message string) {
	if failure.Kind != engine.StoppedFailure && failure.Kind != engine.HeldFailure {
		r.state.noteFailure(hp.Host, failure)
	}
	r.noteEvent(event.Event{Type: event.HostFailed, Host: hp.Host, Pool: hp.Pool, Failure: failure, HostOutcome: fate, Message: message})
}

// undoAndRelease undoes the steps on a host that is not rebooting, and releases
// the host. It does so even if the journal fails, because it only ends work
// that the journal has.
func (r *Run) undoAndRelease(ctx context.Context, hp engine.HostPlan, passed sequenceState) string {
	for _, s := range passed.undo {
		undo := s
		undo.Name, undo.Do = "undo "+s.Name, engine.Op{Command: &engine.Local{Command: s.Do.Command.Undo}}
		if f := r.runUndoStep(ctx, hp, undo); f != nil {
			return r.keepHeld(ctx, hp, f)
		}
	}
	release := engine.Step{Name: "release", On: hp.Host, Do: engine.Op{Release: &engine.Release{}}, Timeout: engine.Duration(time.Minute)}
	if f := r.runUndoStep(ctx, hp, release); f != nil {
		return "its hold could not be released: " + f.Cause
	}
	return "it was given back as it was, and is not held"
}

func (r *Run) keepHeld(ctx context.Context, hp engine.HostPlan, failure *engine.Failure) string {
	script := hostscript.FailHoldScript(r.holdOwner(), r.redactForHold(failure.Cause), r.redactForHold(failure.Step))
	reply, err := r.runIdempotent(ctx, hp.Host, Script{Purpose: FailHoldScript, Text: script, Timeout: time.Minute})
	switch {
	case err != nil:
		return "it stays held; the reason could not be written into its hold: " + err.Error()
	case reply.Code == hostscript.ScriptHeld:
		return "its hold is gone or somebody else's, and was left as it is"
	case reply.Code != 0:
		return "it stays held; the reason could not be written into its hold: " + textutil.KeepTail(reply.Stderr, 200)
	}
	return "it stays held, with the reason in its hold; the next run takes it up first"
}

// redactForHold returns a text for a hold, which all users of the host can
// read. The text has no secrets, is printable, and is short, because a hold
// that is too long cannot be parsed.
func (r *Run) redactForHold(text string) string {
	const most = 1024
	if r.Hide != nil {
		text = r.Hide(text)
	}
	if text = textutil.Printable(text); len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// mayRollBack reports whether a host boots its previous OS because a step
// failed: its pool has rollback on failure, and the step tests the OS. Other
// steps, such as the release, may fail with a good OS. A probe whose connection
// is lost may, too.
func (q sequenceState) mayRollBack(ctx context.Context, hp engine.HostPlan, s engine.Step, failure *engine.Failure) bool {
	switch failure.Kind {
	case engine.HeldFailure, engine.StoppedFailure, engine.JournalFailure, engine.UnreachableFailure:
		return false
	case "", engine.ActionFailure, engine.CannotFailure, engine.ChangedFailure, engine.FullFailure, engine.LatencyFailure, engine.RefusedFailure, engine.UnsafeFailure:
	}
	judges := s.Do.AwaitUnits != nil || s.Do.AwaitEtcd != nil || s.Do.Gate != nil || s.Do.Exec != nil // an Exec here is a task
	return q.back && judges && len(hp.Rollback) > 0 && ctx.Err() == nil
}

// rollBackHost boots the previous OS, once for each failed OS, because the host
// records the failed ones. If the rollback fails as well, the host stays held.
func (r *Run) rollBackHost(ctx context.Context, hp engine.HostPlan, passed sequenceState, cause *engine.Failure) *engine.Failure {
	r.emitWarning(hp.Host + ": " + cause.Step + ": " + textutil.FirstLine(cause.Cause) + "; it is rolled back to the OS it ran before")
	said := "it could not be rolled back: "
	for _, s := range hp.Rollback {
		if f := r.runStep(ctx, hp, s); f != nil {
			failure := *cause
			failure.Cause += "; and " + said + f.Step + ": " + f.Cause
			return r.giveUpHost(ctx, hp, passed, &failure)
		}
		if s.Do.AwaitBoot != nil {
			said = "it is not well with the OS it ran before, to which it was rolled back: "
		}
	}
	r.failHostAs(hp, cause, event.RolledBackOutcome, "it was rolled back to the OS it ran before, and is not held; it remembers that this OS failed")
	return cause
}

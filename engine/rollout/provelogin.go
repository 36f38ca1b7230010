package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/textutil"
)

// loginTimeout bounds the new login. It leaves time for the undo.
const loginTimeout = time.Minute

// proveLogin ends the probation of a change by a new login. If the login fails, it
// undoes the change. It tries again while the host does not answer: sshd does not listen
// for a moment when it reads its configuration, and drops connections when it has many.
func (r *stepRunner) proveLogin(ctx context.Context, hp engine.HostPlan, s engine.Step) error {
	h, ok := r.Inventory.Host(hp.Host)
	if !ok {
		return fmt.Errorf("no host %q in the inventory", hp.Host)
	}
	limited, cancel := context.WithTimeoutCause(ctx, loginTimeout, fmt.Errorf("not done within %s", engine.Duration(loginTimeout)))
	defer cancel()
	for {
		reply, err := r.Hosts.Login(limited, h, Script{Text: s.Do.ProveLogin.Confirm.String(), Op: s.Do})
		switch {
		case err == nil && reply.Code == 0:
			return nil
		case err == nil:
			return r.undoUnproved(ctx, hp, s, textutil.FirstLine(reply.Stderr))
		case !isConnectionFailure(err) || r.Clock.Sleep(limited, r.pollInterval()) != nil:
			return r.undoUnproved(ctx, hp, s, err.Error())
		}
	}
}

// isConnectionFailure reports whether the host may not have seen a login. A refused
// login is tried only once, because hosts lock out addresses that fail again and again.
func isConnectionFailure(err error) bool {
	own := new(engine.Failure)
	return errors.As(err, &own) && own.Kind == engine.UnreachableFailure
}

// undoUnproved asks the host to undo a change on probation. The answer to the
// confirmation may have been lost, so the host may also report that it has kept the
// change.
func (r *stepRunner) undoUnproved(ctx context.Context, hp engine.HostPlan, s engine.Step, cause string) error {
	f := &engine.Failure{LoginLost: true, Hint: "correct the documents, or add the new way in beside the old one first"}
	reply, err := r.runScript(ctx, hp.Host, Script{Purpose: UndoScript, Text: s.Do.ProveLogin.Undo.String(), Op: s.Do})
	switch {
	case err == nil && reply.Code == 0:
		return nil
	case err == nil && reply.Code == hostscript.ScriptCannot:
		f.Kind, f.Cause = engine.CannotFailure, "a new login failed, so the change was undone: "+cause
	case err == nil:
		f.Cause = "a new login failed (" + cause + "), and the change could not be undone: " + textutil.FirstLine(reply.Stderr)
	default:
		f.Kind, f.Cause = engine.UnreachableFailure, "a new login failed, and the host undoes the change by itself within minutes: "+cause
		if own := new(engine.Failure); errors.As(context.Cause(ctx), &own) {
			return own
		}
	}
	return f
}

package rollout

import (
	"context"
	"errors"
	"strings"

	"holdfast/engine"
)

// The kinds of failure that exit codes tell apart.
const (
	KindUnreachable = engine.UnreachableFailure
	KindHeld        = engine.HeldFailure
	KindRefused     = engine.RefusedFailure
	KindChanged     = engine.ChangedFailure
	KindFull        = engine.FullFailure
	KindUnsafe      = engine.UnsafeFailure
	KindJournal     = engine.JournalFailure
	KindStopped     = engine.StoppedFailure
	KindCannot      = engine.CannotFailure
	KindAction      = engine.ActionFailure
)

// errStopped is the cause of everything that the operator's first Ctrl-C ends.
var errStopped = errors.New("stopped by the operator")

// asFailure adds host and step to the error of a step.
func asFailure(err error, host, step string) *engine.Failure {
	if err == nil {
		return nil
	}
	var f *engine.Failure
	if !errors.As(err, &f) {
		f = &engine.Failure{Cause: err.Error()}
		if errors.Is(err, context.Canceled) {
			f.Kind = KindStopped
		}
	}
	whole := *f
	if whole.Host == "" {
		whole.Host = host
	}
	if whole.Step == "" {
		whole.Step = step
	}
	// Scripts begin their message with the name of the step.
	whole.Cause = contextErrors.Replace(strings.TrimPrefix(whole.Cause, whole.Step+": "))
	return &whole
}

// contextErrors replaces the texts of package context.
var contextErrors = strings.NewReplacer(context.Canceled.Error(), errStopped.Error(), context.DeadlineExceeded.Error(), "no answer in time")

func scriptFailure(reply Reply, cause string) *engine.Failure {
	return &engine.Failure{Stderr: keepTail(reply.Stderr, 4096), Cause: cause}
}

func keepTail(s string, most int) string {
	s = strings.TrimSpace(s)
	if len(s) > most {
		s = "…" + s[len(s)-most:]
	}
	return s
}

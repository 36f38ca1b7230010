package rollout

import (
	"context"
	"errors"
	"strings"

	"holdfast/engine"
)

// The kinds of failure that exit codes tell apart.
const (
	KindUnreachable = "unreachable"
	KindHeld        = "held"
	KindRefused     = "refused" // the plan is not the one that was approved
	KindChanged     = "changed" // a host is not as planned
	KindFull        = "full"    // too little free space; nothing was done
	KindUnsafe      = "unsafe"
	KindJournal     = "journal"
	KindStopped     = "stopped"
	KindCannot      = "cannot" // a host does not let itself be changed so; it is as it was
	KindAction      = "action" // an action failed, and the host has that on record
)

// errStopped is why the operator's first Ctrl-C ends something.
var errStopped = errors.New("stopped by the operator")

// asFailure completes an error of a step with where it happened.
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
	// Scripts say themselves which step they are.
	whole.Cause = inWords.Replace(strings.TrimPrefix(whole.Cause, whole.Step+": "))
	return &whole
}

// inWords says in words what the context package has to say.
var inWords = strings.NewReplacer(context.Canceled.Error(), errStopped.Error(), context.DeadlineExceeded.Error(), "no answer in time")

// scriptFailure is a script that exited with another status than 0.
func scriptFailure(reply Reply, cause string) *engine.Failure {
	return &engine.Failure{Stderr: tail(reply.Stderr, 4096), Cause: cause}
}

// tail is the end of s, which is where programs say what went wrong.
func tail(s string, most int) string {
	s = strings.TrimSpace(s)
	if len(s) > most {
		s = "…" + s[len(s)-most:]
	}
	return s
}

func exitOf(f *engine.Failure) engine.ExitCode {
	switch f.Kind {
	case KindHeld:
		return engine.ExitRefused
	case KindStopped:
		return engine.ExitStopped
	}
	return engine.ExitFailed
}

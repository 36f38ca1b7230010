package report

import (
	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/textutil"
	"holdfast/engine/wire"
)

// Redactor replaces sensitive values in every event before it passes the event on.
type Redactor struct {
	Secrets textutil.Secrets
	To      Sink
}

// Hidden replaces a sensitive value.
const Hidden = textutil.Hidden

// Emit passes an event on without the sensitive values.
func (r Redactor) Emit(e event.Event) error {
	return r.To.Emit(HideSecrets(e, r.Secrets))
}

// RedactPlan returns a plan without the sensitive values. The error is always nil.
func RedactPlan(p engine.Plan, sensitive []string) (engine.Plan, error) {
	if len(sensitive) == 0 {
		return p, nil
	}
	return HideSensitive(p, sensitive), nil
}

// HideSensitive returns v with the sensitive values replaced in every text. It
// keeps the words of the program, such as the kind of an event, because no
// program can read the event without them. A value that equals such a word is
// still not revealed.
func HideSensitive[T any](v T, sensitive []string) T {
	if len(sensitive) == 0 {
		return v
	}
	return HideSecrets(v, textutil.NewSecrets(sensitive))
}

// HideSecrets is HideSensitive for several values: the forms of the secrets are computed once.
func HideSecrets[T any](v T, secrets textutil.Secrets) T {
	if !secrets.Any() {
		return v
	}
	return wire.RewriteTexts(v, false, secrets.Hide)
}

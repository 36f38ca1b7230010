package report

import (
	"io"

	"holdfast/engine/event"
	"holdfast/engine/textutil"
	"holdfast/engine/wire"
)

// Sink receives events.
type Sink interface {
	Emit(event.Event) error
}

// RunSink sends each event of a run, without its sensitive values, to the journal
// and then to the view. The first error of the journal stops the run. It also ends
// the journal, so that the journal has no gap. The view still shows how the run
// ends and which hosts it releases.
type RunSink struct {
	Secrets       textutil.Secrets
	Journal, View Sink

	broken error
	end    *event.Event
}

// Emit passes the event to the journal and the view. A step whose start is not
// in the journal does not begin.
func (s *RunSink) Emit(e event.Event) error {
	e = HideSecrets(e, s.Secrets)
	if s.broken == nil {
		if s.broken = s.Journal.Emit(e); s.broken != nil && e.Type == event.StepStarted {
			return s.broken // the step must not begin
		}
	}
	if e.Type == event.RunEnded {
		s.end = &e
	}
	_ = s.View.Emit(e) // a lost terminal must not stop the run
	return s.broken
}

// End returns the last event of the run, without sensitive values. It returns nil if
// the run has not ended.
func (s *RunSink) End() *event.Event { return s.end }

// JSONLines writes events as JSON, one per line.
type JSONLines struct{ W io.Writer }

// Emit writes an event.
func (j JSONLines) Emit(e event.Event) error {
	line, err := wire.MarshalEvent(e)
	if err != nil {
		return err
	}
	_, err = j.W.Write(line)
	return err
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

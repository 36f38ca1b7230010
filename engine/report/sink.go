package report

import "holdfast/engine/event"

// Sink receives events.
type Sink interface {
	Emit(event.Event) error
}

// Journaled sends each event to the journal and then to the view. The first
// error of the journal stops the run. It also ends the journal, so that the
// journal has no gap. The view still shows how the run ends and which hosts it
// releases. Errors of the view are ignored, because a lost terminal must not
// stop a run.
type Journaled struct {
	Journal, View Sink

	broken error
}

// Emit passes the event to the journal and the view. A step whose start is not
// in the journal does not begin.
func (j *Journaled) Emit(e event.Event) error {
	if j.broken == nil {
		if j.broken = j.Journal.Emit(e); j.broken != nil && e.Type == event.StepStarted {
			return j.broken // the step must not begin
		}
	}
	_ = j.View.Emit(e) // a lost terminal must not stop the run
	return j.broken
}

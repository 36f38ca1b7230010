package report

import "holdfast/engine"

// Sink takes events.
type Sink interface {
	Emit(engine.Event) error
}

// Journaled gives each event to the journal and then to who watches. The
// journal is what counts: its first error stops the run, and it is written to no
// more, so that it has no gap. Who watches sees all the same how the run ends
// then, and which hosts it gives back; that a terminal has gone away stops nothing.
type Journaled struct {
	Journal, View Sink

	broken error
}

// Emit gives the event to both.
func (j *Journaled) Emit(e engine.Event) error {
	if j.broken == nil {
		if j.broken = j.Journal.Emit(e); j.broken != nil && e.Type == engine.StepStarted {
			return j.broken // so it does not begin
		}
	}
	_ = j.View.Emit(e) // see above
	return j.broken
}

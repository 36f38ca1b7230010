package report

import (
	"errors"

	"holdfast/engine"
)

// Sink takes events.
type Sink interface {
	Emit(engine.Event) error
}

// Multi gives each event to every sink in turn. The first sink is the one
// whose errors count: the journal. If it fails, the others do not see the
// event; that one of the others fails must not stop a run.
type Multi []Sink

// Emit gives the event to every sink.
func (m Multi) Emit(e engine.Event) error {
	if len(m) == 0 {
		return errors.New("no journal")
	}
	if err := m[0].Emit(e); err != nil {
		return err
	}
	for _, s := range m[1:] {
		_ = s.Emit(e) // a terminal that has gone away is no reason to stop
	}
	return nil
}

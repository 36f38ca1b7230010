package report

import (
	"io"

	"holdfast/engine/event"
	"holdfast/engine/wire"
)

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

// WriteJSONLine writes v as one line of JSON, for output that is repeated.
func WriteJSONLine(w io.Writer, v any) error { return wire.WriteJSONLine(w, v) }

// WriteJSON writes v as indented JSON, for --json. A list is never null.
func WriteJSON(w io.Writer, v any) error { return wire.WriteJSON(w, v) }

package report

import (
	"time"

	"holdfast/engine"
)

// LiveStatus renders the live status after these events, for a terminal of that size.
func LiveStatus(events []engine.Event, width, height int, now time.Time) string {
	b := newLiveStatus(Style{})
	for _, e := range events {
		b.addEvent(e)
	}
	return b.renderStatus(terminalSize{width, height}, now)
}

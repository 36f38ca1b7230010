package report

import (
	"time"

	"holdfast/engine"
)

// Board is what the live view shows of events on a terminal of that size.
func Board(events []engine.Event, width, height int, now time.Time) string {
	b := newBoard(Style{})
	for _, e := range events {
		b.add(e)
	}
	return b.render(size{width, height}, now)
}

package bench

import (
	"cmp"
	"io"
	"time"

	"holdfast/engine/event"
)

// readEvents reads the events of a run until its end. It returns the cause of the last failure, if there is one.
func (m *moments) readEvents(from io.Reader) (cause string, err error) {
	err = event.ReadLines(from, func(e event.Event) {
		switch {
		case e.Failure != nil:
			cause = e.Failure.Cause
		case e.Type == event.StageStarted && m.staged.IsZero():
			m.began, m.updateBegan = e.Time, true
		case e.Type == event.StageEnded && m.staged.IsZero():
			m.staged = e.Time
		case e.Type == event.StagingGoverned && e.Governor != nil:
			m.stopped = cmp.Or(e.Governor.StopReason, m.stopped)
			m.slowed, m.paused = time.Duration(e.Governor.SlowedFor), time.Duration(e.Governor.PausedFor) // 0 in events before the end of the staging
		}
	})
	return cause, err
}

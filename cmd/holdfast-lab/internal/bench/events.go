package bench

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"holdfast/engine/event"
)

func (m *moments) readEvents(from io.Reader) (cause string, err error) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return cause, nil
		}
		if err != nil {
			return cause, err
		}
		var e event.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return cause, fmt.Errorf("read event: %w", err)
		}
		switch {
		case e.Failure != nil:
			cause = e.Failure.Cause
		case e.Type == event.StageStarted && m.staged.IsZero():
			m.began, m.updateBegan = e.Time, true
		case e.Type == event.StageEnded && m.staged.IsZero():
			m.staged = e.Time
		case e.Type == event.StagingGoverned && e.Governor != nil:
			m.stopped = cmp.Or(e.Governor.StopReason, m.stopped)
			m.slowed, m.paused = time.Duration(e.Governor.Slowed), time.Duration(e.Governor.Paused) // 0 in events before the end of the staging
		}
	}
}

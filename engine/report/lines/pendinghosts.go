package lines

import (
	"slices"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/summary"
	"holdfast/engine/report/termtext"
)

// pendingHosts folds the lines of hosts in a large batch that change without
// disruption into one line. These hosts need no hold.
type pendingHosts struct {
	rest map[string]bool // hosts of a large batch that have not ended and have not begun to take a hold
	done []string        // hosts that match, and have no line yet
}

// addEvent reports whether the line of the event is folded. It returns the line for all folded hosts that match when no
// host is left, or the batch or the run has ended, and "" before.
func (c *pendingHosts) addEvent(e event.Event) (folded bool, done string) {
	switch {
	case e.Type == event.BatchStarted:
		c.rest = map[string]bool{}
		if len(e.Hosts) > summary.MaxHostRows {
			for _, h := range e.Hosts {
				c.rest[h] = true
			}
		}
	case e.Type == event.StepStarted && e.Kind == engine.HoldStep, e.Type == event.HostFailed:
		delete(c.rest, e.Host)
	case e.Type == event.HostDone && c.rest[e.Host]:
		delete(c.rest, e.Host)
		c.done = append(c.done, e.Host)
	}
	folded = c.foldsLine(e)
	if len(c.done) == 0 || len(c.rest) > 0 && e.Type != event.BatchEnded && e.Type != event.RunEnded {
		return folded, ""
	}
	slices.Sort(c.done)
	done, c.done = termtext.FoldHosts(c.done)+" done, without disruption", nil
	return folded, done
}

func (c *pendingHosts) foldsLine(e event.Event) bool {
	switch e.Type {
	case event.HostDone:
		return slices.Contains(c.done, e.Host)
	case event.StepStarted, event.StepProgress, event.StepEnded:
		return c.rest[e.Host]
	default:
		return false
	}
}

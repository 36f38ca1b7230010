package lines

import (
	"slices"

	"holdfast/engine"
	"holdfast/engine/report/summary"
	"holdfast/engine/report/termtext"
)

// pendingHosts folds the lines of hosts in a large batch that change without
// disruption into one line. These hosts need no hold.
type pendingHosts struct {
	rest map[string]bool // hosts of a large batch that have not ended and have not begun to take a hold
	done []string        // hosts that match, and have no line yet
}

func (c *pendingHosts) addEvent(e engine.Event) {
	switch {
	case e.Type == engine.BatchStarted:
		c.rest = map[string]bool{}
		if len(e.Hosts) > summary.MaxHostRows {
			for _, h := range e.Hosts {
				c.rest[h] = true
			}
		}
	case e.Type == engine.StepStarted && e.Kind == engine.HoldStep, e.Type == engine.HostFailed:
		delete(c.rest, e.Host)
	case e.Type == engine.HostDone && c.rest[e.Host]:
		delete(c.rest, e.Host)
		c.done = append(c.done, e.Host)
	}
}

func (c *pendingHosts) foldsLine(e engine.Event) bool {
	switch e.Type {
	case engine.HostDone:
		return slices.Contains(c.done, e.Host)
	case engine.StepStarted, engine.StepProgress, engine.StepEnded:
		return c.rest[e.Host]
	default:
		return false
	}
}

// doneLine returns the line for all of these hosts. It returns the line when no
// host is left, or the batch or the run has ended, and "" before.
func (c *pendingHosts) doneLine(e engine.Event) string {
	over := len(c.rest) == 0 || e.Type == engine.BatchEnded || e.Type == engine.RunEnded
	if len(c.done) == 0 || !over {
		return ""
	}
	done := c.done
	c.done = nil
	slices.Sort(done)
	return termtext.FoldHosts(done) + " done, without disruption"
}

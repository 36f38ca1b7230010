package report

import (
	"slices"

	"holdfast/engine"
)

// pendingHosts folds what would be said of each host of a large batch that is changed
// without disruption into one line. Such a host takes no hold.
type pendingHosts struct {
	rest map[string]bool // hosts of a large batch that have neither ended nor begun to take a hold
	done []string        // of them, those that match
}

// addEvent takes the next event.
func (c *pendingHosts) addEvent(e engine.Event) {
	switch {
	case e.Type == engine.BatchStarted:
		c.rest = map[string]bool{}
		if len(e.Hosts) > maxHostRows {
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

// foldsLine reports whether the line of an event is left to the crowd's.
func (c *pendingHosts) foldsLine(e engine.Event) bool {
	switch e.Type {
	case engine.HostDone:
		return slices.Contains(c.done, e.Host)
	case engine.StepStarted, engine.StepProgress, engine.StepEnded:
		return c.rest[e.Host]
	}
	return false
}

// doneLine is what is said of all of them, when there are no more, or the batch or
// run is over.
func (c *pendingHosts) doneLine(e engine.Event) string {
	over := len(c.rest) == 0 || e.Type == engine.BatchEnded || e.Type == engine.RunEnded
	if len(c.done) == 0 || !over {
		return ""
	}
	done := c.done
	c.done = nil
	slices.Sort(done)
	return foldHosts(done) + " done, without disruption"
}

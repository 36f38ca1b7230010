package summary

import (
	"maps"
	"slices"
)

// HoldsLeft returns the hosts that stay held if the run stopped after its last event, by this run or by the dead run whose
// hold it was to adopt. It also returns the hosts that may be held, because the run was about to hold them.
func (s *Summary) HoldsLeft() (held, unknown []string) {
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		switch h := s.hosts[name]; {
		case !h.held.IsZero() || h.adopts:
			held = append(held, name)
		case h.takesHold:
			unknown = append(unknown, name)
		}
	}
	return held, unknown
}

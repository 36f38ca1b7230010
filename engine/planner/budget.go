package planner

import "math"

// seatCount counts the hosts that a budget allows to be unavailable.
type seatCount struct {
	limit       int // number of hosts that may be unavailable
	unavailable int // number of hosts that are unavailable
	adopted     int // number of hosts with the hold of a dead run
	inBatch     int // number of hosts that the batch being picked disrupts
}

// siteBudget is the budget that all pools share. A limit of 0 means any number
// of hosts.
type siteBudget struct{ seatCount }

func (w *poolState) freeSeats(adopted bool) int {
	return min(w.freePoolSeats(adopted), w.site.freeSeats(adopted))
}

func (w *poolState) freePoolSeats(adopted bool) int {
	return seatCount{w.limit, len(w.unavailable), w.adoptedHosts, w.inBatch}.remainingSeats(adopted)
}

func (s *siteBudget) freeSeats(adopted bool) int {
	if s.limit == 0 {
		return math.MaxInt
	}
	return s.remainingSeats(adopted)
}

// remainingSeats returns how many more hosts a budget allows. A host with the
// hold of a dead run already counts as unavailable. One such host is always
// allowed; otherwise no run could recover it.
func (c seatCount) remainingSeats(adopted bool) int {
	if adopted {
		return max(1, c.limit-c.unavailable) - c.inBatch
	}
	return c.limit - c.unavailable - c.adopted - c.inBatch
}

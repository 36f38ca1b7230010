package planner

import "math"

// seatCount counts the hosts that a budget allows to be unavailable.
type seatCount struct {
	limit       int // number of hosts that may be unavailable
	unavailable int // number of hosts that are unavailable
	held        int // of these, number of hosts that others hold
	away        int // number of hosts with work that are unavailable already
	inBatch     int // number of hosts that the batch being picked disrupts
}

// siteBudget is the budget that all pools share. A limit of 0 means any number
// of hosts.
type siteBudget struct{ seatCount }

func (w *poolState) freeSeats(away bool) int {
	return min(w.freePoolSeats(away), w.site.freeSeats(away))
}

func (w *poolState) freePoolSeats(away bool) int {
	return w.poolSeats().remainingSeats(away)
}

func (w *poolState) poolSeats() seatCount {
	return seatCount{limit: w.limit, unavailable: len(w.unavailable), held: w.heldHosts, away: w.awayHosts, inBatch: w.inBatch}
}

// freeSeatsWithoutHolds returns how many more hosts the budgets would allow if others held none.
func (w *poolState) freeSeatsWithoutHolds(away bool) int {
	site := siteBudget{w.site.withoutHolds()}
	return min(w.poolSeats().withoutHolds().remainingSeats(away), site.freeSeats(away))
}

func (c seatCount) withoutHolds() seatCount {
	c.unavailable, c.held = c.unavailable-c.held, 0
	return c
}

func (s *siteBudget) freeSeats(away bool) int {
	if s.limit == 0 {
		return math.MaxInt
	}
	return s.remainingSeats(away)
}

// remainingSeats returns how many more hosts a budget allows. A host that is away
// already counts as unavailable: it has the hold of a dead run, or its node takes no
// work. One such host is always allowed; otherwise no run could recover it.
func (c seatCount) remainingSeats(away bool) int {
	if away {
		return max(1, c.limit-c.unavailable) - c.inBatch
	}
	return c.limit - c.unavailable - c.away - c.inBatch
}

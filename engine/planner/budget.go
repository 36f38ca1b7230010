package planner

import (
	"math"

	"holdfast/engine/kubefacts"
)

// presence decides how the disruption of a host with work counts. A budget limits two counts: hosts that are unavailable, and hosts that do
// no work. A disruption is checked against each count that it raises.
type presence int

// The presences.
const (
	isPresent  presence = iota // the host is available
	isCordoned                 // it is unavailable, but still works: its node takes no new pods, and keeps those that it has
	isAway                     // it does no work: it has the hold of a dead run, or its node is not Ready
)

// presenceOf returns the presence of a host with work.
func (sc *scheduler) presenceOf(host string) presence {
	switch absence := sc.absent[host]; {
	case sc.adopted[host]:
		return isAway
	case absence == kubefacts.Present:
		return isPresent
	case absence.KeepsPods():
		return isCordoned
	}
	return isAway
}

// seatCount counts the hosts that a budget allows to be unavailable.
type seatCount struct {
	limit       int // number of hosts that may be unavailable
	unavailable int // number of hosts that are unavailable in every batch
	working     int // of these, number of hosts that still work
	held        int // of these, number of hosts that others hold
	away        int // number of hosts with work that are away, and not yet updated
	cordoned    int // number of hosts with work that are only cordoned, and not yet updated
	inBatch     int // number of hosts that the batch being picked disrupts
}

// siteBudget is the budget that all pools share. A limit of 0 means any number
// of hosts.
type siteBudget struct{ seatCount }

func (w *poolState) freeSeats(p presence) int {
	return min(w.seats.remainingSeats(p), w.site.freeSeats(p))
}

// freeSeatsWithoutHolds returns how many more hosts the budgets would allow if others held none.
func (w *poolState) freeSeatsWithoutHolds(p presence) int {
	site := siteBudget{w.site.withoutHolds()}
	return min(w.seats.withoutHolds().remainingSeats(p), site.freeSeats(p))
}

func (c seatCount) withoutHolds() seatCount {
	c.unavailable, c.held = c.unavailable-c.held, 0
	return c
}

func (s *siteBudget) freeSeats(p presence) int {
	if s.limit == 0 {
		return math.MaxInt
	}
	return s.remainingSeats(p)
}

// remainingSeats returns how many more hosts a budget allows. A host that is away costs no further seat. One such host is always allowed;
// otherwise no run could recover it. A host that is only cordoned needs a seat beside those that do no work: other cordoned hosts
// take none from it.
func (c seatCount) remainingSeats(p presence) int {
	switch p {
	case isAway:
		return max(1, c.limit-c.unavailable) - c.inBatch
	case isCordoned:
		return c.limit - c.countAway() - c.inBatch
	case isPresent:
	}
	return c.limit - c.countUnavailable() - c.inBatch
}

// countUnavailable returns how many hosts are unavailable outside of the batch.
func (c seatCount) countUnavailable() int { return c.unavailable + c.away + c.cordoned }

// countAway returns how many hosts outside of the batch do no work.
func (c seatCount) countAway() int { return c.unavailable - c.working + c.away }

// addWaiting counts a host with work n times: 1, or -1 once it is updated.
func (c *seatCount) addWaiting(p presence, n int) {
	switch p {
	case isAway:
		c.away += n
	case isCordoned:
		c.cordoned += n
	case isPresent:
	}
}

// addUnavailable counts a host that is unavailable in every batch.
func (c *seatCount) addUnavailable(works, held bool) {
	c.unavailable++
	if works {
		c.working++
	}
	if held {
		c.held++
	}
}

package planner

import (
	"slices"

	"holdfast/engine"
)

// standing is how a host stands to a run before its state is compared. The survey, the
// budgets and the status all ask judgeStanding, so that they never disagree about a hold.
type standing int

// The standings.
const (
	unreached         standing = iota
	unreadablyHeld             // a hold file that nobody understands
	heldByPerson               // for maintenance
	heldByRun                  // by another run, as far as this bastion knows
	heldByNamelessRun          // by a dead run, whose hold does not name its bastion
	heldByDeadRun              // by a dead run of this bastion
	heldByExpiredRun           // past the end of its hold
	heldByThisRun
	free
)

// judgeStanding returns the standing of a host to a run. dead are runs that ended
// without releasing their holds.
func judgeStanding(f engine.Facts, self engine.HoldOwner, dead []string) standing {
	switch {
	case !f.Reached():
		return unreached
	case f.HoldProblem != "":
		return unreadablyHeld
	case f.Hold == nil:
		return free
	case f.Hold.Kind != engine.RunHold:
		return heldByPerson
	}
	switch f.HoldRelation(self, dead) {
	case engine.OwnHold:
		return heldByThisRun
	case engine.AdoptHold:
		return heldByDeadRun
	case engine.ExpiredHold:
		return heldByExpiredRun
	}
	if f.Hold.Bastion == "" && slices.Contains(dead, f.Hold.Run) {
		return heldByNamelessRun
	}
	return heldByRun
}

func (in Input) standingOf(f engine.Facts) standing {
	return judgeStanding(f, in.planningRun(), in.Dead)
}

func (in Input) describeStanding(h engine.Host, f engine.Facts) string {
	switch in.standingOf(f) {
	case unreached:
		return f.Unreachable
	case unreadablyHeld:
		return f.HoldProblem
	case heldByNamelessRun:
		return f.Hold.String() + "; its run has ended, but the hold does not name its bastion (an earlier version wrote it): holdfast release --force " + h.Name + " ends it"
	case heldByDeadRun:
		return "its run has ended and left it; the next apply goes on from there: " + f.Hold.String()
	case heldByExpiredRun:
		return "its hold has expired, and the next apply adopts it: " + f.Hold.String()
	}
	if f.Expiry() == engine.HoldExpired { // of a person, which no run adopts
		return f.Hold.String() + "; it has expired, and still stands: holdfast release " + h.Name + " ends it"
	}
	return f.Hold.String() + f.DescribeClockSkew()
}

// isUnavailable reports whether the host counts in the budgets, whoever holds it.
func (s standing) isUnavailable() bool { return s != free }

func (s standing) mayAdopt() bool {
	return s == heldByThisRun || s == heldByDeadRun || s == heldByExpiredRun
}

// exclusion returns why a plan excludes the host without a comparison; "" if it does not.
func (s standing) exclusion() engine.ExclusionKind {
	switch {
	case s == unreached:
		return engine.Unreachable
	case s == free || s.mayAdopt():
		return ""
	}
	return engine.Held
}

// state returns the state that a status shows without a comparison; "" if it depends on
// one. failed means that a run noted in its hold that the host failed.
func (s standing) state(failed bool) engine.HostState {
	switch {
	case s == free:
		return ""
	case s == unreached:
		return engine.Unreached
	case s == unreadablyHeld || s == heldByPerson:
		return engine.HeldState
	case failed:
		return engine.Degraded
	}
	return engine.Updating
}

package planner

import (
	"holdfast/engine"
)

// standing is the relation of a host to a run, by its facts and before the
// comparison of its state. The survey, the budgets and the status all call
// judgeStanding, so they always agree about a hold.
type standing int

// The standings.
const (
	unreached        standing = iota
	unreadablyHeld            // the hold file cannot be read
	heldByPerson              // held for maintenance
	heldByRun                 // held by another run that is not known to be dead
	heldByDeadRun             // held by a dead run of this bastion
	heldByExpiredRun          // held by a run whose hold has expired
	heldByThisRun
	unproven // a person ended the hold of a run before a run saw the host whole again
	free
)

// judgeStanding returns the standing of a host for the run self. dead are runs
// that ended without releasing their holds.
func judgeStanding(f engine.Facts, self engine.HoldOwner, dead []string) standing {
	switch {
	case !f.Reached():
		return unreached
	case f.HoldProblem != "":
		return unreadablyHeld
	case f.Hold == nil && f.Unproven != nil:
		return unproven
	case f.Hold == nil:
		return free
	case f.Hold.Kind != engine.RunHold:
		return heldByPerson
	}
	switch f.ClassifyHolder(self, dead) {
	case engine.HeldByThisRun:
		return heldByThisRun
	case engine.HeldByDeadRun:
		return heldByDeadRun
	case engine.HeldByExpiredRun:
		return heldByExpiredRun
	case engine.HeldByNobody:
		return free
	case engine.HeldByOther:
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
	case heldByDeadRun:
		return "its run has ended and left it; the next apply goes on from there: " + f.Hold.String()
	case heldByExpiredRun:
		return "its hold has expired, and the next apply adopts it: " + f.Hold.String()
	case unproven:
		return describeUnproven(h.Name, *f.Unproven)
	case free, heldByPerson, heldByRun, heldByThisRun:
		if f.Expiry() == engine.HoldExpired { // no run adopts the hold of a person
			return f.Hold.String() + "; it has expired, and still stands: holdfast release " + h.Name + " ends it"
		}
	}
	return f.Hold.String() + f.DescribeClockSkew()
}

// describeUnproven says why a host without a hold is not known to be whole, and
// who may end that.
func describeUnproven(host string, ended engine.Hold) string {
	return "run " + ended.Run + " did not see it whole again, and its hold was ended by force; the next apply checks that its units are as before; holdfast release --accept-units " + host + " accepts them as they are"
}

func (s standing) isUnavailable() bool { return s != free }

// mayAdopt reports whether a run continues on the host in place of an earlier run.
func (s standing) mayAdopt() bool {
	return s == heldByThisRun || s == heldByDeadRun || s == heldByExpiredRun || s == unproven
}

// exclusion returns "" if the host is compared.
func (s standing) exclusion() engine.ExclusionKind {
	switch {
	case s == unreached:
		return engine.Unreachable
	case s == free || s.mayAdopt():
		return ""
	}
	return engine.Held
}

// state returns the state that a status shows without a comparison, or "" if
// the state depends on a comparison. failed means that a run recorded a failure
// of the host in its hold.
func (s standing) state(failed bool) engine.HostState {
	switch {
	case s == free:
		return ""
	case s == unreached:
		return engine.Unreached
	case s == unreadablyHeld || s == heldByPerson:
		return engine.HeldState
	case failed || s == unproven:
		return engine.Degraded
	}
	return engine.Updating
}

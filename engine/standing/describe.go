package standing

import "holdfast/engine"

// Describe tells people why the host is not free, and who may change that.
func (s Standing) Describe() string {
	held := s.describeKind()
	if s.hasForeignNode() && s.Kind != Unreached {
		if held = s.Node.Text + "; runs leave the host alone until that ends"; s.Kind != Free {
			held += "; " + s.describeKind()
		}
	}
	switch {
	case !s.isReserved():
		return held
	case s.Hold != nil || s.Kind == UnreadablyHeld || s.hasForeignNode():
		return s.DescribeFlag() + "; " + held
	}
	return s.DescribeFlag()
}

func (s Standing) describeKind() string {
	switch s.Kind {
	case Unreached, UnreadablyHeld:
		return s.Problem
	case HeldWhenLastSeen:
		absence := "cannot be reached (" + s.Problem + ")"
		if s.Silent {
			absence = "does not answer"
		}
		return s.Hold.String() + "; it " + absence + ", and was " + describeLastSeen(*s.LastHold)
	case HeldByDeadRun:
		return "its run has ended and left it; the next apply goes on from there: " + s.Hold.String()
	case HeldByExpiredRun:
		return "its hold has expired, and the next apply adopts it: " + s.Hold.String()
	case Unproven:
		return describeUnproven(s.Host, *s.Ended)
	case Free:
		return ""
	case HeldByPerson, HeldByRun, HeldByThisRun:
		rebooted := ""
		if s.Rebooted {
			rebooted = "; the host has rebooted since"
		}
		if s.Expired { // no run adopts the hold of a person
			return s.Hold.String() + rebooted + "; it has expired, and still stands: holdfast release " + s.Host + " ends it"
		}
		return s.Hold.String() + rebooted + s.ClockSkew
	}
	return s.Hold.String() + s.ClockSkew
}

// DescribeLastHold tells people about the hold of a host that is HeldWhenLastSeen, without the reason why it cannot be reached.
func (s Standing) DescribeLastHold() string {
	return s.Hold.String() + "; it was " + describeLastSeen(*s.LastHold)
}

func describeLastSeen(l engine.LastHold) string {
	s := "last seen " + l.Seen.UTC().Format("2006-01-02 15:04 MST")
	if l.Power != "" {
		s += "; its power is " + l.Power
	}
	return s
}

// describeUnproven says why a host without a hold is not known to be whole, and
// who may end that.
func describeUnproven(host string, ended engine.Hold) string {
	return "run " + ended.Run + " did not see it whole again, and its hold was ended by force; the next apply checks that its units are as before; holdfast release --accept-units " + host + " accepts them as they are"
}

// DescribeUnadopted tells people that the run of the View does not continue in place of an earlier run, although it may.
func (s Standing) DescribeUnadopted() string {
	if s.Kind == Unproven {
		return describeUnproven(s.Host, *s.Ended)
	}
	return "run " + s.Hold.Run + " left its hold there, and this run does not adopt it: " + s.Hold.String()
}

// DescribeFlag tells people who wants the host left alone. It returns "" without a flag.
func (s Standing) DescribeFlag() string {
	switch s.Flag {
	case PausedHost:
		return "the inventory pauses it"
	case PausedPool:
		return "the inventory pauses pool " + s.Pool
	case UnderMaintenance:
		return "maintenance in the inventory: " + s.Maintenance
	case Leaving:
		return "the inventory says that it is leaving"
	case NoFlag:
	}
	return ""
}

// DescribeAbsence continues a sentence that begins with the host: why it counts as unavailable. It returns "" for a free host.
func (s Standing) DescribeAbsence() string {
	switch s.Flag {
	case UnderMaintenance:
		return "is in maintenance (" + s.Maintenance + ")"
	case Leaving:
		return "is leaving"
	case NoFlag, PausedHost, PausedPool:
	}
	switch s.Kind {
	case Free:
		return s.NodeAbsence().Describe()
	case Unreached:
		return "cannot be reached (" + s.Problem + ")"
	case UnreadablyHeld:
		return "is held (" + s.Problem + ")"
	case Unproven:
		return "is not known to be whole (the hold of run " + s.Ended.Run + " was ended by force)"
	case HeldByPerson, HeldWhenLastSeen, HeldByRun, HeldByDeadRun, HeldByExpiredRun, HeldByThisRun:
	}
	return "is " + s.Hold.String()
}

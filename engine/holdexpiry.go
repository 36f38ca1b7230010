package engine

import "time"

// Expiry says whether a hold has expired.
type Expiry int

// The states of a hold with an end. While the clocks of the host and of the
// bastion disagree about the end, nobody treats the hold as expired.
const (
	HoldLasts Expiry = iota
	HoldExpired
	ClocksDisagree
)

// clockTolerance is how far the clocks of a host and of a bastion may differ
// before they disagree. The hold of a run outlasts the timeouts of its steps by
// more than this tolerance.
const clockTolerance = 2 * time.Minute

// MaxRunHold is longer than a run holds a host without writing the hold again. If the end of its hold is further ahead, it was
// counted from the clock of a bastion that is ahead.
const MaxRunHold = Duration(30 * 24 * time.Hour)

// Expiry compares the end of the hold with the host's clock and, if GatheredAt
// is known, with the bastion's.
func (f Facts) Expiry() Expiry {
	switch {
	case f.Hold == nil || !f.Hold.Expired(f.Clock):
		return HoldLasts
	case !f.GatheredAt.IsZero() && !f.Hold.Expired(f.GatheredAt.Add(clockTolerance)):
		return ClocksDisagree
	}
	return HoldExpired
}

// Expired reports whether the hold has expired at the time now. If its end is from a wrong clock, the hold of a run expires
// MaxRunHold after it was written, by the clock of the host.
func (h Hold) Expired(now time.Time) bool {
	if h.Kind == RunHold && !h.Renewed.IsZero() && h.Expires.After(now.Add(time.Duration(MaxRunHold))) {
		return now.After(h.Renewed.Add(time.Duration(MaxRunHold)))
	}
	return !h.Expires.IsZero() && now.After(h.Expires)
}

// AdvanceClocks returns the facts with both clocks moved on to now, a time of the bastion.
func (f Facts) AdvanceClocks(now time.Time) Facts {
	if !f.GatheredAt.IsZero() {
		f.Clock, f.GatheredAt = f.Clock.Add(now.Sub(f.GatheredAt)), now
	}
	return f
}

// DescribeClockSkew explains why a hold is not treated as expired although the
// host's clock is past its end. It returns "" in all other cases.
func (f Facts) DescribeClockSkew() string {
	if f.Expiry() != ClocksDisagree {
		return ""
	}
	ahead := Duration(f.Clock.Sub(f.GatheredAt).Round(time.Second)).Trimmed()
	return "; the host's clock is " + ahead + " ahead of this bastion's, so that it does not count as expired; set the clocks right"
}

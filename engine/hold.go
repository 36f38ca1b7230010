package engine

import (
	"fmt"
	"slices"
	"time"
)

// HoldPath is the lock file on a host. Its existence is the lock.
const HoldPath = StateDir + "/hold.json"

// StateDir is where holdfast keeps its state on a host.
const StateDir = "/var/lib/holdfast"

// HoldKind says who may end a hold.
type HoldKind string

// The kinds of hold: a run's ends with the run, a maintenance hold is ended by
// a person.
const (
	RunHold         HoldKind = "run"
	MaintenanceHold HoldKind = "maintenance"
)

// Hold is the lock file on a host: who disrupts it, why and until when. All
// times are the host's own clock.
type Hold struct {
	Kind       HoldKind  `json:"kind"`
	Holder     string    `json:"holder"`            // user@bastion
	Run        string    `json:"run,omitempty"`     // ID of the run that took it; for maintenance a random ID
	Bastion    string    `json:"bastion,omitempty"` // identity of the bastion that took it; "" in holds of earlier versions
	Reason     string    `json:"reason"`
	Ticket     string    `json:"ticket,omitempty"`
	Step       string    `json:"step,omitempty"` // step at which the run failed
	Acquired   time.Time `json:"acquired"`
	Renewed    time.Time `json:"renewed"`
	Expires    time.Time `json:"expires,omitzero"`     // zero: never
	Units      []string  `json:"units,omitempty"`      // of a run: services that ran before the disruption, and must run again before the release
	UnitsLeft  int       `json:"units_left,omitempty"` // number of services that did not fit into Units
	PreviousOS string    `json:"from,omitempty"`       // of a run that brings another OS: digest of the OS before
	Stopped    []string  `json:"stopped,omitempty"`    // reboot helpers that were stopped and are to be started again
}

// Expired reports whether the hold has run out at the host's time now.
func (h Hold) Expired(now time.Time) bool { return !h.Expires.IsZero() && now.After(h.Expires) }

// Held reports whether somebody holds the host. An unreadable hold counts as a hold.
func (f Facts) Held() bool { return f.Hold != nil || f.HoldProblem != "" }

// HoldRenewed returns when the host's hold was last renewed; zero if there is none.
func (f Facts) HoldRenewed() time.Time {
	if f.Hold == nil {
		return time.Time{}
	}
	return f.Hold.Renewed
}

// String returns for people who holds the host, since when, why, and until when.
func (h Hold) String() string {
	s := fmt.Sprintf("held by %s since %s for %q", h.Holder, h.Acquired.UTC().Format("2006-01-02 15:04 MST"), h.Reason)
	if h.Step != "" {
		s += ", as it failed at " + h.Step
	}
	if h.Ticket != "" {
		s += " (" + h.Ticket + ")"
	}
	if h.Expires.IsZero() {
		return s
	}
	return s + ", until " + h.Expires.UTC().Format("2006-01-02 15:04 MST")
}

// HoldRelation is the relation of a run to the hold of a host.
type HoldRelation int

// The relations: no hold, the run's own hold, a hold of a dead run or an expired hold,
// which the run adopts, and a hold of somebody else, which it respects.
const (
	NotHeld HoldRelation = iota
	OwnHold
	AdoptHold
	ExpiredHold
	ForeignHold
)

// HoldOwner is who may act under a hold: one run of one bastion. A run without an ID
// owns nothing.
type HoldOwner struct {
	Run     string // ID
	Bastion string // identity of its bastion
}

// Owner returns the run that has taken the hold.
func (h Hold) Owner() HoldOwner { return HoldOwner{Run: h.Run, Bastion: h.Bastion} }

// HoldRelation returns the relation of a run to the hold in facts. dead are runs that
// ended without releasing their holds, by the journals of this bastion. Journals can be
// copied to another bastion, so an adopted hold must also name this bastion.
func (f Facts) HoldRelation(self HoldOwner, dead []string) HoldRelation {
	if f.HoldProblem != "" {
		return ForeignHold
	}
	h := f.Hold
	switch {
	case h == nil:
		return NotHeld
	case h.Kind != RunHold || h.Run == "":
		return ForeignHold
	case h.Owner() == self:
		return OwnHold
	case f.leftByDeadRun(self.Bastion, dead):
		return AdoptHold
	case f.Expiry() == HoldExpired:
		return ExpiredHold
	}
	return ForeignHold
}

func (f Facts) leftByDeadRun(bastion string, dead []string) bool {
	return bastion != "" && f.Hold.Bastion == bastion && slices.Contains(dead, f.Hold.Run)
}

// Expiry says whether a hold has expired.
type Expiry int

// The states of a hold with an end. The clocks of the host and of the bastion may
// disagree about it; then nobody takes the hold for expired.
const (
	HoldLasts Expiry = iota
	HoldExpired
	ClocksDisagree
)

// clockTolerance is how far the clocks of a host and of a bastion may be apart
// before they disagree. A run's hold lasts longer than its steps may take by more.
const clockTolerance = 2 * time.Minute

// Expiry compares the end of the hold with the host's clock, which wrote it, and with
// the bastion's clock when the facts were gathered, if that is known.
func (f Facts) Expiry() Expiry {
	switch {
	case f.Hold == nil || !f.Hold.Expired(f.Clock):
		return HoldLasts
	case !f.GatheredAt.IsZero() && !f.Hold.Expired(f.GatheredAt.Add(clockTolerance)):
		return ClocksDisagree
	}
	return HoldExpired
}

// DescribeClockSkew explains why a hold does not count as expired although the host's
// clock is past its end; "" in all other cases.
func (f Facts) DescribeClockSkew() string {
	if f.Expiry() != ClocksDisagree {
		return ""
	}
	ahead := Duration(f.Clock.Sub(f.GatheredAt).Round(time.Second)).Trimmed()
	return "; the host's clock is " + ahead + " ahead of this bastion's, so that it does not count as expired; set the clocks right"
}

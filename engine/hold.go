package engine

import (
	"fmt"
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
	Kind     HoldKind  `json:"kind"`
	Holder   string    `json:"holder"`        // user@bastion
	Run      string    `json:"run,omitempty"` // ID of the run that took it; for maintenance a random ID
	Reason   string    `json:"reason"`
	Ticket   string    `json:"ticket,omitempty"`
	Step     string    `json:"step,omitempty"` // of a run that failed: the step it failed at
	Acquired time.Time `json:"acquired"`
	Renewed  time.Time `json:"renewed"`
	Expires  time.Time `json:"expires,omitzero"`  // zero: never
	Units    []string  `json:"units,omitempty"`   // of a run: services that ran before, and have to run again before it is released
	From     string    `json:"from,omitempty"`    // of a run: digest of the OS that the host ran before, if the run brings it another
	Stopped  []string  `json:"stopped,omitempty"` // reboot helpers that were stopped and are to be started again
}

// Expired reports whether the hold has run out at the host's time now.
func (h Hold) Expired(now time.Time) bool { return !h.Expires.IsZero() && now.After(h.Expires) }

// Held reports whether anybody holds the host, or may, as what is there cannot be
// read.
func (f Facts) Held() bool { return f.Hold != nil || f.HoldProblem != "" }

// renewed is when the host's hold was renewed last; zero if there is none.
func (f Facts) renewed() time.Time {
	if f.Hold == nil {
		return time.Time{}
	}
	return f.Hold.Renewed
}

// String tells a person who holds the host, since when, why, and until when.
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

// HoldStance is what a run may do about a hold it finds.
type HoldStance int

// The stances: there is none, it is ours, it was left by a run that is dead
// and is adopted, it is a run's that has expired and is taken over, or it is
// somebody else's and is respected.
const (
	NotHeld HoldStance = iota
	OwnHold
	AdoptHold
	ExpiredHold
	ForeignHold
)

// Stance judges the hold in facts for the run of that ID. dead are runs of
// this bastion that are known to have ended without releasing what they held.
func (f Facts) Stance(run string, dead []string) HoldStance {
	if f.HoldProblem != "" {
		return ForeignHold
	}
	h := f.Hold
	switch {
	case h == nil:
		return NotHeld
	case h.Kind != RunHold || h.Run == "":
		return ForeignHold
	case h.Run == run:
		return OwnHold
	}
	for _, id := range dead {
		if h.Run == id {
			return AdoptHold
		}
	}
	if h.Expired(f.Clock) {
		return ExpiredHold
	}
	return ForeignHold
}

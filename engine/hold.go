package engine

import (
	"fmt"
	"slices"
	"time"

	"holdfast/engine/resource"
)

// HoldPath is the lock file on a host. Its existence is the lock.
const HoldPath = StateDir + "/hold.json"

// HoldSchema is the version of a hold's JSON. It only increases. Bastions may run
// different versions of holdfast: each refuses a hold of another schema, as a hold
// of somebody else.
const HoldSchema = 1

// StateDir is where holdfast keeps its state on a host.
const StateDir = "/var/lib/holdfast"

// HoldKind decides who may end a hold.
type HoldKind string

// The kinds of hold. The hold of a run ends with the run. A person ends a
// maintenance hold.
const (
	RunHold         HoldKind = "run"
	MaintenanceHold HoldKind = "maintenance"
)

// Hold is the lock file on a host: who disrupts it, why and until when. All
// times are times of the host's own clock, except an end that the clock of the
// bastion sets because it is ahead.
type Hold struct {
	Schema       int             `json:"schema"`
	Kind         HoldKind        `json:"kind"`
	Holder       string          `json:"holder"`            // user@bastion
	Run          string          `json:"run,omitempty"`     // ID of the run that took the hold; random for maintenance
	Bastion      string          `json:"bastion,omitempty"` // identity of the bastion that took the hold
	Reason       string          `json:"reason"`
	Ticket       string          `json:"ticket,omitempty"`
	Step         string          `json:"step,omitempty"` // step at which the run failed
	Acquired     time.Time       `json:"acquired"`
	Renewed      time.Time       `json:"renewed"`
	Expires      time.Time       `json:"expires,omitzero"`        // when the hold expires; zero: never
	Units        []string        `json:"units,omitempty"`         // of a run: services that ran before the disruption, and must run again before the release
	UnitsOmitted int             `json:"units_omitted,omitempty"` // number of services that did not fit into Units
	FailedUnits  []string        `json:"failed_units,omitzero"`   // of a run: units that had failed before the disruption; null: not known
	PreviousOS   string          `json:"previous_os,omitempty"`   // of a run that brings another OS: digest of the OS before the run
	StoppedUnits []string        `json:"stopped_units,omitempty"` // reboot helpers that the run stopped and has to start again
	NotBooted    *NotBooted      `json:"not_booted,omitempty"`    // of a run that failed because the host came back with another OS than planned, and would again
	Boot         resource.BootID `json:"boot,omitempty"`          // of maintenance: the boot in which the hold was taken
	PowerBefore  *PowerKeeping   `json:"power_before,omitempty"`  // of maintenance: settings of the controller of the host before the hold, which the release restores
	Drain        *HoldDrain      `json:"drain,omitempty"`         // of maintenance: how the host was drained, which the release undoes
	Cluster      string          `json:"cluster,omitempty"`       // of a run that changes the members of this cluster
}

// NotBooted is a reboot from which a host came back with another OS than planned, because the
// OS tool failed or the boot fell back. Another reboot into that OS would end in the same way
// while nothing in /boot has changed.
type NotBooted struct {
	OS        string `json:"os"`                   // digest of the planned OS
	BootState string `json:"boot_state,omitempty"` // digest of the contents of /boot after that reboot
}

// LastHold is the maintenance hold with which a bastion last saw a host that does not answer now.
type LastHold struct {
	Hold  Hold      `json:"hold"`            // hold, without its list of services
	Seen  time.Time `json:"seen"`            // when the bastion last saw it, by its own clock
	Power string    `json:"power,omitempty"` // power that the controller of the host reports now; missing: not known
}

// IsRebooted reports whether the host has rebooted, or soft rebooted, since a person took its hold.
func (f Facts) IsRebooted() bool {
	return f.Hold != nil && f.Hold.Boot != "" && f.BootID != "" && f.Hold.Boot != f.BootID
}

// IsOfPerson reports whether the hold is a maintenance hold that a person took on
// a bastion.
func (h Hold) IsOfPerson(holder, bastion string) bool {
	return h.Kind == MaintenanceHold && h.Holder == holder && h.Bastion == bastion
}

// Held reports whether somebody holds the host. An unreadable hold counts as a hold.
func (f Facts) Held() bool { return f.Hold != nil || f.HoldProblem != "" }

// HoldRenewed returns when the hold of the host was last renewed, or zero
// without a hold.
func (f Facts) HoldRenewed() time.Time {
	if f.Hold == nil {
		return time.Time{}
	}
	return f.Hold.Renewed
}

// String tells people who holds the host, since when, why, and until when.
func (h Hold) String() string {
	s := fmt.Sprintf("held by %s since %s for %q", h.Holder, h.Acquired.UTC().Format("2006-01-02 15:04 MST"), h.Reason)
	if h.Step != "" {
		s += ", as it failed at " + h.Step
	}
	if h.Ticket != "" {
		s += " (" + h.Ticket + ")"
	}
	if !h.Expires.IsZero() {
		s += ", until " + h.Expires.UTC().Format("2006-01-02 15:04 MST")
	}
	return s + h.DescribeDrain(", and ")
}

// HolderKind says who holds a host, from the view of a run.
type HolderKind int

// The kinds of holders. A run adopts the hold of a dead run and the expired hold
// of a run. It respects all other holds, including each hold of a person.
const (
	HeldByNobody HolderKind = iota
	HeldByThisRun
	HeldByDeadRun
	HeldByExpiredRun
	HeldByOther
)

// HoldOwner is the one run of one bastion that may act under a hold. A run
// without an ID owns nothing.
type HoldOwner struct {
	Run     string `json:"run,omitempty"`     // ID of the run
	Bastion string `json:"bastion,omitempty"` // identity of its bastion
}

// Owner returns the run that has taken the hold.
func (h Hold) Owner() HoldOwner { return HoldOwner{Run: h.Run, Bastion: h.Bastion} }

// ClassifyHolder returns the holder of the host from the view of the run self.
// dead are the dead runs in the journals of this bastion. Journals can be
// copied to another bastion, so a run adopts a hold only if the hold names this
// bastion.
func (f Facts) ClassifyHolder(self HoldOwner, dead []string) HolderKind {
	if f.HoldProblem != "" {
		return HeldByOther
	}
	h := f.Hold
	switch {
	case h == nil:
		return HeldByNobody
	case h.Kind != RunHold || h.Run == "":
		return HeldByOther
	case h.Owner() == self:
		return HeldByThisRun
	case f.leftByDeadRun(self.Bastion, dead):
		return HeldByDeadRun
	case f.Expiry() == HoldExpired:
		return HeldByExpiredRun
	}
	return HeldByOther
}

func (f Facts) leftByDeadRun(bastion string, dead []string) bool {
	return bastion != "" && f.Hold.Bastion == bastion && slices.Contains(dead, f.Hold.Run)
}

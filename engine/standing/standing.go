package standing

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
)

// Kind is the relation of a host to the run that judges it, by the host's hold.
type Kind int

// The kinds of standing.
const (
	Unreached        Kind = iota
	UnreadablyHeld        // the hold file cannot be read
	HeldByPerson          // held for maintenance
	HeldWhenLastSeen      // cannot be reached, and was held for maintenance when this bastion last saw it
	HeldByRun             // held by another run that is not known to be dead
	HeldByDeadRun         // held by a dead run of this bastion
	HeldByExpiredRun      // held by a run whose hold has expired
	HeldByThisRun
	Unproven // a person ended the hold of a run before a run saw the host whole again
	Free
)

// Flag is an instruction of the inventory to leave a host alone.
type Flag int

// The flags.
const (
	NoFlag Flag = iota
	PausedHost
	PausedPool
	UnderMaintenance // people work on it, with the reason of engine.Host.Maintenance
	Leaving          // it is being deleted
)

// FlagOf returns the flag of a host of a pool.
func FlagOf(h engine.Host, p engine.Pool) Flag {
	switch {
	case h.Leaving:
		return Leaving
	case h.Maintenance != "":
		return UnderMaintenance
	case h.Paused:
		return PausedHost
	case p.Paused:
		return PausedPool
	}
	return NoFlag
}

// View is the view of the one who judges hosts. The zero View is that of a person or a budget: every hold counts for them.
type View struct {
	Run  engine.HoldOwner
	Dead []string // runs of this bastion that ended without releasing their holds
}

// Standing is the standing of one host from one View. It depends only on facts, and on the inventory.
type Standing struct {
	Host string
	Pool string
	Kind Kind
	Flag Flag

	Maintenance string // reason of the flag UnderMaintenance

	Hold      *engine.Hold
	Ended     *engine.Hold     // hold of a run that a person ended before a run saw the host whole again
	Problem   string           // why the host is Unreached, HeldWhenLastSeen or UnreadablyHeld
	LastHold  *engine.LastHold // of a host that is HeldWhenLastSeen
	Silent    bool             // a host that is HeldWhenLastSeen is off or does not answer at all
	Expired   bool             // the hold has an end, and all clocks are past it
	Rebooted  bool             // the host has rebooted since a person took its hold
	ClockSkew string           // why the hold does not count as expired although the host's clock is past its end

	Node *kubefacts.NodeState // the node of the host; nil: not asked, or the host is none

	Rollout        *engine.Rollout // the roll-out that the host has recorded; nil: none, or one that is not believed
	RolloutProblem string          // why the record is not believed

	booted   string   // digest of the OS that runs
	rejected []string // digests of the OS versions from which the host was rolled back
}

// powerOff is power.Off. This package imports no package with a port.
const powerOff = "Off"

// Judge returns the standing of a host of a pool.
func (v View) Judge(h engine.Host, p engine.Pool, f engine.Facts) Standing {
	s := Standing{
		Host: h.Name, Pool: h.Pool, Kind: v.judgeHold(f), Flag: FlagOf(h, p), Maintenance: h.Maintenance, Node: f.Node, rejected: f.Rejected,
		Hold: f.Hold, Ended: f.Unproven, Problem: cmp.Or(f.Unreachable, f.HoldProblem), Expired: f.Expiry() == engine.HoldExpired, ClockSkew: f.DescribeClockSkew(), Rebooted: f.IsRebooted(),
	}
	if s.Kind == HeldWhenLastSeen {
		s.Hold, s.LastHold, s.Silent = &f.LastHold.Hold, f.LastHold, f.Silent || f.LastHold.Power == powerOff
	}
	s.Rollout, s.RolloutProblem = ReadRollout(f)
	if b := f.Booted(); b != nil {
		s.booted = b.Digest
	}
	return s
}

// JudgeFacts is Judge without the inventory. The standing has no Flag.
func (v View) JudgeFacts(f engine.Facts) Standing {
	return v.Judge(engine.Host{Name: f.Host}, engine.Pool{}, f)
}

func (v View) judgeHold(f engine.Facts) Kind {
	switch {
	case !f.Reached() && f.LastHold != nil:
		return HeldWhenLastSeen
	case !f.Reached():
		return Unreached
	case f.HoldProblem != "":
		return UnreadablyHeld
	case f.Hold == nil && f.Unproven != nil:
		return Unproven
	case f.Hold == nil:
		return Free
	case f.Hold.Kind != engine.RunHold:
		return HeldByPerson
	}
	switch f.ClassifyHolder(v.Run, v.Dead) {
	case engine.HeldByThisRun:
		return HeldByThisRun
	case engine.HeldByDeadRun:
		return HeldByDeadRun
	case engine.HeldByExpiredRun:
		return HeldByExpiredRun
	case engine.HeldByNobody:
		return Free
	case engine.HeldByOther:
	}
	return HeldByRun
}

// maxClockError is how wrong the clock of a bastion or a host may be. It is more
// than the difference between two time zones, because a clock may have been set
// to the local time. The number of a roll-out does not depend on any clock.
const maxClockError = 24 * time.Hour

// ReadRollout returns the roll-out that a host reports, or why it is not
// believed: a run that has not begun cannot have begun a roll-out.
func ReadRollout(f engine.Facts) (r *engine.Rollout, problem string) {
	if f.Rollout == nil {
		return nil, f.RolloutProblem
	}
	began, ok := engine.ParseRunID(f.Rollout.Run)
	if ok && !f.GatheredAt.IsZero() && began.After(f.GatheredAt.Add(maxClockError)) {
		return nil, fmt.Sprintf("run %s would begin in the future", f.Rollout.Run)
	}
	return f.Rollout, ""
}

// Rejects reports whether the host was rolled back from an OS that it does not run, so that it must not boot that OS again.
func (s Standing) Rejects(digest string) bool {
	return digest != "" && s.booted != digest && slices.Contains(s.rejected, digest)
}

// isReserved reports whether the inventory keeps every run off the host, even if the host matches.
func (s Standing) isReserved() bool { return s.Flag == UnderMaintenance || s.Flag == Leaving }

// IsUnavailable reports whether the host uses up budgets. A leaving host does not, because no budget counts it.
func (s Standing) IsUnavailable() bool {
	return s.Flag == UnderMaintenance || s.Flag != Leaving && (s.Kind != Free || s.NodeAbsence() != kubefacts.Present)
}

// StillWorks reports whether a host that IsUnavailable does its work nevertheless, so that its disruption is felt: its node only takes no
// new pods.
func (s Standing) StillWorks() bool {
	return s.Kind == Free && !s.isReserved() && s.NodeAbsence().KeepsPods()
}

// NodeAbsence returns why the node of the host takes no work.
func (s Standing) NodeAbsence() kubefacts.Absence {
	if s.Node == nil {
		return kubefacts.Present
	}
	return s.Node.Absence
}

// hasForeignNode reports whether another tool has the node, so that no run may touch the host.
func (s Standing) hasForeignNode() bool { return s.NodeAbsence().IsForeign() }

// IsAway reports whether the host may be down at any moment: it does not answer, or somebody holds it, or the inventory reserves it.
func (s Standing) IsAway() bool {
	return s.isReserved() || s.hasForeignNode() || s.Kind != Free && s.Kind != Unproven
}

// IsHeldByOther reports whether somebody else than the run of the View holds the host, or the inventory reserves it.
func (s Standing) IsHeldByOther() bool {
	return s.isReserved() || s.hasForeignNode() || s.IsAway() && s.Kind != Unreached && s.Kind != HeldByThisRun
}

// MayAdopt reports whether the run of the View continues on the host in place of an earlier run.
func (s Standing) MayAdopt() bool {
	return !s.isReserved() && !s.hasForeignNode() && (s.Kind == HeldByThisRun || s.Kind == HeldByDeadRun || s.Kind == HeldByExpiredRun || s.Kind == Unproven)
}

// AdoptedRun returns the earlier run in whose place the run of the View continues, or "".
func (s Standing) AdoptedRun() string {
	switch {
	case !s.MayAdopt():
		return ""
	case s.Kind == Unproven:
		return s.Ended.Run
	}
	return s.Hold.Run
}

// Exclusion returns why a plan does not compare the host, or "". A pause does not matter here, because a host that matches
// needs no exclusion.
func (s Standing) Exclusion() engine.ExclusionKind {
	switch {
	case s.isReserved():
		return engine.InMaintenance
	case s.Kind == Unreached:
		return engine.Unreachable
	case s.hasForeignNode():
		return engine.Held
	case s.Kind == Free || s.MayAdopt():
		return ""
	}
	return engine.Held
}

// HasFailed reports whether a run has recorded in its hold that it failed on the host.
func (s Standing) HasFailed() bool { return s.Hold != nil && s.Hold.Step != "" }

// State returns the state that a status shows without a comparison, or "" if
// the state depends on a comparison.
func (s Standing) State() engine.HostState {
	switch {
	case s.isReserved():
		return engine.MaintenanceState
	case s.Kind == Unreached:
		return engine.Unreached
	case s.hasForeignNode():
		return engine.HeldState
	case s.Kind == Free:
		return ""
	case s.Kind == UnreadablyHeld || s.Kind == HeldByPerson || s.Kind == HeldWhenLastSeen:
		return engine.HeldState
	case s.HasFailed() || s.Kind == Unproven:
		return engine.Degraded
	}
	return engine.Updating
}

// Reservation returns who keeps runs off the host, or nil. A pause is none, because a paused host that matches needs no work.
func (s Standing) Reservation() *engine.Reservation {
	r := engine.Reservation{Host: s.Host, Reason: s.Describe()}
	if l := s.LastHold; l != nil {
		r.LastSeen, r.Power = l.Seen, l.Power
	}
	r.Drained = s.Hold != nil && s.Hold.IsDrained()
	switch {
	case s.Flag == Leaving:
		r.Kind = engine.LeavingHost
	case s.Flag == UnderMaintenance:
		r.Kind = engine.FlaggedHost
	case s.Exclusion() == engine.Held:
		r.Kind = engine.HeldHost
	default:
		return nil
	}
	return &r
}

// WithoutLeaving returns the inventory without the hosts that leave the site, and these hosts. No plan, budget or state of the
// site counts them.
func WithoutLeaving(inv engine.Inventory) (engine.Inventory, []engine.Host) {
	isLeaving := func(h engine.Host) bool { return h.Leaving }
	if !slices.ContainsFunc(inv.Hosts, isLeaving) {
		return inv, nil
	}
	var stay, leave []engine.Host
	for _, h := range inv.Hosts {
		if isLeaving(h) {
			leave = append(leave, h)
		} else {
			stay = append(stay, h)
		}
	}
	inv.Hosts = stay
	return inv, leave
}

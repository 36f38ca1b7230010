// Package rebootkind decides which kind of reboot a host gets: the least one that its
// pool allows, that brings all changes into effect, and that is possible on the host.
package rebootkind

import (
	"cmp"
	"fmt"
	"slices"

	"holdfast/engine"
	"holdfast/engine/rules"
)

// Input has everything that the decision depends on.
type Input struct {
	Allowed   engine.RebootSetting // block reboot of the pool
	ForceFull bool                 // --full-reboot
	OS        *engine.OS           // desired OS of the host; nil: the inventory names none
	Facts     engine.Facts
	Changes   []engine.Change
}

// Decision is the kind of the reboot, or the reason why the host is left out.
type Decision struct {
	Reboot  *engine.Reboot // nil: no change needs a reboot
	Refusal string         // reason and next step; "": the host is not left out
}

// Decide returns the decision. It never returns a soft reboot for changes that a soft
// reboot does not bring into effect, or for a host that is not known to be able to soft
// reboot. Before the OS of a host is staged, nobody knows its kernel: then the decision
// is provisional.
func Decide(in Input) Decision {
	if !slices.ContainsFunc(in.Changes, needsReboot) {
		return Decision{}
	}
	kind, reason, provisional := in.findLeast()
	r := engine.Reboot{Kind: kind, Reason: reason, Least: kind, Chosen: in.Allowed.Soft != engine.NeverSoft, Provisional: provisional, Prepared: in.Facts.Reboots.Prepared}
	if r.Prepared == engine.SoftReboot {
		r.PreparedOS = in.Facts.SoftTarget()
	}
	switch {
	case in.ForceFull:
		r.Kind, r.Reason = engine.FullReboot, "--full-reboot asks for it"
	case in.Allowed.Soft == engine.NeverSoft:
		r.Kind, r.Reason = engine.FullReboot, "the pool allows no other kind"
	case in.Allowed.Soft == engine.RequireSoft && !kind.SharesKernel():
		if prepared := r.DescribePrepared(); prepared != "" {
			reason += "; " + prepared
		}
		return Decision{Refusal: fmt.Sprintf(`its pool requires soft reboots, and a soft reboot is not enough or not possible: %s; allow a full one with reboot { soft = "auto" } or --full-reboot`, reason)}
	}
	return Decision{Reboot: &r}
}

func needsReboot(c engine.Change) bool {
	return slices.ContainsFunc(c.Actions, func(a engine.Action) bool { return a.Type == engine.RebootAction })
}

// findLeast returns the least kind of reboot that is enough and possible, and why.
func (in Input) findLeast() (kind engine.RebootKind, reason string, provisional bool) {
	var enough string // why a soft reboot is enough
	bringsOS := false
	for _, c := range in.Changes {
		if !needsReboot(c) {
			continue
		}
		class := classOf(c)
		if class.Least != engine.SoftReboot {
			return engine.FullReboot, c.Resource + ": " + class.Reason, false
		}
		if enough == "" {
			enough = c.Resource + ": " + class.Reason
		}
		bringsOS = bringsOS || class.Name == rules.OSImageClass
	}
	if obstacle := in.findObstacle(bringsOS); obstacle != "" {
		return engine.FullReboot, obstacle, false
	}
	if bringsOS {
		return in.compareStaged()
	}
	return engine.SoftReboot, enough, false
}

func classOf(c engine.Change) rules.RebootClass {
	if c.Task {
		return rules.FindRebootClass(rules.TaskClass)
	}
	return rules.FindRebootClass(c.RebootClass)
}

// findObstacle returns why the host cannot soft reboot; "" if it can.
func (in Input) findObstacle(bringsOS bool) string {
	switch f := in.Facts; {
	case in.OS == nil:
		return "the inventory has no os block for it, so nothing shows whether its OS can soft reboot"
	case f.Reboots.NoOstree:
		return "ostree does not keep its deployments, and holdfast soft reboots only with ostree"
	case !f.Reboots.CountsSoft && f.Reboots.Systemd == 0:
		return "the version of its systemd is not known"
	case !f.Reboots.CountsSoft:
		return fmt.Sprintf("systemd %d does not count soft reboots, so that none could be recognised; systemd 256 does", f.Reboots.Systemd)
	case !f.Reboots.PreparesSoft:
		return cmp.Or(f.Reboots.Ostree, "its ostree") + " cannot prepare a soft reboot; ostree 2025.3 can"
	case f.Reboots.Prepared == engine.SoftReboot:
		return "a soft reboot is prepared on it already"
	case f.Reboots.Prepared != "":
		return "a kernel is loaded on it for a " + string(f.Reboots.Prepared)
	case bringsOS && !f.Reboots.Composefs:
		return "its root file system is no composefs, without which ostree cannot soft reboot into another deployment"
	}
	return ""
}

// compareStaged decides about a new OS by the parts of its tree that differ from the
// booted OS.
func (in Input) compareStaged() (kind engine.RebootKind, reason string, provisional bool) {
	staged := in.Facts.Staged()
	switch {
	case staged == nil || staged.Digest != in.OS.Digest() || !staged.Locked:
		return engine.SoftReboot, "enough if the new OS has the kernel that runs, which shows once it is staged", true
	case !staged.Compared:
		return engine.FullReboot, "the kernel of the staged OS could not be compared with the running one", false
	case len(staged.Differs) > 0:
		part := staged.Differs[len(staged.Differs)-1]
		return engine.FullReboot, fmt.Sprintf("%s differs in the new OS: %s", part, rules.ClassOfOSPart(part).Reason), false
	}
	if staged.NoSoftTarget {
		return engine.FullReboot, in.OS.Driver + " does not report that the host can soft reboot into the staged OS", false
	}
	return engine.SoftReboot, "the new OS has the kernel that runs", false
}

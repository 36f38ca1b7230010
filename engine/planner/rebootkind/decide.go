// Package rebootkind decides which kind of reboot a host gets: the least one that its
// pool allows, that brings all changes into effect, and that is possible on the host.
package rebootkind

import (
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

// Decide returns the decision. It never returns a soft reboot or a kexec for changes that
// it does not bring into effect, or for a host that is not known to be able to do it.
// Before the OS of a host is staged, nobody knows its kernel: then the decision
// is provisional.
func Decide(in Input) Decision {
	if !slices.ContainsFunc(in.Changes, needsReboot) {
		return Decision{}
	}
	need := in.findNeed()
	best, _ := in.choose(need, engine.RebootSetting{Soft: engine.AutoSoft, Kexec: engine.AutoKexec})
	kind, reason := in.choose(need, in.Allowed)
	r := engine.Reboot{Kind: kind, Reason: reason, Least: best, Chosen: in.Allowed.HasChoice(), Provisional: need.provisional && best != engine.FullReboot, Prepared: in.Facts.Reboots.Prepared}
	if r.Prepared == engine.SoftReboot {
		r.PreparedOS = in.Facts.SoftTarget()
	}
	switch {
	case in.ForceFull:
		r.Kind, r.Reason = engine.FullReboot, "--full-reboot asks for it"
	case !in.Allowed.HasChoice():
		r.Kind, r.Reason = engine.FullReboot, "the pool allows no other kind"
	case in.Allowed.Soft == engine.RequireSoft && !kind.SharesKernel():
		if prepared := r.DescribePrepared(); prepared != "" {
			reason += "; " + prepared
		}
		return Decision{Refusal: fmt.Sprintf(`its pool requires soft reboots, and a soft reboot is not enough or not possible: %s; allow a full one with reboot { soft = "auto" } or --full-reboot`, reason)}
	}
	return Decision{Reboot: &r}
}

// choose returns the least kind of reboot that meets the need, that is possible and that the
// setting allows, and why it is not a lesser one; for a soft reboot, why it is enough.
func (in Input) choose(need need, allowed engine.RebootSetting) (engine.RebootKind, string) {
	why := need.reason
	if need.kind == engine.SoftReboot {
		found := softNotAllowed
		if allowed.Soft != engine.NeverSoft {
			found = in.findSoftObstacle(need.bringsOS)
		}
		if found == noObstacle {
			return engine.SoftReboot, why
		}
		why = in.describeObstacle(found)
	}
	if need.kind != engine.FullReboot && allowed.Kexec != engine.NeverKexec {
		found := in.findKexecObstacle()
		switch {
		case found != noObstacle:
			why = in.describeObstacle(found)
		case need.provisional:
			return engine.KexecReboot, why + "; enough unless the new OS needs a full reboot, which shows once it is staged"
		default:
			return engine.KexecReboot, why
		}
	}
	return engine.FullReboot, why
}

func needsReboot(c engine.Change) bool {
	return slices.ContainsFunc(c.Actions, func(a engine.Action) bool { return a.Type == engine.RebootAction })
}

// need is the least kind of reboot that brings all changes into effect.
type need struct {
	kind        engine.RebootKind
	reason      string
	bringsOS    bool // one of the changes is a new OS
	provisional bool // the kernel of that OS is not known
}

func (in Input) findNeed() need {
	n, first := need{kind: engine.SoftReboot}, true
	for _, c := range in.Changes {
		if !needsReboot(c) {
			continue
		}
		class := classOf(c)
		if first || class.Least.Exceeds(n.kind) {
			n.kind, n.reason, first = class.Least, c.Resource+": "+class.Reason, false
		}
		n.bringsOS = n.bringsOS || class.Name == rules.OSImageClass
	}
	if n.bringsOS && in.OS != nil && n.kind != engine.FullReboot {
		return in.compareStaged(n)
	}
	return n
}

func classOf(c engine.Change) rules.RebootClass {
	if c.Task {
		return rules.FindRebootClass(rules.TaskClass)
	}
	return rules.FindRebootClass(c.RebootClass)
}

// findStaged returns the deployment of the new OS, nil if the host has not staged and locked it.
func (in Input) findStaged() *engine.Deployment {
	if d := in.Facts.Staged(); d != nil && d.Digest == in.OS.Digest() && d.Locked {
		return d
	}
	return nil
}

// compareStaged adds the parts of the tree of a new OS that differ from the booted OS to
// the need of the other changes.
func (in Input) compareStaged(n need) need {
	staged := in.findStaged()
	switch {
	case staged == nil:
		n.provisional = true
		if n.kind == engine.SoftReboot {
			n.reason = "enough if the new OS has the kernel that runs, which shows once it is staged"
		}
		return n
	case !staged.Compared: // a host that can neither soft reboot nor kexec is not asked
		reason := "the kernel of the staged OS could not be compared with the running one"
		if n.kind == engine.SoftReboot {
			if found := in.findSoftObstacle(true); found != noObstacle {
				reason = in.describeObstacle(found)
			}
		}
		n.kind, n.reason = engine.FullReboot, reason
		return n
	case n.kind == engine.SoftReboot:
		n.reason = "the new OS has the kernel that runs"
	}
	for _, part := range slices.Backward(staged.Differs) {
		if class := rules.ClassOfOSPart(part); class.Least.Exceeds(n.kind) {
			n.kind, n.reason = class.Least, fmt.Sprintf("%s differs in the new OS: %s", part, class.Reason)
		}
	}
	return n
}

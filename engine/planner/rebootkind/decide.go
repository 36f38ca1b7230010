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
		obstacle := "the pool allows no soft reboots"
		if allowed.Soft != engine.NeverSoft {
			obstacle = in.findSoftObstacle(need.bringsOS)
		}
		if obstacle == "" {
			return engine.SoftReboot, why
		}
		why = obstacle
	}
	if need.kind != engine.FullReboot && allowed.Kexec != engine.NeverKexec {
		obstacle := in.findKexecObstacle()
		if obstacle == "" && need.provisional {
			return engine.KexecReboot, why + "; enough unless the new OS needs a full reboot, which shows once it is staged"
		}
		if obstacle == "" {
			return engine.KexecReboot, why
		}
		why = obstacle
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
	n := need{kind: engine.SoftReboot}
	for _, c := range in.Changes {
		if !needsReboot(c) {
			continue
		}
		class := classOf(c)
		if n.reason == "" || class.Least.Exceeds(n.kind) {
			n.kind, n.reason = class.Least, c.Resource+": "+class.Reason
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

// findSoftObstacle returns why the host cannot soft reboot; "" if it can.
func (in Input) findSoftObstacle(bringsOS bool) string {
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
	case f.Reboots.ClosesDisk != "":
		return f.Reboots.ClosesDisk + " would close the encrypted disk of its OS in a soft reboot; " +
			"add the option x-initrd.attach to the line of the disk in /etc/crypttab, and run systemctl daemon-reload"
	case f.Reboots.RemoteDisk != "":
		return "its OS is on the network (" + f.Reboots.RemoteDisk + "), and a soft reboot may cut the connection"
	case !bringsOS && !f.Reboots.KeepsMounts:
		return cmp.Or(f.Reboots.Ostree, "its ostree") + " may lose /sysroot, /var or /boot in a soft reboot into the running OS; ostree 2026.1 keeps them"
	case bringsOS && !f.Reboots.KeepsBoot:
		return "its /boot is no partition, and " + cmp.Or(f.Reboots.Ostree, "its ostree") + " loses it in a soft reboot; ostree 2025.5 keeps it"
	case bringsOS && !f.Reboots.Composefs:
		return "its root file system is no composefs, without which ostree cannot soft reboot into another deployment"
	}
	if staged := in.findStaged(); bringsOS && staged != nil && staged.NoSoftTarget {
		return in.OS.Driver + " does not report that the host can soft reboot into the staged OS"
	}
	return ""
}

// kexecSystemd is the first version of systemd whose units can order a kexec (SuccessAction=kexec).
const kexecSystemd = 254

// findKexecObstacle returns why the host cannot kexec; "" if it can.
func (in Input) findKexecObstacle() string {
	switch f := in.Facts.Reboots; {
	case in.OS == nil:
		return "the inventory has no os block for it, so nothing shows where its kernels are"
	case in.OS.Driver != "ostree":
		return "holdfast kexecs only hosts with the driver ostree, not with " + in.OS.Driver
	case f.Systemd == 0:
		return "the version of its systemd is not known"
	case f.Systemd < kexecSystemd:
		return fmt.Sprintf("no unit of systemd %d can order a kexec; systemd %d can", f.Systemd, kexecSystemd)
	case f.Prepared == engine.SoftReboot:
		return "a soft reboot is prepared on it already"
	case f.Prepared != "":
		return "a kernel is loaded on it for a " + string(f.Prepared)
	case f.Kexec != engine.KexecPossible:
		return describeSupport(f.Kexec)
	}
	return ""
}

// describeSupport returns why a host cannot kexec.
func describeSupport(s engine.KexecSupport) string {
	switch s {
	case engine.KexecContainer:
		return "it is a container, whose kernel a kexec cannot replace"
	case engine.KexecNoKernel:
		return "the kernel that runs has no kexec (CONFIG_KEXEC_CORE)"
	case engine.KexecDisabled:
		return "the sysctl kernel.kexec_load_disabled forbids a kexec until the next boot"
	case engine.KexecLockdown:
		return "its kernel is locked down, so a kexec may be refused"
	case engine.KexecNoTool:
		return "it has no /usr/sbin/kexec (package kexec-tools)"
	case engine.KexecPossible, engine.KexecUnknown:
	}
	return "nothing shows whether it can kexec"
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
		obstacle := ""
		if n.kind == engine.SoftReboot {
			obstacle = in.findSoftObstacle(true)
		}
		n.kind, n.reason = engine.FullReboot, cmp.Or(obstacle, "the kernel of the staged OS could not be compared with the running one")
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

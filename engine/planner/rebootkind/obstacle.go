package rebootkind

import (
	"cmp"
	"fmt"

	"holdfast/engine"
)

// obstacle is the reason why a host cannot get a kind of reboot that would be enough for it.
type obstacle int

// The obstacles to soft reboots, to both kinds, and to kexecs.
const (
	noObstacle obstacle = iota

	softNotAllowed    // the pool allows no soft reboots
	unknownOSTool     // the inventory has no os block
	withoutOstree     // ostree does not keep the deployments
	softNotCounted    // systemd does not count soft reboots
	softNotPreparable // ostree cannot prepare a soft reboot
	closesDisk        // a unit would close the encrypted disk of the OS
	remoteDisk        // the OS is on the network
	losesMounts       // ostree may lose /sysroot, /var or /boot in a soft reboot into the running OS
	losesBoot         // ostree loses a /boot that is no partition in one into another OS
	withoutComposefs  // ostree needs a composefs for another deployment
	softNotOffered    // the OS tool does not report that the staged OS can be reached

	systemdUnknown   // the version of systemd is not known
	othersSoftReboot // somebody has prepared a soft reboot
	othersKernel     // somebody has loaded a kernel

	unknownKernels   // the inventory has no os block
	kexecOtherDriver // another driver than ostree
	kexecOldSystemd  // no unit of this systemd can order a kexec
	kexecUnsupported // the host itself cannot kexec
)

// findSoftObstacle returns why the host cannot soft reboot.
func (in Input) findSoftObstacle(bringsOS bool) obstacle {
	switch f := in.Facts.Reboots; {
	case in.OS == nil:
		return unknownOSTool
	case f.NoOstree:
		return withoutOstree
	case !f.CountsSoft && f.Systemd == 0:
		return systemdUnknown
	case !f.CountsSoft:
		return softNotCounted
	case !f.PreparesSoft:
		return softNotPreparable
	case f.Prepared != "":
		return findOthersReboot(f)
	case f.ClosesDisk != "":
		return closesDisk
	case f.RemoteDisk != "":
		return remoteDisk
	case !bringsOS && !f.KeepsMounts:
		return losesMounts
	case bringsOS && !f.KeepsBoot:
		return losesBoot
	case bringsOS && !f.Composefs:
		return withoutComposefs
	}
	if staged := in.findStaged(); bringsOS && staged != nil && staged.NoSoftTarget {
		return softNotOffered
	}
	return noObstacle
}

// kexecSystemd is the first version of systemd whose units can order a kexec (SuccessAction=kexec).
const kexecSystemd = 254

// findKexecObstacle returns why the host cannot kexec.
func (in Input) findKexecObstacle() obstacle {
	switch f := in.Facts.Reboots; {
	case in.OS == nil:
		return unknownKernels
	case in.OS.Driver != "ostree":
		return kexecOtherDriver
	case f.Systemd == 0:
		return systemdUnknown
	case f.Systemd < kexecSystemd:
		return kexecOldSystemd
	case f.Prepared != "":
		return findOthersReboot(f)
	case f.Kexec != engine.KexecPossible:
		return kexecUnsupported
	}
	return noObstacle
}

func findOthersReboot(f engine.RebootFacts) obstacle {
	if f.Prepared == engine.SoftReboot {
		return othersSoftReboot
	}
	return othersKernel
}

// describeObstacle returns an obstacle for people.
func (in Input) describeObstacle(o obstacle) string {
	f := in.Facts.Reboots
	switch o {
	case systemdUnknown:
		return "the version of its systemd is not known"
	case othersSoftReboot:
		return "a soft reboot is prepared on it already"
	case othersKernel:
		return "a kernel is loaded on it for a " + string(f.Prepared)
	case unknownKernels:
		return "the inventory has no os block for it, so nothing shows where its kernels are"
	case kexecOtherDriver:
		return "holdfast kexecs only hosts with the driver ostree, not with " + in.OS.Driver
	case kexecOldSystemd:
		return fmt.Sprintf("no unit of systemd %d can order a kexec; systemd %d can", f.Systemd, kexecSystemd)
	case kexecUnsupported:
		return describeSupport(f.Kexec)
	default:
		return in.describeSoftObstacle(o)
	}
}

func (in Input) describeSoftObstacle(o obstacle) string {
	f := in.Facts.Reboots
	ostree := cmp.Or(f.Ostree, "its ostree")
	switch o {
	case softNotAllowed:
		return "the pool allows no soft reboots"
	case unknownOSTool:
		return "the inventory has no os block for it, so nothing shows whether its OS can soft reboot"
	case withoutOstree:
		return "ostree does not keep its deployments, and holdfast soft reboots only with ostree"
	case softNotCounted:
		return fmt.Sprintf("systemd %d does not count soft reboots, so that none could be recognised; systemd 256 does", f.Systemd)
	case softNotPreparable:
		return ostree + " cannot prepare a soft reboot; ostree 2025.3 can"
	case closesDisk:
		return f.ClosesDisk + " would close the encrypted disk of its OS in a soft reboot; " +
			"add the option x-initrd.attach to the line of the disk in /etc/crypttab, and run systemctl daemon-reload"
	case remoteDisk:
		return "its OS is on the network (" + f.RemoteDisk + "), and a soft reboot may cut the connection"
	case losesMounts:
		return ostree + " may lose /sysroot, /var or /boot in a soft reboot into the running OS; ostree 2026.1 keeps them"
	case losesBoot:
		return "its /boot is no partition, and " + ostree + " loses it in a soft reboot; ostree 2025.5 keeps it"
	case withoutComposefs:
		return "its root file system is no composefs, without which ostree cannot soft reboot into another deployment"
	case softNotOffered:
		return in.OS.Driver + " does not report that the host can soft reboot into the staged OS"
	default:
		return ""
	}
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

package rules

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"holdfast/engine"
)

// RebootClass is a class of changes that need a reboot, with the least kind of
// reboot that brings all changes of the class into effect.
type RebootClass struct {
	Name   string   // stable name, as in engine.Change.RebootClass
	Paths  []string // files and trees of a host, or of the tree of an OS, that belong to the class
	Units  []string // patterns of path.Match of the names of units
	Least  engine.RebootKind
	Reason string // why no lesser kind is enough; for SoftReboot: why it is
	Source string // where the reason comes from
}

// Names of classes that other packages set.
const (
	OSImageClass      = "os image"
	KernelArgsClass   = "kernel arguments"
	TaskClass         = "task"
	FailedActionClass = "failed action"
	kernelTypeClass   = "kernel type"
	extensionsClass   = "extensions"
	filesClass        = "other files"
	unitsClass        = "other units"
	accountsClass     = "accounts"
	unknownClass      = "unknown"
)

const (
	softRebootManual = "systemd-soft-reboot.service(8)"
	ostreeSource     = "ostree_sysroot_deployment_can_soft_reboot of ostree 2025.3"
	careful          = "not known: no program states that a soft reboot or a kexec is enough"
	carefulSoft      = "not known: no program states that a soft reboot is enough"
)

// rebootClasses is the table of all classes. A class that is not known to be
// harmless needs a full reboot. A kexec starts kernel, modules, initramfs and programs anew,
// and leaves firmware, boot loader and devices as they are.
var rebootClasses = []RebootClass{
	{
		Name: "kernel", Paths: []string{"/usr/lib/modules"}, Least: engine.KexecReboot,
		Reason: "a soft reboot keeps the running kernel, its initramfs and its modules", Source: ostreeSource + "; " + softRebootManual,
	},
	{Name: KernelArgsClass, Paths: []string{"/usr/lib/bootc/kargs.d"}, Least: engine.KexecReboot, Reason: "the kernel reads its arguments when it boots", Source: ostreeSource},
	{Name: kernelTypeClass, Least: engine.KexecReboot, Reason: "it is another kernel", Source: ostreeSource},
	{Name: extensionsClass, Least: engine.FullReboot, Reason: "extensions may contain kernel modules and firmware", Source: careful},
	{
		Name: "boot loader", Paths: []string{"/boot", "/efi", "/etc/default/grub", "/etc/default/grub.d", "/etc/grub.d", "/etc/kernel", "/etc/dracut.conf", "/etc/dracut.conf.d", "/etc/initramfs-tools", "/etc/mkinitcpio.conf", "/etc/ostree", "/usr/lib/ostree/prepare-root.conf"},
		Least: engine.FullReboot, Reason: "only a full reboot passes through the boot loader", Source: softRebootManual + "; kexec(8)",
	},
	{
		Name: "security policy", Paths: []string{"/etc/selinux", "/etc/sysconfig/selinux", "/etc/apparmor", "/etc/apparmor.d", "/etc/ima", "/etc/evm", "/etc/audit", "/etc/system-fips", "/etc/crypto-policies/state"},
		Units: []string{"apparmor.service", "auditd.service", "audit-rules.service"}, Least: engine.KexecReboot,
		Reason: "a soft reboot keeps the policy that is loaded", Source: "bootc, which refuses a soft reboot into another SELinux policy",
	},
	{
		Name: "network", Paths: []string{
			"/etc/NetworkManager", "/etc/nmstate", "/etc/systemd/network", "/etc/systemd/networkd.conf", "/etc/systemd/networkd.conf.d", "/etc/systemd/resolved.conf", "/etc/systemd/resolved.conf.d",
			"/etc/sysconfig/network", "/etc/sysconfig/network-scripts", "/etc/network", "/etc/netplan", "/etc/wpa_supplicant", "/etc/openvswitch", "/etc/firewalld", "/etc/nftables", "/etc/nftables.conf", "/etc/iptables",
			"/etc/sysconfig/nftables.conf", "/etc/sysconfig/iptables", "/etc/sysconfig/ip6tables", "/usr/lib/NetworkManager",
			"/usr/lib/systemd/network", "/usr/lib/systemd/networkd.conf", "/usr/lib/systemd/networkd.conf.d", "/usr/lib/systemd/resolved.conf", "/usr/lib/systemd/resolved.conf.d", "/usr/lib/netplan", "/usr/lib/firewalld",
		},
		Units: []string{"NetworkManager*", "nm-*", "nmstate*", "systemd-networkd*", "systemd-network-generator*", "systemd-resolved*", "networking.service", "network.service", "wpa_supplicant*", "ovs*", "openvswitch*", "firewalld*", "nftables*", "iptables*", "ip6tables*"}, Least: engine.FullReboot,
		Reason: "the kernel keeps interfaces, addresses and filters, and a changed network always gets a full reboot", Source: "the Machine Config Operator, which always reboots for it",
	},
	{
		Name: "kernel modules", Paths: []string{"/etc/modprobe.d", "/etc/modules-load.d", "/etc/modules", "/etc/depmod.d", "/usr/lib/modprobe.d", "/usr/lib/modules-load.d"},
		Units: []string{"systemd-modules-load*"}, Least: engine.KexecReboot, Reason: "modules that are loaded stay, with their options", Source: softRebootManual,
	},
	{
		Name: "firmware", Paths: []string{"/usr/lib/firmware", "/etc/firmware"},
		Least: engine.FullReboot, Reason: "devices keep the firmware that their driver has loaded, also in a kexec", Source: softRebootManual,
	},
	{
		Name: "kernel settings", Paths: []string{"/etc/sysctl.d", "/etc/sysctl.conf", "/etc/tmpfiles.d", "/etc/sysfs.conf", "/etc/sysfs.d", "/usr/lib/sysctl.d", "/usr/lib/tmpfiles.d"},
		Units: []string{"systemd-sysctl*", "systemd-tmpfiles*"}, Least: engine.KexecReboot,
		Reason: "settings below /proc/sys and /sys that no file sets any more keep their values, and /run keeps its files", Source: softRebootManual,
	},
	{
		Name: "devices", Paths: []string{"/etc/udev", "/etc/hwdb.d", "/usr/lib/udev/rules.d", "/usr/lib/udev/hwdb.d"}, Units: []string{"systemd-udev*"},
		Least: engine.KexecReboot, Reason: "devices that are there keep their names and owners", Source: carefulSoft,
	},
	{
		Name: "storage", Paths: []string{"/etc/crypttab", "/etc/cryptsetup-keys.d", "/etc/clevis", "/etc/fstab", "/etc/lvm", "/etc/multipath", "/etc/multipath.conf", "/etc/mdadm.conf", "/etc/mdadm", "/etc/iscsi", "/etc/nvme", "/etc/stratis", "/etc/zfs", "/etc/systemd/zram-generator.conf", "/usr/lib/systemd/zram-generator.conf"},
		Units: []string{"*.mount", "*.automount", "*.swap", "systemd-cryptsetup*", "multipath*", "iscsi*", "lvm2*", "mdadm*", "nvme*"}, Least: engine.FullReboot,
		Reason: "devices and file systems that are in use stay open, and a kexec resets neither controllers nor a TPM", Source: softRebootManual,
	},
	{
		Name: "identity", Paths: []string{"/etc/hostname", "/etc/machine-id"}, Least: engine.KexecReboot,
		Reason: "the kernel keeps the name of the host", Source: carefulSoft,
	},
	{
		Name: "soft reboot", Units: []string{"soft-reboot.target", "systemd-soft-reboot*", "ostree-*"}, Least: engine.FullReboot,
		Reason: "the soft reboot itself uses it", Source: careful,
	},
	{
		Name: "kexec", Paths: []string{"/etc/default/kexec", "/etc/kexec.conf"}, Units: []string{"kexec.target", "systemd-kexec*", "kexec*.service"}, Least: engine.FullReboot,
		Reason: "the kexec itself uses it", Source: careful,
	},
	{Name: TaskClass, Least: engine.FullReboot, Reason: "the playbook does not state why it reboots", Source: "no rule can know it"},
	{Name: FailedActionClass, Least: engine.FullReboot, Reason: "the reboot replaces an action that failed, and nobody knows why it did", Source: "no rule can know it"},
	{Name: OSImageClass, Least: engine.SoftReboot, Reason: "everything but the kernel starts from the new OS", Source: softRebootManual},
	{Name: filesClass, Least: engine.SoftReboot, Reason: "all programs start again, and read it", Source: softRebootManual},
	{Name: unitsClass, Least: engine.SoftReboot, Reason: "systemd starts all units again", Source: softRebootManual},
	{Name: accountsClass, Least: engine.SoftReboot, Reason: "all programs and sessions start again", Source: softRebootManual},
	{Name: unknownClass, Least: engine.FullReboot, Reason: "nothing is known about such a change", Source: careful},
}

// RebootClasses returns the table of all classes, in the order of the documentation.
func RebootClasses() []RebootClass { return slices.Clone(rebootClasses) }

// FindRebootClass returns the class with this name. An unknown name has the class
// of unknown changes, which needs a full reboot.
func FindRebootClass(name string) RebootClass {
	i := slices.IndexFunc(rebootClasses, func(c RebootClass) bool { return c.Name == name })
	if i < 0 {
		i = len(rebootClasses) - 1
	}
	return rebootClasses[i]
}

// rebootClassOf returns the name of the class of a change. name is the name of the
// resource, with links resolved.
func rebootClassOf(kind engine.Kind, name string) string {
	switch kind {
	case engine.OSKind:
		return OSImageClass
	case engine.KernelTypeKind:
		return kernelTypeClass
	case engine.KernelArgKind:
		return KernelArgsClass
	case engine.ExtensionKind:
		return extensionsClass
	case engine.LinkKind:
		return cmp.Or(classOfPath(name), classBelow(name), filesClass)
	case engine.FileKind, engine.DirectoryKind:
		return cmp.Or(classOfPath(name), filesClass)
	case engine.UnitKind:
		return cmp.Or(classOfUnit(name), unitsClass)
	case engine.UserKind, engine.GroupKind:
		return accountsClass
	}
	return unknownClass
}

// classOfPath returns the class of a path, "" if there is none. A file of a unit has
// the class of the unit. A file below /usr/local/lib has the class that it would have
// below /usr/lib: systemd and kmod read both.
func classOfPath(name string) string {
	name = path.Clean(name)
	for _, local := range []string{"/usr/local/lib/", "/var/usrlocal/lib/"} { // on ostree hosts, /usr/local is a link to /var/usrlocal
		if rest, ok := strings.CutPrefix(name, local); ok {
			name = "/usr/lib/" + rest
		}
	}
	for _, c := range rebootClasses {
		if slices.ContainsFunc(c.Paths, func(tree string) bool { return isInTree(name, tree) }) {
			return c.Name
		}
	}
	for _, tree := range []string{"/etc/systemd/system/", "/usr/lib/systemd/system/", "/run/systemd/system/"} {
		if rest, ok := strings.CutPrefix(name, tree); ok {
			unit, _, _ := strings.Cut(rest, "/") // the unit, or the folder of its drop-ins or links
			for _, folder := range []string{".d", ".wants", ".requires"} {
				unit = strings.TrimSuffix(unit, folder)
			}
			return cmp.Or(classOfUnit(unit), classOfUnit(path.Base(name)))
		}
	}
	return ""
}

// classBelow returns the first class that has a path below a link: another target of
// the link changes everything below.
func classBelow(link string) string {
	for _, c := range rebootClasses {
		if slices.ContainsFunc(c.Paths, func(tree string) bool { return isInTree(tree, path.Clean(link)) }) {
			return c.Name
		}
	}
	return ""
}

func classOfUnit(name string) string {
	for _, c := range rebootClasses {
		for _, pattern := range c.Units {
			if ok, err := path.Match(pattern, name); ok && err == nil {
				return c.Name
			}
		}
	}
	return ""
}

// OSParts returns the paths in the tree of an OS that are compared before a soft
// reboot into it: files and folders of /usr/lib and /usr/etc that belong to a class.
// Each of them is in one of these two folders, or in a folder of them.
func OSParts() []string {
	var parts []string
	for _, c := range rebootClasses {
		for _, p := range c.Paths {
			if rest, ok := strings.CutPrefix(p, "/etc/"); ok {
				p = "/usr/etc/" + rest
			}
			if isInTree(p, "/usr/etc") || isInTree(p, "/usr/lib") {
				parts = append(parts, p)
			}
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

// ClassOfOSPart returns the class of a path that OSParts has, or that is below one.
func ClassOfOSPart(p string) RebootClass {
	if rest, ok := strings.CutPrefix(p, "/usr/etc/"); ok {
		p = "/etc/" + rest
	}
	return FindRebootClass(classOfPath(p))
}

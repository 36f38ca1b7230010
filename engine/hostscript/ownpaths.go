package hostscript

import "holdfast/engine"

// Paths that holdfast itself writes on a host, without configurations.
const (
	// runDir has the files of one boot of the host.
	runDir = "/run/holdfast"
	// UnitDir is where units of the host and their drop-ins are written.
	UnitDir = "/etc/systemd/system"
	// noticePath is a link to noticeTextPath. A host shows the notice to
	// everybody who logs in.
	noticePath     = "/etc/motd.d/holdfast"
	noticeTextPath = engine.StateDir + ".motd"
	// StageUnit stages an OS, RebootUnit reboots the host. Both are transient.
	StageUnit  = "holdfast-stage.service"
	RebootUnit = "holdfast-reboot.service"
	// InhibitorUnit tells those who reboot a host that a person holds the reason. It is transient.
	InhibitorUnit = "holdfast-hold.service"
	// bootUnitDir has units and drop-ins that end with the boot.
	bootUnitDir = "/run/systemd/system"
	// helperDropin is the drop-in that prevents a unit of RebootHelpers from
	// starting.
	helperDropin = "50-holdfast.conf"
	// MemberDropin and SettingsDropin are drop-ins of the unit that runs etcd.
	MemberDropin   = "50-holdfast-member.conf"
	SettingsDropin = "51-holdfast-settings.conf"
)

// OwnPaths lists every file and folder of a host that belongs to holdfast,
// except OwnDropins of units that an inventory names. No configuration may
// write there.
func OwnPaths() []string {
	paths := []string{engine.StateDir, runDir, noticePath, noticeTextPath}
	for _, unit := range []string{StageUnit, RebootUnit, InhibitorUnit} {
		paths = append(paths, UnitDir+"/"+unit, UnitDir+"/"+unit+".d")
	}
	for _, unit := range RebootHelpers() {
		paths = append(paths, UnitDir+"/"+unit+".d/"+helperDropin)
	}
	for _, dropin := range OwnDropins() {
		paths = append(paths, UnitDir+"/etcd.service.d/"+dropin)
	}
	return paths
}

// OwnDropins lists the names of drop-ins that are holdfast's own in the drop-in
// folder of every unit. An inventory may name the unit that runs etcd.
func OwnDropins() []string { return []string{MemberDropin, SettingsDropin} }

// RebootHelpers returns the units that reboot a host by themselves. While a
// host is held, these units are stopped, and a condition prevents them from
// starting. A hold also ends an update that a timer has started.
func RebootHelpers() []string {
	return []string{"zincati.service", "rpm-ostreed-automatic.timer", "bootc-fetch-apply-updates.timer"}
}

// rebootUnits returns the units through which systemd and logind reboot a host, or switch it off. The services are among them,
// because they can be started without their targets.
func rebootUnits() []string {
	var units []string
	for _, name := range []string{"reboot", "poweroff", "halt", "kexec", "soft-reboot"} {
		units = append(units, name+".target", "systemd-"+name+".service")
	}
	return units
}

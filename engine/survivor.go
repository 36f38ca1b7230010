package engine

import (
	"slices"
	"strings"

	"holdfast/engine/resource"
)

// Survival is the fate of the etcd member of a host in a reboot.
type Survival string

// The fates of a member. The last two do not stop it, not even for a moment.
const (
	StopsAtReboot Survival = ""           // the member stops, or the host has none
	RestartsAfter Survival = "restarted"  // the member runs on, and is restarted under quorum once the host is back
	KeepsOldOS    Survival = "keeps-os"   // the member keeps running from the deployment before, because its cluster cannot spare it
	StaysAsItIs   Survival = "unaffected" // the member runs on, and no change is about it
)

// SparesMember reports whether the etcd member of the host does not stop at all.
func (s Survival) SparesMember() bool { return s == KeepsOldOS || s == StaysAsItIs }

// Survivor is a service that runs on during a soft reboot of its host. Its process keeps the deployment in which it
// has started.
type Survivor struct {
	Unit       string `json:"unit"`                 // name of the service
	Survives   bool   `json:"survives,omitempty"`   // its process survives the next soft reboot
	Outdated   bool   `json:"outdated,omitempty"`   // its process runs from another deployment than the host
	Deployment string `json:"deployment,omitempty"` // deployment that it runs from, as the OS tool names it; "": not known
}

// SurvivalObstacle is the reason why a service does not run on during a soft reboot, or not well, although it has the drop-in
// for that, or will get it.
type SurvivalObstacle string

// The obstacles.
const (
	SurvivesTooOld     SurvivalObstacle = "old-systemd"    // systemd does not know SurviveFinalKillSignal
	SurvivalOverridden SurvivalObstacle = "overridden"     // another drop-in has changed the properties
	SurvivesOneshot    SurvivalObstacle = "oneshot"        // no process of it runs on
	SurvivesOwnRoot    SurvivalObstacle = "own-root"       // RootImage or RootDirectory: nothing shows which OS it runs from
	SurvivalConflict   SurvivalObstacle = "conflict"       // it conflicts with a unit that a soft reboot starts
	SurvivalNeeds      SurvivalObstacle = "needs"          // it needs a unit that a soft reboot stops
	SurvivalNotStarted SurvivalObstacle = "older-process"  // its process has started before the drop-in was there
	SurvivalSocket     SurvivalObstacle = "stopped-socket" // it survives, and a soft reboot stops its socket
)

// SurvivalProblem is an obstacle of a service.
type SurvivalProblem struct {
	Unit     string           `json:"unit"` // name of the service
	Obstacle SurvivalObstacle `json:"obstacle"`
	Other    string           `json:"other,omitempty"` // the unit of the obstacle
}

// KeepDropin is the drop-in of a service that a pool keeps running during soft reboots.
const KeepDropin = "52-holdfast-keep.conf"

// MaxKept is the largest number of services that a pool keeps running.
const MaxKept = 8

// SurvivalUnitLines and SurvivalServiceLines are the lines of a drop-in with which a service keeps running during a
// soft reboot, for its sections [Unit] and [Service] (systemd-soft-reboot.service(8), "Resource Pass-through").
// Every other way to stop the system still stops the service. With mounts of its own, the service keeps the
// deployment that it runs from.
const (
	SurvivalUnitLines = "SurviveFinalKillSignal=yes\nIgnoreOnIsolate=yes\nDefaultDependencies=no\nAfter=basic.target\n" +
		"Conflicts=reboot.target kexec.target poweroff.target halt.target rescue.target emergency.target\n" +
		"Before=reboot.target kexec.target poweroff.target halt.target rescue.target emergency.target\n"
	SurvivalServiceLines = "PrivateMounts=yes\n"
)

// KeepsRunning reports whether a service gets the drop-in with which it runs on during soft reboots.
func (d Desired) KeepsRunning(unit string) bool {
	return d.Config != nil && slices.ContainsFunc(d.Config.Units, func(u resource.Unit) bool {
		return u.Name == unit && slices.ContainsFunc(u.Dropins, func(f resource.Dropin) bool { return f.Name == KeepDropin })
	})
}

// RestartSurvivors restarts services that have survived a soft reboot, so that they run from the booted deployment, or stops
// them before a reboot.
type RestartSurvivors struct {
	Units []string `json:"units"`

	// HasMember means that one of them is the etcd member of the host.
	HasMember bool `json:"has_member,omitempty"`

	// Always means that a service restarts although it runs from the booted deployment: its configuration has changed.
	Always bool `json:"always,omitempty"`

	// Stop means that the services stop, so that they do not survive the next reboot.
	Stop bool `json:"stop,omitempty"`
}

// OutdatedSurvivors returns the services that run from another deployment than the host.
func (f Facts) OutdatedSurvivors() []Survivor {
	var list []Survivor
	for _, s := range f.Survivors {
		if s.Outdated {
			list = append(list, s)
		}
	}
	return list
}

// OSOfSurvivor returns the OS that a service runs from, for people.
func (f Facts) OSOfSurvivor(s Survivor) string {
	digest, _, _ := strings.Cut(s.Deployment, ".")
	if digest == "" {
		return "an earlier deployment"
	}
	for _, d := range f.Deployments {
		if d.Digest == digest && d.Version != "" {
			return d.Version + " (" + ShortDigest(digest) + ")"
		}
	}
	return ShortDigest(digest)
}

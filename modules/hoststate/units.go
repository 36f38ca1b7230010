package hoststate

import (
	"slices"
	"strings"

	"holdfast/engine/hostscript"
)

// unit is a unit that units.sh prints.
type unit struct {
	name        string
	active, sub string // its state
	file        string // state of the unit file of a running service
}

// shutdownUnit has a job as soon as a shutdown is ordered, and then becomes active. At other
// times it is inactive, and is not listed.
const shutdownUnit = "shutdown.target"

func parseUnits(text string) []unit {
	var units []unit
	for line := range strings.Lines(text) {
		columns := strings.Fields(line)
		if len(columns) < 4 {
			continue
		}
		u := unit{name: columns[0], active: columns[2], sub: columns[3]}
		if len(columns) > 4 {
			u.file = columns[4]
		}
		units = append(units, u)
	}
	return units
}

func (u unit) isRunningService() bool {
	return u.sub == "running" && strings.HasSuffix(u.name, ".service")
}

func failedUnits(units []unit) []string {
	var names []string
	for _, u := range units {
		if u.active == "failed" || u.sub == "failed" {
			names = append(names, u.name)
		}
	}
	return names
}

// enabledServices returns the running services that are enabled, and so run again
// after a reboot. It accepts enabled-runtime, because generators of systemd
// create such links at each boot, for serial consoles for example.
func enabledServices(units []unit) []string {
	var names []string
	for _, u := range units {
		if u.isRunningService() && (u.file == "enabled" || u.file == "enabled-runtime") {
			names = append(names, u.name)
		}
	}
	return names
}

// activeState returns the state of a unit, or "" if the unit is inactive.
func activeState(units []unit, name string) string {
	for _, u := range units {
		if u.name == name {
			return u.active
		}
	}
	return ""
}

// isStopping returns true as soon as systemd gets the order to shut down, or the unit that
// gives this order is started.
func isStopping(units []unit) bool {
	return slices.ContainsFunc(units, func(u unit) bool { return u.name == shutdownUnit }) ||
		slices.Contains([]string{"active", "activating", "deactivating", "reloading"}, activeState(units, hostscript.RebootUnit))
}

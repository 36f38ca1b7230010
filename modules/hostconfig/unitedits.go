package hostconfig

import (
	"strings"

	"holdfast/engine/resource"
	"holdfast/engine/rules"
)

func (x *configDiff) addUnitEdits(w *hostWrite) {
	add := func(name, do string, early bool) {
		w.units = append(w.units, unitEdit{name: name, do: do, early: early, enabled: x.facts.Units[name] == "enabled"})
	}
	was := map[string]resource.Unit{}
	for _, u := range x.was.Units {
		was[u.Name] = u
	}
	comes := unitsAmong(x.entries)
	for _, u := range x.want.Units {
		before, had := was[u.Name]
		delete(was, u.Name)
		state := x.facts.Units[u.Name]
		missing := state == "not-found" || state == ""
		if x.isReportOnly(subject{rules.Unit, u.Name}) {
			continue
		}
		switch {
		case u.Masked != nil && *u.Masked:
		case u.Enabled != nil && (!enabledAs(state, *u.Enabled) || state != enabledWord(*u.Enabled) && x.rewritesUnit(u)):
			add(u.Name, map[bool]string{true: "enable", false: "disable"}[*u.Enabled], false)
		case u.Enabled == nil && had && before.Enabled != nil && (!missing || comes[u.Name] || comes[unitTemplate(u.Name)]),
			u.Enabled == nil && !had && u.Contents != "" && missing:
			add(u.Name, "preset", false)
		}
	}
	if x.hasRecord {
		x.addLeavingUnits(was, add)
	}
}

// addLeavingUnits disables units whose files are removed. Other units that leave,
// which were only enabled or disabled, get their preset.
func (x *configDiff) addLeavingUnits(gone map[string]resource.Unit, add func(name, do string, early bool)) {
	taken := unitsAmong(x.leaving)
	for _, u := range x.was.Units {
		state := x.facts.Units[u.Name]
		if _, leaves := gone[u.Name]; !leaves || state == "not-found" || state == "" {
			continue
		}
		switch {
		case taken[u.Name] || taken[unitTemplate(u.Name)]:
			if state == "enabled" {
				add(u.Name, "disable", true)
			}
		case u.Enabled != nil:
			add(u.Name, "preset", false)
		}
	}
}

func enabledWord(enabled bool) string {
	if enabled {
		return "enabled"
	}
	return "disabled"
}

// rewritesUnit reports whether the unit file changes. A unit without an Install
// section cannot be enabled, but the new file may have one.
func (x *configDiff) rewritesUnit(u resource.Unit) bool {
	file := unitEntries(resource.Unit{Name: u.Name, Contents: u.Contents})
	return u.Contents != "" && !file[0].matchesHost(x.facts.Nodes)
}

// unitTemplate returns getty@.service for getty@tty1.service, and "" for a unit
// that is not an instance.
func unitTemplate(name string) string {
	prefix, instance, ok := strings.Cut(name, "@")
	dot := strings.LastIndexByte(instance, '.')
	if !ok || dot < 0 {
		return ""
	}
	return prefix + "@" + instance[dot:]
}

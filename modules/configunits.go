package modules

import (
	"holdfast/engine"
	"holdfast/engine/rules"
)

func (x *configDiff) writeUnits(w *write) {
	add := func(name, do string, early bool) {
		w.units = append(w.units, unitEdit{name: name, do: do, early: early, enabled: x.seen.Units[name] == "enabled"})
	}
	was := map[string]engine.Unit{}
	for _, u := range x.was.Units {
		was[u.Name] = u
	}
	comes := brought(x.entries)
	for _, u := range x.want.Units {
		before, had := was[u.Name]
		delete(was, u.Name)
		state := x.seen.Units[u.Name]
		missing := state == "not-found" || state == ""
		if x.spare(subject{rules.Unit, u.Name}) {
			continue
		}
		switch {
		case u.Masked != nil && *u.Masked:
		case u.Enabled != nil && (!enabledAs(state, *u.Enabled) || state != settled(*u.Enabled) && x.rewrites(u)):
			add(u.Name, map[bool]string{true: "enable", false: "disable"}[*u.Enabled], false)
		case u.Enabled == nil && had && before.Enabled != nil && (!missing || comes[u.Name] || comes[template(u.Name)]),
			u.Enabled == nil && !had && u.Contents != "" && missing:
			add(u.Name, "preset", false)
		}
	}
	if x.recorded {
		x.leaveUnits(was, add)
	}
}

// leaveUnits disables units that go, and presets those that were only enabled
// or disabled.
func (x *configDiff) leaveUnits(gone map[string]engine.Unit, add func(name, do string, early bool)) {
	taken := brought(x.left)
	for _, u := range x.was.Units {
		state := x.seen.Units[u.Name]
		if _, leaves := gone[u.Name]; !leaves || state == "not-found" || state == "" {
			continue
		}
		switch {
		case taken[u.Name] || taken[template(u.Name)]:
			if state == "enabled" {
				add(u.Name, "disable", true)
			}
		case u.Enabled != nil:
			add(u.Name, "preset", false)
		}
	}
}

// settled is the state of a unit that can be enabled and disabled.
func settled(enabled bool) string {
	if enabled {
		return "enabled"
	}
	return "disabled"
}

// rewrites reports whether the unit itself is written: what cannot be enabled
// now, because it says nothing of that, may be one that can.
func (x *configDiff) rewrites(u engine.Unit) bool {
	file := unitEntries(engine.Unit{Name: u.Name, Contents: u.Contents})
	return u.Contents != "" && !file[0].fits(x.seen.Nodes)
}

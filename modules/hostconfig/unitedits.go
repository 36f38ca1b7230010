package hostconfig

import (
	"path"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/resource"
)

func (d *unitDiff) addUnitEdits(w *hostWrite) {
	add := func(name, do string, early bool) {
		w.units = append(w.units, unitEdit{name: name, do: do, early: early, enabled: d.unitState(name).enabled})
	}
	was := map[string]resource.Unit{}
	for _, u := range d.was.Units {
		was[u.Name] = u
	}
	for _, u := range d.want.Units {
		before, had := was[u.Name]
		delete(was, u.Name)
		state := d.unitState(u.Name)
		if d.subjects.isReportOnly(subject{engine.UnitKind, u.Name}) {
			continue
		}
		switch {
		case isTrue(u.Masked), d.isSkipped(u):
		case u.Enabled != nil && d.installsAnew(u.Name):
			add(u.Name, "disable", true)
			if *u.Enabled {
				w.units = append(w.units, unitEdit{name: u.Name, do: "enable"}) // it is disabled by then
			}
		case u.Enabled != nil && (d.isEnabled(u.Name, *u.Enabled) != *u.Enabled || state.enabled != *u.Enabled && d.rewritesUnit(u)):
			add(u.Name, map[bool]string{true: "enable", false: "disable"}[*u.Enabled], false)
		case u.Enabled != nil && !*u.Enabled && state.cannot != "" && d.bringsUnit(u):
			// The word says nothing about the unit to come, which may have links still.
			w.units = append(w.units, unitEdit{name: u.Name, do: "disable", ifPresent: true})
		case u.Enabled == nil && had && before.Enabled != nil && d.canPreset(u),
			u.Enabled == nil && !had && u.Contents != "" && state.missing:
			add(u.Name, "preset", false)
		}
	}
	if d.hasRecord {
		d.addLeavingUnits(was, add, w)
	}
	d.keepEnabled(w)
}

// keepEnabled enables units again that are to stay enabled, if the write disables or
// presets others: systemctl also does that to the units in Also= of these others.
func (d *unitDiff) keepEnabled(w *hostWrite) {
	changed, others := map[string]bool{}, false
	for _, u := range w.units {
		changed[u.name] = true
		others = others || u.do != "enable"
	}
	if !others {
		return
	}
	for _, u := range d.want.Units {
		if isTrue(u.Enabled) && !isTrue(u.Masked) && d.unitState(u.Name).enabled && !changed[u.Name] {
			w.units = append(w.units, unitEdit{name: u.Name, do: "enable", enabled: true})
		}
	}
}

// canPreset reports whether systemctl preset works after the write.
func (d *unitDiff) canPreset(u resource.Unit) bool {
	s := d.unitState(u.Name)
	return d.bringsUnit(u) || s.cannot == "" && !s.noReset && (!s.missing || d.hasUnitFile(u.Name))
}

// addLeavingUnits disables units whose files are removed. The OS may have a unit of
// the same name, whose links are gone then, too. So it gets its preset, as other
// units that leave, which were only enabled or disabled.
func (d *unitDiff) addLeavingUnits(gone map[string]resource.Unit, add func(name, do string, early bool), w *hostWrite) {
	taken := unitsAmong(d.leaving)
	for _, u := range d.was.Units {
		state := d.unitState(u.Name)
		if _, leaves := gone[u.Name]; !leaves || state.missing && !d.facts.Saved[unitDir+u.Name] {
			continue
		}
		switch {
		case taken[u.Name] || taken[unitTemplate(u.Name)]:
			if state.enabled {
				add(u.Name, "disable", true)
			}
			w.units = append(w.units, unitEdit{name: u.Name, do: "preset", ifPresent: true}) // it is disabled by then
		case u.Enabled != nil && d.canPreset(u):
			add(u.Name, "preset", false)
		}
	}
}

// rewritesUnit reports whether the unit file changes. A unit without an Install
// section cannot be enabled, but the new file may have one.
func (d *unitDiff) rewritesUnit(u resource.Unit) bool {
	return u.Contents != "" && !unitFile(u).matchesHost(d.facts.Nodes)
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

func (d *unitDiff) seenUnit(u resource.Unit) (resource.Unit, bool) {
	there := false
	node := d.facts.Nodes[unitDir+u.Name]
	masked := node.Type == resource.PathLink && node.Target == maskTarget
	dropins, hasContents := u.Dropins, u.Contents != ""
	if hasContents {
		there = there || node.Type != resource.PathMissing
		if !unitFile(u).matchesHost(d.facts.Nodes) {
			u.Contents, u.Observed = "", observedPath(node)
		}
	}
	u.Dropins = nil
	for _, dropin := range dropins {
		e := dropinFile(u.Name, dropin)
		n := d.facts.Nodes[e.path]
		if n.Type == resource.PathMissing {
			continue
		}
		there = true
		if !e.matchesHost(d.facts.Nodes) {
			dropin.Contents, dropin.Observed = "", observedPath(n)
		}
		u.Dropins = append(u.Dropins, dropin)
	}
	if u.Masked != nil {
		there = there || masked || !*u.Masked
		u.Masked = &masked
	}
	if u.Enabled != nil {
		nothing := !hasContents && len(dropins) == 0 && !*u.Enabled // a missing unit is not enabled
		there = there || !d.unitState(u.Name).missing || nothing || d.isSkipped(u)
		is := d.isEnabled(u.Name, *u.Enabled) || d.isSkipped(u)
		u.Enabled = &is
	}
	return u, there
}

// endingServices lists the units that the configuration disables, masks or no
// longer has. After a boot these units need not run.
func (d *unitDiff) endingServices() []string {
	var names []string
	stays := map[string]bool{}
	for _, u := range d.want.Units {
		stays[u.Name] = true
		if isTrue(u.Masked) || u.Enabled != nil && !*u.Enabled {
			names = append(names, u.Name)
		}
	}
	for _, u := range d.was.Units {
		if !stays[u.Name] {
			names = append(names, u.Name)
		}
	}
	return names
}

func (d *unitDiff) describeUnitChange(name string) (before, after string) {
	before, after = absent, absent
	if u, wanted := findUnit(d.want.Units, name); wanted {
		after = describeUnit(u)
		if seen, there := d.seenUnit(u); there {
			before = describeUnit(seen)
		}
	} else if u, recorded := findUnit(d.was.Units, name); recorded {
		before = describeUnit(u)
	}
	return before, after
}

func unitsAmong(entries []desiredEntry) map[string]bool {
	units := map[string]bool{}
	for _, e := range entries {
		if dir, name := path.Split(e.path); strings.HasSuffix(dir, "/systemd/system/") {
			units[name] = true
		}
	}
	return units
}

// unitEdit enables, disables or presets a unit.
type unitEdit struct {
	name      string
	enabled   bool   // the unit is enabled now
	do        string // enable, disable or preset
	early     bool   // run before files change: a unit is disabled before its file is removed
	ifPresent bool   // the script skips the unit if the host does not have it then
}

// unitFunctions returns the variable hasunits (whether the undo enables units) and
// two shell functions: change_units enables and disables units
// early or late, and restore_units undoes this.
func unitFunctions(units []unitEdit) string {
	var do, back strings.Builder
	for _, when := range []string{"early", "late"} {
		do.WriteString(when + ")\n:\n")
		back.WriteString(when + ")\n:\n")
		for _, verb := range []string{"disable", "preset", "enable"} {
			for _, ifPresent := range []bool{false, true} {
				call, undo := unitCalls(when, verb, dropMatching(units, func(u unitEdit) bool {
					return u.do != verb || u.early != (when == "early") || u.ifPresent != ifPresent
				}))
				do.WriteString(call)
				back.WriteString(undo)
			}
		}
		do.WriteString(";;\n")
		back.WriteString(";;\n")
	}
	disables := yesIf(slices.ContainsFunc(units, func(u unitEdit) bool { return u.enabled && u.do != "enable" }))
	return "hasunits='" + disables + "'\nchange_units() { case $1 in\n" + do.String() + "esac; }\nrestore_units() { case $1 in\n" + back.String() + "esac; }\n"
}

// unitCalls returns the shell commands that change units with one call of systemctl,
// and that undo this.
func unitCalls(when, verb string, units []unitEdit) (do, back string) {
	if len(units) == 0 {
		return "", ""
	}
	var names, were, others []string // were: enabled before; others: not
	for _, u := range units {
		names = append(names, u.name)
		if u.enabled {
			were = append(were, u.name)
		} else {
			others = append(others, u.name)
		}
	}
	prefix := ""
	if units[0].ifPresent {
		prefix = "call_for_present "
	}
	do = prefix + "run_systemctl " + when + " " + verb + " --" + quoteWords(names) + "\n"
	if len(were) > 0 && verb != "enable" {
		back += prefix + "undo_systemctl " + when + " " + verb + " enable" + quoteWords(were) + "\n"
	}
	if len(others) > 0 && verb != "disable" {
		back += prefix + "undo_systemctl " + when + " " + verb + " disable" + quoteWords(others) + "\n"
	}
	return do, back
}

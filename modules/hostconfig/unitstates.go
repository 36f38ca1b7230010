package hostconfig

import (
	"fmt"
	"path"
	"strings"

	"holdfast/engine"
	"holdfast/engine/resource"
)

// unitState is the meaning of a word of systemctl is-enabled (systemctl(1)).
type unitState struct {
	enabled bool   // the unit starts with the host
	fixed   bool   // nobody can enable or disable the unit: it is as a configuration wants it
	unknown bool   // the word does not tell whether the unit is enabled
	missing bool   // the host does not have the unit
	cannot  string // why systemctl cannot enable the unit, and the next step; "": it can
	neither bool   // nor can it disable the unit
	noReset bool   // systemctl preset fails
}

// wordsOfIsEnabled has all words of systemctl is-enabled. The words of units that are
// enabled or linked only in /run mean disabled, because the next boot forgets
// these links.
var wordsOfIsEnabled = map[string]unitState{
	"enabled":         {enabled: true},
	"enabled-runtime": {},
	"disabled":        {},
	"linked":          {},
	"linked-runtime":  {},
	"indirect":        {unknown: true}, // only Also= in its Install section: the word stays after systemctl enable
	"static":          {fixed: true},
	"generated":       {fixed: true, noReset: true},
	"transient":       {cannot: "exists only until the next boot: add its contents, or take it out of the configuration"},
	"alias":           {cannot: "is another name of a unit: name the unit itself (systemctl show --property=Id)", neither: true},
	"masked":          {cannot: "is masked on the host: unmask it there (systemctl unmask), or set mask: false or enabled: false"},
	"masked-runtime":  {cannot: "is masked on the host until its next boot: unmask it there (systemctl unmask --runtime)"},
	"bad":             {cannot: "has an invalid unit file on the host: correct that (systemd-analyze verify), or add its contents"},
	"not-found":       {missing: true},
	"":                {missing: true},
}

// unitDiff is the part of a configDiff about units.
type unitDiff struct {
	facts            resource.ConfigFacts
	was, want        resource.Config
	entries, leaving []desiredEntry // all those of the configDiff
	hasRecord        bool
	subjects         *subjectStates
}

// unitState returns the state of a unit on the host. A word that no manual has
// tells nothing, so that a configuration that needs it is refused.
func (d *unitDiff) unitState(name string) unitState {
	word := d.facts.Units[name]
	if s, known := wordsOfIsEnabled[word]; known {
		return s
	}
	return unitState{cannot: fmt.Sprintf("is %q for systemctl is-enabled, which this version of holdfast does not know: take enabled out of the configuration, or update holdfast", word), neither: true}
}

// isEnabled reports whether a unit is as a configuration wants it. If the host
// does not tell, the record does: holdfast has enabled the unit as it is.
func (d *unitDiff) isEnabled(name string, wanted bool) bool {
	switch s := d.unitState(name); {
	case s.fixed:
		return wanted
	case s.unknown && wanted:
		return d.recordEnables(name)
	default:
		return s.enabled
	}
}

func (d *unitDiff) recordEnables(name string) bool {
	recorded, _ := findUnit(d.was.Units, name)
	return d.hasRecord && !d.subjects.changed[subject{engine.UnitKind, name}] && isTrue(recorded.Enabled)
}

func findUnit(units []resource.Unit, name string) (resource.Unit, bool) {
	return findFirst(units, func(u resource.Unit) bool { return u.Name == name })
}

// unitProblem returns why a unit cannot be enabled or disabled; "" if it can. A
// unit whose file is written, or whose mask is removed, is another unit then.
func (d *unitDiff) unitProblem(u resource.Unit) string {
	s := d.unitState(u.Name)
	switch {
	case u.Enabled == nil || d.bringsUnit(u) || d.isSkipped(u):
		return ""
	case s.missing && *u.Enabled && !d.hasUnitFile(u.Name):
		return "is to be enabled, and the host does not have it: add its contents, or take it out of the configuration"
	case s.cannot != "" && (*u.Enabled || s.neither):
		return s.cannot
	}
	return ""
}

// isSkipped reports whether a unit is not enabled because the host does not have it. The Machine Config Operator skips such
// units, too. In documents of a person, the name is more likely to be wrong.
func (d *unitDiff) isSkipped(u resource.Unit) bool {
	return u.IfPresent && isTrue(u.Enabled) && d.unitState(u.Name).missing && !d.hasUnitFile(u.Name)
}

// skippedUnits returns a warning for each unit that is skipped.
func (d *unitDiff) skippedUnits() (warnings []string) {
	for _, u := range d.want.Units {
		if d.isSkipped(u) {
			warnings = append(warnings, "unit "+u.Name+" is not enabled, because the host does not have it, and its document, which a controller made, has no contents for it")
		}
	}
	return warnings
}

// withoutMissingUnits returns recorded units without the enablement of units that the host does not have and does not get: no
// edit enables or disables such a unit. It omits a unit that has nothing else and leaves the configuration.
func (d *unitDiff) withoutMissingUnits(recorded []resource.Unit) []resource.Unit {
	units := make([]resource.Unit, 0, len(recorded))
	for _, u := range recorded {
		s := subject{engine.UnitKind, u.Name}
		if d.unitState(u.Name).missing && !d.hasUnitFile(u.Name) && !d.facts.Saved[unitDir+u.Name] && !d.subjects.needsRedo(s) {
			wanted, stays := findUnit(d.want.Units, u.Name)
			if !stays && len(unitEntries(u)) == 0 {
				continue
			}
			u.Enabled = wanted.Enabled
		}
		units = append(units, u)
	}
	return units
}

// bringsUnit reports whether the write gives the host another file for a unit.
func (d *unitDiff) bringsUnit(u resource.Unit) bool {
	file := unitDir + u.Name
	if n := d.facts.Nodes[file]; n.Type == resource.PathLink && n.Target == maskTarget {
		if u.Masked != nil && !*u.Masked {
			return true
		}
		for _, e := range d.leaving {
			if e.path == file {
				return true
			}
		}
	}
	for _, e := range d.entries {
		if ofUnitFile(e.path, u.Name) && !e.matchesHost(d.facts.Nodes) && e.data != maskTarget {
			return true
		}
	}
	return false
}

func (d *unitDiff) hasUnitFile(name string) bool {
	for _, e := range d.entries {
		if ofUnitFile(e.path, name) {
			return true
		}
	}
	return false
}

// ofUnitFile reports whether a path is the file of a unit or of its template.
func ofUnitFile(p, name string) bool {
	dir, file := path.Split(p)
	return strings.HasSuffix(dir, "/systemd/system/") && (file == name || file == unitTemplate(name))
}

// ofUnit reports whether a path is the file of a unit, or one of its drop-ins.
func ofUnit(p, name string) bool {
	dir := path.Dir(p)
	return ofUnitFile(p, name) || strings.HasSuffix(dir, ".d") && ofUnitFile(strings.TrimSuffix(dir, ".d"), name)
}

// installsAnew reports whether the files of an enabled unit change so that its
// Install section may be another one. Then the links of the old section must go
// with the old file, and those of the new section come with the new file.
func (d *unitDiff) installsAnew(name string) bool {
	if !d.unitState(name).enabled {
		return false
	}
	changes := false
	for _, e := range d.entries {
		changes = changes || ofUnit(e.path, name) && !e.matchesHost(d.facts.Nodes) && !d.subjects.isReportOnly(e.about)
	}
	for _, e := range d.leaving {
		changes = changes || ofUnit(e.path, name) && d.facts.Nodes[e.path].Type != resource.PathMissing
	}
	if !changes || !d.hasRecord {
		return changes
	}
	for _, e := range entriesOf(d.was) {
		if ofUnit(e.path, name) && !e.matchesHost(d.facts.Nodes) {
			return true // the old section is not known
		}
	}
	return installSection(d.was, name) != installSection(d.want, name)
}

// installSection returns the lines of all Install sections of a unit. For a file
// whose contents are not known, it returns the digest.
func installSection(c resource.Config, name string) string {
	var b strings.Builder
	add := func(text string) {
		inside := false
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "[") {
				inside = line == "[Install]"
			} else if inside && line != "" && line[0] != '#' && line[0] != ';' {
				b.WriteString(line + "\n")
			}
		}
	}
	for _, u := range c.Units {
		if u.Name == name || u.Name == unitTemplate(name) {
			add(u.Contents)
			for _, d := range u.Dropins {
				add(d.Contents)
			}
		}
	}
	for _, f := range c.Files {
		if ofUnit(f.Path, name) {
			b.WriteString(f.Digest + "\n")
		}
	}
	return b.String()
}

func isTrue(b *bool) bool { return b != nil && *b }

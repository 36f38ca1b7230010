package hostconfig

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
)

const absent = "absent"

func (x *configDiff) describeChange(c rules.Change) (before, after string) {
	switch c.Kind {
	case engine.UnitKind:
		return x.units.describeUnitChange(c.Name)
	case engine.UserKind:
		return x.accounts.describeUserChange(c.Name)
	case engine.GroupKind:
		return x.accounts.describeGroupChange(c.Name)
	default:
		return x.describeNodeChange(c)
	}
}

// describeNodeChange describes the change of a file, directory or link, or of
// the text that the configuration appends to a file.
func (x *configDiff) describeNodeChange(c rules.Change) (before, after string) {
	s := subject{c.Kind, c.Name}
	before, after = describeNode(x.facts.Nodes[c.Name]), absent
	if e, ok := x.entryOf(s); ok {
		return before, e.describeState()
	}
	if x.facts.Saved[c.Name] {
		after = "as it was before holdfast"
	}
	for _, e := range x.leaving {
		if _, stays := x.texts.remainingContents(e); stays && e.about == s {
			after = "without the text that holdfast appended"
		}
	}
	return before, after
}

func (x *configDiff) entryOf(s subject) (desiredEntry, bool) {
	i, found := slices.BinarySearchFunc(x.entries, s.name, func(e desiredEntry, path string) int { return strings.Compare(e.path, path) })
	if !found || x.entries[i].about != s {
		return desiredEntry{}, false
	}
	return x.entries[i], true
}

func describeNode(n resource.PathFacts) string {
	if n.Type == resource.PathMissing {
		return absent
	}
	s := pathState{kind: n.Type, mode: n.Mode, user: fmt.Sprint(n.UID), group: fmt.Sprint(n.GID), data: n.Digest}
	if n.Type == resource.PathLink {
		s.data = n.Target
	}
	if n.User != "" && n.UID != 0 {
		s.user = n.User
	}
	if n.Group != "" && n.GID != 0 {
		s.group = n.Group
	}
	return s.describeState()
}

func (s pathState) describeState() string {
	var parts []string
	switch {
	case s.hard:
		return "hard link to " + s.data
	case s.kind == resource.PathLink:
		parts = append(parts, "link to "+s.data)
	case s.kind == resource.PathFile:
		parts = append(parts, "sha256:"+engine.ShortDigest(s.data))
	default:
		parts = append(parts, string(s.kind))
	}
	if s.mode >= 0 && s.kind != resource.PathLink {
		parts = append(parts, fmt.Sprintf("%04o", s.mode))
	}
	if owner := describeOwner(s.user, s.group); owner != "" {
		parts = append(parts, owner)
	}
	return strings.Join(parts, " ")
}

func describeOwner(user, group string) string {
	if (user == "" || user == "0") && (group == "" || group == "0") {
		return ""
	}
	return strings.TrimSuffix(user+":"+group, ":")
}

func describeContents(contents string, observed resource.ObservedPath) string {
	switch {
	case observed == (resource.ObservedPath{}):
		return "sha256:" + engine.ShortDigest(resource.Digest([]byte(contents)))
	case observed.Digest == "":
		return string(observed.Type)
	default:
		return "sha256:" + engine.ShortDigest(observed.Digest)
	}
}

func describeUnit(u resource.Unit) string {
	var parts []string
	if u.Contents != "" || u.Observed != (resource.ObservedPath{}) {
		parts = append(parts, describeContents(u.Contents, u.Observed))
	}
	for _, d := range u.Dropins {
		parts = append(parts, d.Name+" "+describeContents(d.Contents, d.Observed))
	}
	for _, f := range []struct {
		is      *bool
		yes, no string
	}{{u.Enabled, "enabled", "disabled"}, {u.Masked, "masked", "not masked"}} {
		switch {
		case f.is != nil && *f.is:
			parts = append(parts, f.yes)
		case f.is != nil:
			parts = append(parts, f.no)
		}
	}
	if len(parts) == 0 {
		return "as the OS has it"
	}
	return strings.Join(parts, ", ")
}

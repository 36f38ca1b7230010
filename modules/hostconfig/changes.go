package hostconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
)

// listChanges returns the record as the one change if only the record differs.
func (x *configDiff) listChanges() []engine.Change {
	var list []engine.Change
	for _, c := range x.diff.Changes {
		before, after := x.describeChange(c)
		if before == after {
			before += map[bool]string{true: ", but others", false: ", not in effect"}[c.Kind == engine.UserKind || c.Kind == engine.GroupKind]
		}
		list = append(list, engine.Change{
			Module: engine.ConfigModule, Kind: c.Kind, Resource: c.Kind.String() + " " + x.nameOf(c.Name), Before: before, After: after,
			Rule: c.Rule, Verb: c.Verb, Reason: c.Reason, Drift: x.subjects.isDrift(subject{c.Kind, c.Name}), Actions: c.Actions,
			Warnings: x.changeWarnings(c), Login: x.touchesLogin(c), RebootClass: c.Class,
		})
	}
	if len(list) > 0 {
		list[0].Warnings = slices.Concat(x.removalWarnings(), x.args.stayingSettings(), x.units.skippedUnits(), list[0].Warnings)
	}
	if len(list) > 0 || x.matchesRecord() {
		return list
	}
	before, why := "absent", "the host matches; the record is needed to notice later removals from the configuration"
	if u := unfinishedWrite(x.facts.Applied); u != nil {
		before, why = "unfinished, by run "+u.Run, "the host matches, and that is not on record"
	} else if x.base.hasRecord {
		before, why = "of another configuration", "the difference concerns no files, units, users or groups"
	}
	return []engine.Change{{
		Module: engine.ConfigModule, Resource: engine.RecordResource, Before: before, After: "of this configuration", Verb: engine.Update, Reason: why, Warnings: slices.Concat(x.args.stayingSettings(), x.units.skippedUnits()),
		Rule: "built-in: a record changes nothing else", Actions: []engine.Action{{Type: engine.NoAction}},
	}}
}

func (x *configDiff) matchesRecord() bool {
	a := x.facts.Applied
	return a != nil && a.Unfinished == nil && sameRecord(withoutHostDigests(a.Config), x.desired)
}

// sameRecord reports whether two configurations have the same JSON. It compares
// files field by field, because encoding thousands of files takes long.
func sameRecord(a, b resource.Config) bool {
	if !slices.EqualFunc(a.Files, b.Files, sameRecordedFile) {
		return false
	}
	a.Files, b.Files = nil, nil
	x, _ := json.Marshal(a) // strings, numbers and lists always marshal
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func sameRecordedFile(a, b resource.File) bool {
	sameMode := a.Mode == nil && b.Mode == nil || a.Mode != nil && b.Mode != nil && *a.Mode == *b.Mode
	return sameMode && a.Path == b.Path && a.Digest == b.Digest && a.Owner == b.Owner && a.Inherit == b.Inherit && a.Keep == b.Keep &&
		bytes.Equal(a.Contents, b.Contents) && bytes.Equal(a.Append, b.Append)
}

func (x *configDiff) changeWarnings(c rules.Change) []string {
	if text := x.accounts.accountWarning(c.Name); c.Kind == engine.UserKind && text != "" {
		return []string{text}
	}
	return nil
}

func (x *configDiff) removalWarnings() []string {
	if countResources(x.want) != "" || countResources(x.was) == "" {
		return nil
	}
	why := "its documents say nothing any more"
	if x.noDocuments {
		why = "no document is left for it"
	}
	return []string{why + ": EVERYTHING that holdfast has made there is taken away: " + countResources(x.was)}
}

func countResources(c resource.Config) string {
	var list []string
	for _, kind := range []struct {
		n         int
		one, many string
	}{
		{len(c.Files), "file", "files"},
		{len(c.Directories), "directory", "directories"},
		{len(c.Links), "link", "links"},
		{len(c.Units), "unit", "units"},
		{len(c.Users), "user", "users"},
		{len(c.Groups), "group", "groups"},
	} {
		if kind.n > 0 {
			list = append(list, formatCount(kind.n, kind.one, kind.many))
		}
	}
	return strings.Join(list, ", ")
}

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

package hostconfig

import (
	"slices"
	"strings"

	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
	"holdfast/modules/hostconfig/observe"
)

// unitDir is the directory of units and their drop-ins, with a final slash.
const unitDir = hostscript.UnitDir + "/"

// maskTarget is the link target of a masked unit.
const maskTarget = "/dev/null"

// subject names the resource of a change, in the form of engine/rules.
type subject struct {
	domain rules.Domain
	name   string
}

// desiredEntry is a path that a configuration sets.
type desiredEntry struct {
	about   subject
	edit    pathEdit
	keep    bool          // an existing file at the path is a problem and stays
	inherit bool          // text is appended to the file
	write   func() []byte // returns the contents; nil: the contents are in Desired.Contents
}

func entriesOf(c resource.Config) []desiredEntry {
	list := make([]desiredEntry, 0, len(c.Directories)+len(c.Files)+len(c.Links)+len(c.Units))
	for _, d := range c.Directories {
		e := pathEdit{path: d.Path, kind: resource.PathDirectory, mode: modeOf(d.Mode), user: d.Owner.User, group: d.Owner.Group}
		list = append(list, desiredEntry{about: subject{rules.Directory, d.Path}, edit: e})
	}
	for _, f := range c.Files {
		e := pathEdit{path: f.Path, kind: resource.PathFile, mode: modeOf(f.Mode), user: f.Owner.User, group: f.Owner.Group, data: f.Digest}
		list = append(list, desiredEntry{about: subject{rules.File, f.Path}, edit: e, keep: f.Keep, inherit: f.Inherit})
	}
	for _, l := range c.Links {
		e := pathEdit{path: l.Path, kind: resource.PathLink, hard: l.Hard, mode: -1, user: l.Owner.User, group: l.Owner.Group, data: l.Target}
		list = append(list, desiredEntry{about: subject{rules.Link, l.Path}, edit: e, keep: l.Keep})
	}
	for _, u := range c.Units {
		list = append(list, unitEntries(u)...)
	}
	slices.SortStableFunc(list, func(a, b desiredEntry) int { return strings.Compare(a.edit.path, b.edit.path) })
	return list
}

func unitEntries(u resource.Unit) []desiredEntry {
	about := subject{rules.Unit, u.Name}
	file := func(path, text string) desiredEntry {
		e := pathEdit{path: path, kind: resource.PathFile, mode: 0o644, user: "0", group: "0", data: resource.Digest([]byte(text))}
		return desiredEntry{about: about, edit: e, write: func() []byte { return []byte(text) }}
	}
	var list []desiredEntry
	if u.Contents != "" {
		list = append(list, file(unitDir+u.Name, u.Contents))
	}
	if u.Masked != nil && *u.Masked {
		e := pathEdit{path: unitDir + u.Name, kind: resource.PathLink, mode: -1, user: "0", group: "0", data: maskTarget}
		list = append(list, desiredEntry{about: about, edit: e})
	}
	for _, d := range u.Dropins {
		list = append(list, file(unitDir+u.Name+".d/"+d.Name, d.Contents))
	}
	return list
}

func modeOf(mode *int) int {
	if mode == nil {
		return -1
	}
	return *mode
}

func (e desiredEntry) matchesHost(nodes map[string]resource.PathFacts) bool {
	n, want := nodes[e.edit.path], e.edit
	switch {
	case want.hard:
		other := nodes[want.data]
		return n.Type != resource.PathMissing && n.Inode != "" && n.Inode == other.Inode
	case n.Type != want.kind:
		return false
	case want.kind == resource.PathFile && n.Digest != want.data, want.kind == resource.PathLink && n.Target != want.data:
		return false
	case want.mode >= 0 && n.Mode != want.mode:
		return false
	}
	return observe.NamesAccount(want.user, n.UID, n.User) && observe.NamesAccount(want.group, n.GID, n.Group)
}

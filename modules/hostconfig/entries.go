package hostconfig

import (
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
)

// unitDir is the directory of units and their drop-ins, with a final slash.
const unitDir = hostscript.UnitDir + "/"

// maskTarget is the link target of a masked unit.
const maskTarget = "/dev/null"

// subject names the resource of a change, in the form of engine/rules.
type subject struct {
	domain engine.Kind
	name   string
}

// pathState is the state of a path that a configuration wants.
type pathState struct {
	path        string
	kind        resource.PathType // PathMissing: the path is removed, or its original is restored
	hard        bool              // the link is a hard link
	mode        int               // permission bits; -1: unchanged, or for new paths 0644, for new directories 0755
	user, group string            // names or decimal IDs; "": unchanged, or root for new paths
	data        string            // digest of the contents of a file, or target of a link
}

// desiredEntry is a path that a configuration sets.
type desiredEntry struct {
	pathState
	about   subject
	keep    bool   // an existing file at the path is a problem and stays
	inherit bool   // text is appended to the file
	text    string // contents of the file of a unit; Desired.Contents has the contents of other files
}

func entriesOf(c resource.Config) []desiredEntry {
	list := make([]desiredEntry, 0, len(c.Directories)+len(c.Files)+len(c.Links)+len(c.Units))
	for _, d := range c.Directories {
		s := pathState{path: d.Path, kind: resource.PathDirectory, mode: modeOf(d.Mode), user: d.Owner.User, group: d.Owner.Group}
		list = append(list, desiredEntry{about: subject{engine.DirectoryKind, d.Path}, pathState: s})
	}
	for _, f := range c.Files {
		s := pathState{path: f.Path, kind: resource.PathFile, mode: modeOf(f.Mode), user: f.Owner.User, group: f.Owner.Group, data: f.Digest}
		list = append(list, desiredEntry{about: subject{engine.FileKind, f.Path}, pathState: s, keep: f.Keep, inherit: f.Inherit})
	}
	for _, l := range c.Links {
		list = append(list, desiredEntry{about: subject{engine.LinkKind, l.Path}, pathState: linkState(l), keep: l.Keep})
	}
	for _, u := range c.Units {
		list = append(list, unitEntries(u)...)
	}
	slices.SortStableFunc(list, func(a, b desiredEntry) int { return strings.Compare(a.path, b.path) })
	return list
}

func linkState(l resource.Link) pathState {
	return pathState{path: l.Path, kind: resource.PathLink, hard: l.Hard, mode: -1, user: l.Owner.User, group: l.Owner.Group, data: l.Target}
}

func unitEntries(u resource.Unit) []desiredEntry {
	var list []desiredEntry
	if u.Contents != "" {
		list = append(list, unitFile(u))
	}
	if isTrue(u.Masked) {
		s := pathState{path: unitDir + u.Name, kind: resource.PathLink, mode: -1, user: "0", group: "0", data: maskTarget}
		list = append(list, desiredEntry{about: subject{engine.UnitKind, u.Name}, pathState: s})
	}
	for _, d := range u.Dropins {
		list = append(list, dropinFile(u.Name, d))
	}
	return list
}

func unitFile(u resource.Unit) desiredEntry { return newUnitEntry(u.Name, unitDir+u.Name, u.Contents) }

func dropinFile(unit string, d resource.Dropin) desiredEntry {
	return newUnitEntry(unit, unitDir+unit+".d/"+d.Name, d.Contents)
}

func newUnitEntry(unit, path, text string) desiredEntry {
	s := pathState{path: path, kind: resource.PathFile, mode: 0o644, user: "0", group: "0", data: resource.Digest([]byte(text))}
	return desiredEntry{about: subject{engine.UnitKind, unit}, pathState: s, text: text}
}

func modeOf(mode *int) int {
	if mode == nil {
		return -1
	}
	return *mode
}

// WithoutOSSettings returns a configuration without the settings that the OS
// module manages.
func WithoutOSSettings(c resource.Config) resource.Config {
	c.OSImage, c.ExtensionsImage, c.KernelType = "", "", ""
	c.Extensions, c.KernelArgs, c.NoKernelArgs = nil, nil, nil
	return c
}

func withoutHostDigests(c resource.Config) resource.Config {
	if !inheritsAny(c.Files) {
		return c
	}
	c.Files = slices.Clone(c.Files)
	for i := range c.Files {
		if c.Files[i].Inherit {
			c.Files[i].Digest, c.Files[i].Base = "", ""
		}
	}
	return c
}

func dropSubjects(c resource.Config, drop func(subject) bool) resource.Config {
	c.Files = dropMatching(c.Files, func(f resource.File) bool { return drop(subject{engine.FileKind, f.Path}) })
	c.Directories = dropMatching(c.Directories, func(d resource.Directory) bool { return drop(subject{engine.DirectoryKind, d.Path}) })
	c.Links = dropMatching(c.Links, func(l resource.Link) bool { return drop(subject{engine.LinkKind, l.Path}) })
	c.Units = dropMatching(c.Units, func(u resource.Unit) bool { return drop(subject{engine.UnitKind, u.Name}) })
	return c
}

func dropMatching[T any](list []T, drop func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), drop)
}

func appendMatching[T any](list, more []T, take func(T) bool) []T {
	list = slices.Clone(list)
	for _, m := range more {
		if take(m) {
			list = append(list, m)
		}
	}
	return list
}

func findFirst[T any](list []T, is func(T) bool) (found T, ok bool) {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i], true
	}
	return found, false
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}

func sortedSet(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

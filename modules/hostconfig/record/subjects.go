package record

import (
	"path"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
)

// OriginalsDir is the directory of the files that a configuration has replaced.
const OriginalsDir = engine.StateDir + "/originals"

// subjectLines returns sorted lines. Each has a kind (path, unit, user, group, or
// owner: an account that is only referred to), a space, and a name.
func subjectLines(configs ...resource.Config) []string {
	var list []string
	name := func(kind, name string) {
		if name != "" && strings.Trim(name, "0123456789") != "" { // else it is an ID
			list = append(list, kind+" "+name)
		}
	}
	owner := func(o resource.Owner) {
		name("owner", o.User)
		name("group", o.Group)
	}
	for _, c := range configs {
		for _, p := range Paths(c) {
			list = append(list, "path "+p)
		}
		for _, f := range c.Files {
			owner(f.Owner)
		}
		for _, d := range c.Directories {
			owner(d.Owner)
		}
		for _, l := range c.Links {
			owner(l.Owner)
		}
		for _, u := range c.Units {
			name("unit", u.Name)
		}
		for _, u := range c.Users {
			name("user", u.Name)
			name("group", u.Account.PrimaryGroup)
			for _, g := range u.Account.Groups {
				name("group", g)
			}
		}
		for _, g := range c.Groups {
			name("group", g.Name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func inheritLines(configs ...resource.Config) []string {
	var list []string
	for _, c := range configs {
		for _, f := range c.Files {
			if f.Inherit {
				list = append(list, "inherit "+f.Path+"//"+OriginalName(f.Path))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Subjects returns the lines that tell probe.sh which resources to probe, and
// which files to read because text is appended to them.
func Subjects(c resource.Config) []string {
	return append(subjectLines(c), inheritLines(c)...)
}

// Paths returns the sorted paths that a configuration sets, including those of
// units.
func Paths(c resource.Config) []string {
	var list []string
	for _, f := range c.Files {
		list = append(list, f.Path)
	}
	for _, d := range c.Directories {
		list = append(list, d.Path)
	}
	for _, l := range c.Links {
		if list = append(list, l.Path); l.Hard {
			list = append(list, l.Target)
		}
	}
	for _, u := range c.Units {
		list = append(list, hostscript.UnitDir+"/"+u.Name)
		for _, d := range u.Dropins {
			list = append(list, hostscript.UnitDir+"/"+u.Name+".d/"+d.Name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// OriginalName returns the file name of the original of a path, in the directory
// of originals. A file NAME.default in that directory means that the path had the
// default of the OS from /usr/etc. No original has a name that ends like this.
func OriginalName(p string) string {
	name := escapePath.Replace(path.Clean(p))
	if len(name) > 200 || strings.HasSuffix(name, DefaultMark) {
		return resource.Digest([]byte(p))
	}
	return name
}

var escapePath = strings.NewReplacer("%", "%25", "/", "%2F")

// DefaultMark ends the name of the file which says that the original of a path is
// the default of the OS.
const DefaultMark = ".default"

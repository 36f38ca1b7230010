package record

import (
	"path"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
)

// OriginalsDir is the directory on a host in which holdfast keeps the originals:
// the files that were there before a configuration replaced them.
const OriginalsDir = engine.StateDir + "/originals"

// subjectLines returns the resources of configurations as sorted lines. Each line
// has a kind, a space, and a name. The kinds are path, unit, user (an account
// that a configuration manages), owner (an account to which a path belongs) and
// group (of a path or an account, or one that a configuration manages). Accounts
// and groups that are given by their IDs have no line.
func subjectLines(configs ...resource.Config) []string {
	var list []string
	name := func(kind, name string) {
		if name != "" && strings.Trim(name, "0123456789") != "" { // a name of digits is an ID
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

// Subjects returns the lines that tell probe.sh which resources to probe. Lines of
// the kind inherit name the files to which a configuration appends text: probe.sh
// reads these files and their originals.
func Subjects(c resource.Config) []string {
	return append(subjectLines(c), inheritLines(c)...)
}

// Paths returns the sorted paths that a configuration sets, including those of
// units and drop-ins, and the targets of hard links.
func Paths(c resource.Config) []string {
	list := c.OwnPaths()
	for _, l := range c.Links {
		if l.Hard {
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

// OriginalName returns the name of the original of a path in OriginalsDir. If the
// original is the default of the OS, in /usr/etc, OriginalsDir has an empty file
// with this name and DefaultMark instead. So no name of an original ends with
// DefaultMark.
func OriginalName(p string) string {
	name := escapePath.Replace(path.Clean(p))
	if len(name) > 200 || strings.HasSuffix(name, DefaultMark) {
		return resource.Digest([]byte(p))
	}
	return name
}

var escapePath = strings.NewReplacer("%", "%25", "/", "%2F")

// DefaultMark is the end of the names of these empty files. See OriginalName.
const DefaultMark = ".default"

package config

import (
	"path"
	"slices"
	"strings"

	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
)

// standardLinks are the links of ostree hosts. Only facts tell which links a host
// really has, so plan compares paths again (see Links in package resource).
var standardLinks = resource.StandardLinks()

// treeEntry is a path that the merged documents set.
type treeEntry struct {
	path  string
	kind  string // file, directory or link
	place resource.SourcePosition
	unit  bool // the library knows no paths of units
}

func (b *builder) listTree() []treeEntry {
	var list []treeEntry
	for _, f := range b.out.Files {
		list = append(list, treeEntry{f.Path, "file", b.places.entryPlace("node "+f.Path, "path"), false})
	}
	for _, d := range b.out.Directories {
		list = append(list, treeEntry{d.Path, "directory", b.places.entryPlace("node "+d.Path, "path"), false})
	}
	for _, l := range b.out.Links {
		list = append(list, treeEntry{l.Path, "link", b.places.entryPlace("node "+l.Path, "path"), false})
	}
	for _, u := range b.out.Units {
		file, place := hostscript.UnitDir+"/"+u.Name, b.places.entryPlace("unit "+u.Name, "name")
		if u.Contents != "" || isTrue(u.Masked) {
			list = append(list, treeEntry{file, "file", place, true})
		}
		for _, d := range u.Dropins {
			list = append(list, treeEntry{file + ".d/" + d.Name, "file", place, true})
		}
	}
	return list
}

// checkTree refuses entries that cannot be on one host together: two spellings
// of one path, and entries below a file or link. The library reports links, and
// repeated paths, of one spelling.
func (b *builder) checkTree() {
	taken := map[string]treeEntry{}
	list := b.listTree()
	for _, e := range list {
		p := standardLinks.Resolve(e.path)
		if other, ok := taken[p]; ok && other.path != e.path {
			b.problems.AddError(e.place, "is the same path as %s on an ostree host, whose links lead to %s; keep one of them", other.path, p)
		}
		taken[p] = e
	}
	for _, e := range list {
		p := standardLinks.Resolve(e.path)
		for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
			other, ok := taken[dir]
			if !ok || other.kind == "directory" {
				continue
			}
			if other.kind == "link" && !e.unit && strings.HasPrefix(e.path, other.path+"/") {
				break // reported by the library
			}
			b.problems.AddError(e.place, "is below %s, which is a %s in the documents; use another path", other.path, other.kind)
			break
		}
	}
}

// maxName and maxPath are the limits of Linux, in bytes.
const (
	maxName = 255
	maxPath = 4095
)

func pathLengthProblem(p string) string {
	switch {
	case len(p) > maxPath:
		return "is longer than 4095 bytes, which no host can open; use a shorter path"
	case slices.ContainsFunc(strings.Split(p, "/"), func(name string) bool { return len(name) > maxName }):
		return "has a name longer than 255 bytes, which no file system can store; use a shorter one"
	}
	return ""
}

// systemDirectories are directories of the OS in which a host looks for its own
// programs and settings. Another owner or mode there would let an account
// take over the host, or keep its services out.
var systemDirectories = []string{
	"/bin", "/boot", "/etc", "/etc/ssh", "/etc/sudoers.d", "/etc/systemd", "/etc/systemd/system", "/home", "/lib", "/lib64", "/sbin",
	"/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/local/bin", "/usr/local/sbin", "/usr/sbin", "/var", "/var/home", "/var/lib", "/var/usrlocal",
}

// systemDirectoryProblem returns why a directory of the OS must not get an owner
// or a mode; "" if it may.
func systemDirectoryProblem(p string, mode *int, owner resource.Owner) (field, problem string) {
	if !slices.Contains(systemDirectories, p) {
		return "", ""
	}
	for _, o := range []struct{ field, name string }{{"user", owner.User}, {"group", owner.Group}} {
		if o.name != "" && o.name != "0" {
			return o.field, "is not root, and the directory belongs to the OS; leave it out, or name a directory below"
		}
	}
	if mode == nil || *mode&0o022 == 0 && *mode&0o555 == 0o555 || strings.HasSuffix(p, "sudoers.d") && *mode&0o022 == 0 {
		return "", ""
	}
	return "mode", "would let others write to a directory of the OS, or keep its services out; leave it out, or set 0755"
}

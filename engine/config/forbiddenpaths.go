package config

import (
	"strings"

	"holdfast/engine"
	"holdfast/engine/config/syntax"
)

// forbiddenPath is a path that no document may write, including everything
// below it.
type forbiddenPath struct {
	path   string
	reason string // cause and next step
	above  bool   // no file or link may replace a parent directory either
}

var forbiddenPaths = listForbiddenPaths()

func listForbiddenPaths() []forbiddenPath {
	var list []forbiddenPath
	add := func(above bool, reason string, paths ...string) {
		for _, p := range paths {
			list = append(list, forbiddenPath{path: p, reason: reason, above: above})
		}
	}
	add(true, "is where holdfast keeps its own state; use another path", engine.OwnPaths()...)
	for _, base := range []string{"/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow"} {
		add(true, "is where the host keeps its accounts, and other programs write it too; use passwd.users and passwd.groups", base, base+"-")
	}
	add(false, "is the kernel's and not stored anywhere; use sysctl.d or a kernel argument", "/proc")
	add(false, "is the kernel's and not stored anywhere; use tmpfiles.d or a udev rule", "/sys", "/dev")
	add(false, "is emptied at every boot; use tmpfiles.d or a persistent path", "/run", "/var/run", "/var/lock")
	return list
}

// refusePath refuses a forbidden path. A directory may be a parent of such a
// path; a file or a link may not.
func (d *document) refusePath(path string, isDirectory bool, at syntax.FieldPath) {
	for _, f := range forbiddenPaths {
		switch {
		case path == f.path || strings.HasPrefix(path, f.path+"/"):
			d.addError(at, "%s", f.reason)
			return
		case path != "" && f.above && !isDirectory && strings.HasPrefix(f.path, path+"/"):
			d.addError(at, "is a directory above %s, which %s", f.path, f.reason)
			return
		}
	}
}

func (d *document) refuseUnit(name string, dropins []string, at syntax.FieldPath) {
	path := engine.UnitDir + "/" + name
	d.refusePath(path, false, at.With("name"))
	for i, dropin := range dropins {
		d.refusePath(path+".d/"+dropin, false, at.With("dropins", i, "name"))
	}
}

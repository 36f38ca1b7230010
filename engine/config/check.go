package config

import (
	"path"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"holdfast/engine/config/syntax"
	"holdfast/engine/hostscript"
)

// ignitionCheck checks the Ignition config of a document.
type ignitionCheck struct{ *document }

// checkIgnition refuses settings that Ignition accepts but that cannot be applied to a running host.
func (v ignitionCheck) checkIgnition() {
	c := v.ignition
	for i := range c.Storage.Files {
		v.checkFile(&c.Storage.Files[i], syntax.FieldPath{"storage", "files", i})
	}
	for i, f := range c.Storage.Directories {
		at := syntax.FieldPath{"storage", "directories", i}
		v.checkNode(f.Node, at)
		v.refusePath(f.Path, true, at.With("path"))
		if field, problem := systemDirectoryProblem(f.Path, f.Mode, nodeOwner(f.Node, "")); problem != "" {
			v.addError(at.With(field), "%s", problem)
		}
	}
	for i, l := range c.Storage.Links {
		at := syntax.FieldPath{"storage", "links", i}
		v.checkNode(l.Node, at)
		v.refusePath(l.Path, false, at.With("path"))
		if l.Target != nil && isTrue(l.Hard) {
			v.refusePath(*l.Target, false, at.With("target"))
		}
		if l.Target != nil && hasControlCharacters(*l.Target) {
			v.addError(at.With("target"), "has control characters; correct it")
		}
	}
	for i, u := range c.Systemd.Units {
		v.checkUnit(u, syntax.FieldPath{"systemd", "units", i})
	}
	v.checkKernelArguments()
	v.checkPasswd()
}

func (v ignitionCheck) checkFile(f *types.File, at syntax.FieldPath) {
	v.checkNode(f.Node, at)
	v.refusePath(f.Path, false, at.With("path"))
	v.decodeContents(&f.Contents, at.With("contents"))
	if f.Contents.Source != nil && len(f.Append) == 0 {
		for _, wrong := range checkContents(f.Path, v.contents.contentOf(f.Contents).data) {
			v.addError(at.With("contents"), "%s", wrong)
		}
	}
	for i := range f.Append {
		v.decodeContents(&f.Append[i], at.With("append", i))
	}
}

func (v ignitionCheck) checkNode(n types.Node, at syntax.FieldPath) {
	if n.Path == "" {
		return // the library reports the missing path
	}
	if hasControlCharacters(n.Path) {
		v.addError(at.With("path"), "has control characters; correct it")
	}
	if problem := pathLengthProblem(n.Path); problem != "" {
		v.addError(at.With("path"), "%s", problem)
	}
	if n.Path == "/" {
		v.addError(at.With("path"), "is the root directory; name something below it")
	}
	for _, o := range []struct {
		field string
		id    *int
		name  *string
	}{{"user", n.User.ID, n.User.Name}, {"group", n.Group.ID, n.Group.Name}} {
		if o.name != nil && *o.name != "" && !accountPattern.MatchString(*o.name) {
			v.addError(at.With(o.field, "name"), "is not a name; use letters, digits and _ . - (an ID goes into id)")
		}
		if o.id != nil && *o.id < 0 {
			v.addError(at.With(o.field, "id"), "is negative; correct it")
		}
	}
}

func (v ignitionCheck) checkUnit(u types.Unit, at syntax.FieldPath) {
	v.checkUnitSyntax(u.Contents, at.With("contents"))
	for i, x := range u.Dropins {
		v.checkUnitSyntax(x.Contents, at.With("dropins", i, "contents"))
	}
	var dropins []string
	for _, x := range u.Dropins {
		dropins = append(dropins, x.Name)
	}
	v.refuseUnit(u.Name, dropins, at)
	if !isUnitName(u.Name) {
		v.addError(at.With("name"), "is not the name of a unit; use letters, digits and : _ . - @ \\")
	}
	if isTrue(u.Mask) && !v.rendered { // a rendered document has the contents and the mask of different documents
		if u.Enabled != nil && *u.Enabled {
			v.addError(at.With("enabled"), "is true, and the unit is masked; keep one")
		}
		if u.Contents != nil && *u.Contents != "" {
			v.addError(at.With("contents"), "has no effect, because the unit is masked; keep one")
		}
	}
	for i, x := range u.Dropins {
		if !isUnitName(x.Name) || path.Base(x.Name) != x.Name {
			v.addError(at.With("dropins", i, "name"), "is not a file name; use letters, digits and : _ . - @")
		}
	}
}

func (v ignitionCheck) checkKernelArguments() {
	k := v.ignition.KernelArguments
	for i, a := range k.ShouldExist {
		if reason := kernelArgProblem(string(a)); reason != "" {
			v.addError(syntax.FieldPath{"kernelArguments", "shouldExist", i}, "%s", reason)
		}
	}
	for i, a := range k.ShouldNotExist {
		if reason := kernelArgProblem(string(a)); reason != "" {
			v.addError(syntax.FieldPath{"kernelArguments", "shouldNotExist", i}, "%s", reason)
		}
	}
}

// forbiddenPath is a path that no document may write, including everything
// below it.
type forbiddenPath struct {
	path   string
	reason string // cause and next step
	above  bool   // also, no file or link may replace a directory above the path
}

const ownPathReason = "is where holdfast keeps its own state; use another path"

var forbiddenPaths = listForbiddenPaths()

func listForbiddenPaths() []forbiddenPath {
	var list []forbiddenPath
	add := func(above bool, reason string, paths ...string) {
		for _, p := range paths {
			list = append(list, forbiddenPath{path: p, reason: reason, above: above})
		}
	}
	add(true, ownPathReason, hostscript.OwnPaths()...)
	for _, base := range []string{"/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow"} {
		add(true, "is where the host keeps its accounts, and other programs write it too; use passwd.users and passwd.groups", base, base+"-")
	}
	for _, path := range []string{"/etc/subuid", "/etc/subgid"} {
		add(true, "is where the host keeps subordinate IDs, and useradd writes it too; add a line with a oneshot unit: "+
			"ExecStart=/bin/sh -c 'grep -q ^USER: "+path+" || echo USER:FIRST:COUNT >>"+path+"'", path, path+"-")
	}
	add(false, "belongs to the kernel and is not on a disk; use sysctl.d or a kernel argument", "/proc")
	add(false, "belongs to the kernel and is not on a disk; use tmpfiles.d or a udev rule", "/sys", "/dev")
	add(false, "is emptied at every boot; use tmpfiles.d or a persistent path", "/run", "/var/run", "/var/lock")
	add(true, "is where ostree keeps the operating systems and its settings; set the OS in the inventory", "/ostree", "/sysroot")
	return list
}

// refusePath reports a path that no document may write. A directory may be a parent of a
// forbidden path; a file or link may not.
func (v ignitionCheck) refusePath(path string, isDirectory bool, at syntax.FieldPath) {
	if isOwnDropin(path) {
		v.addError(at, "%s", ownPathReason)
		return
	}
	for _, f := range forbiddenPaths {
		if reason := f.refusePath(path, isDirectory); reason != "" {
			v.addError(at, "%s", reason)
			return
		}
	}
}

// refusePath returns why a document must not write this path; "" if it may.
func (f forbiddenPath) refusePath(path string, isDirectory bool) string {
	path, forbidden := standardLinks.Resolve(path), standardLinks.Resolve(f.path)
	switch {
	case path == forbidden || strings.HasPrefix(path, forbidden+"/"):
		return f.reason
	case path != "" && f.above && !isDirectory && strings.HasPrefix(forbidden, path+"/"):
		return "is a directory above " + f.path + ", which " + f.reason
	}
	return ""
}

// refuseOwnFolders refuses entries in folders that belong to holdfast only on these
// hosts. It checks the merged documents, because other hosts, where such entries are
// allowed, share the documents themselves.
func (b *builder) refuseOwnFolders(folders []string) {
	for _, folder := range folders {
		own := forbiddenPath{folder, "is where holdfast keeps keys and certificates of etcd on this host; use another path, or leave the block ca out of the cluster", true}
		refuse := func(path string, isDirectory bool, entry, field string) {
			if reason := own.refusePath(path, isDirectory); reason != "" {
				b.problems.AddError(b.places.entryPlace("node "+entry, field), "%s", reason)
			}
		}
		for _, f := range b.merged.Storage.Files {
			refuse(f.Path, false, f.Path, "path")
		}
		for _, f := range b.merged.Storage.Directories {
			refuse(f.Path, true, f.Path, "path")
		}
		for _, l := range b.merged.Storage.Links {
			refuse(l.Path, false, l.Path, "path")
			if l.Hard != nil && *l.Hard && l.Target != nil {
				refuse(*l.Target, false, l.Path, "target")
			}
		}
	}
}

func isOwnDropin(path string) bool {
	rest, ok := strings.CutPrefix(path, hostscript.UnitDir+"/")
	folder, rest, _ := strings.Cut(rest, "/")
	name, _, _ := strings.Cut(rest, "/")
	return ok && strings.HasSuffix(folder, ".d") && slices.Contains(hostscript.OwnDropins(), name)
}

func (v ignitionCheck) refuseUnit(name string, dropins []string, at syntax.FieldPath) {
	path := hostscript.UnitDir + "/" + name
	v.refusePath(path, false, at.With("name"))
	for i, dropin := range dropins {
		v.refusePath(path+".d/"+dropin, false, at.With("dropins", i, "name"))
	}
}

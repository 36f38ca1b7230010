package config

import (
	"path"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_5/types"

	"holdfast/engine/config/syntax"
	"holdfast/engine/hostscript"
)

// checkIgnition refuses settings that Ignition accepts but that cannot be applied to a running host.
func (d *document) checkIgnition() {
	c := d.ignition
	if len(c.Ignition.Config.Merge) > 0 {
		d.addError(syntax.FieldPath{"ignition", "config", "merge"}, "is not supported on running hosts; add that config to the documents, which are merged by name")
	}
	if r := c.Ignition.Config.Replace; r.Source != nil {
		d.addError(syntax.FieldPath{"ignition", "config", "replace"}, "is not supported on running hosts; use that config instead of this one")
	}
	for i := range c.Storage.Files {
		d.checkFile(&c.Storage.Files[i], syntax.FieldPath{"storage", "files", i})
	}
	for i, f := range c.Storage.Directories {
		at := syntax.FieldPath{"storage", "directories", i}
		d.checkNode(f.Node, at)
		d.refusePath(f.Path, true, at.With("path"))
		if f.Overwrite != nil && *f.Overwrite {
			d.addError(at.With("overwrite"), "would delete existing files of a running host; remove it")
		}
	}
	for i, l := range c.Storage.Links {
		at := syntax.FieldPath{"storage", "links", i}
		d.checkNode(l.Node, at)
		d.refusePath(l.Path, false, at.With("path"))
		if l.Target != nil && isTrue(l.Hard) {
			d.refusePath(*l.Target, false, at.With("target"))
		}
		if l.Target != nil && hasControlCharacters(*l.Target) {
			d.addError(at.With("target"), "has control characters; correct it")
		}
	}
	for i, u := range c.Systemd.Units {
		d.checkUnit(u, syntax.FieldPath{"systemd", "units", i})
	}
	d.checkKernelArguments()
	d.checkPasswd()
}

func (d *document) checkFile(f *types.File, at syntax.FieldPath) {
	d.checkNode(f.Node, at)
	d.refusePath(f.Path, false, at.With("path"))
	d.decodeContents(&f.Contents, at.With("contents"))
	if f.Contents.Source != nil && len(f.Append) == 0 {
		for _, wrong := range checkContents(f.Path, d.contents.contentOf(f.Contents).data) {
			d.addError(at.With("contents"), "%s", wrong)
		}
	}
	for i := range f.Append {
		d.decodeContents(&f.Append[i], at.With("append", i))
	}
}

func (d *document) checkNode(n types.Node, at syntax.FieldPath) {
	if n.Path == "" {
		return // the library reports the missing path
	}
	if hasControlCharacters(n.Path) {
		d.addError(at.With("path"), "has control characters; correct it")
	}
	if n.Path == "/" {
		d.addError(at.With("path"), "is the root directory; name something below it")
	}
	for _, o := range []struct {
		field string
		id    *int
		name  *string
	}{{"user", n.User.ID, n.User.Name}, {"group", n.Group.ID, n.Group.Name}} {
		if o.name != nil && *o.name != "" && !accountPattern.MatchString(*o.name) {
			d.addError(at.With(o.field, "name"), "is not a name; use letters, digits and _ . - (an ID goes into id)")
		}
		if o.id != nil && *o.id < 0 {
			d.addError(at.With(o.field, "id"), "is negative; correct it")
		}
	}
}

func (d *document) checkUnit(u types.Unit, at syntax.FieldPath) {
	d.checkUnitSyntax(u.Contents, at.With("contents"))
	for i, x := range u.Dropins {
		d.checkUnitSyntax(x.Contents, at.With("dropins", i, "contents"))
	}
	var dropins []string
	for _, x := range u.Dropins {
		dropins = append(dropins, x.Name)
	}
	d.refuseUnit(u.Name, dropins, at)
	if !isUnitName(u.Name) {
		d.addError(at.With("name"), "is not the name of a unit; use letters, digits and : _ . - @ \\")
	}
	if u.Mask != nil && *u.Mask {
		if u.Enabled != nil && *u.Enabled {
			d.addError(at.With("enabled"), "is true, and the unit is masked; keep one")
		}
		if u.Contents != nil && *u.Contents != "" {
			d.addError(at.With("contents"), "has no effect, because the unit is masked; keep one")
		}
	}
	for i, x := range u.Dropins {
		if !isUnitName(x.Name) || path.Base(x.Name) != x.Name {
			d.addError(at.With("dropins", i, "name"), "is not a file name; use letters, digits and : _ . - @")
		}
	}
}

func (d *document) checkKernelArguments() {
	k := d.ignition.KernelArguments
	for i, a := range k.ShouldExist {
		if reason := argumentProblem(string(a)); reason != "" {
			d.addError(syntax.FieldPath{"kernelArguments", "shouldExist", i}, "%s", reason)
		}
	}
	for i, a := range k.ShouldNotExist {
		if reason := argumentProblem(string(a)); reason != "" {
			d.addError(syntax.FieldPath{"kernelArguments", "shouldNotExist", i}, "%s", reason)
		}
	}
}

// forbiddenPath is a path that no document may write, including everything
// below it.
type forbiddenPath struct {
	path   string
	reason string // cause and next step
	above  bool   // no file or link may replace a parent directory either
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
	for _, base := range []string{"/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "/etc/subuid", "/etc/subgid"} {
		add(true, "is where the host keeps its accounts, and other programs write it too; use passwd.users and passwd.groups", base, base+"-")
	}
	add(false, "is the kernel's and not stored anywhere; use sysctl.d or a kernel argument", "/proc")
	add(false, "is the kernel's and not stored anywhere; use tmpfiles.d or a udev rule", "/sys", "/dev")
	add(false, "is emptied at every boot; use tmpfiles.d or a persistent path", "/run", "/var/run", "/var/lock")
	return list
}

// refusePath allows a directory, but no file or link, to be a parent of a forbidden path.
func (d *document) refusePath(path string, isDirectory bool, at syntax.FieldPath) {
	if isOwnDropin(path) {
		d.addError(at, "%s", ownPathReason)
		return
	}
	for _, f := range forbiddenPaths {
		if reason := f.refusePath(path, isDirectory); reason != "" {
			d.addError(at, "%s", reason)
			return
		}
	}
}

// refusePath returns why a document must not write this path; "" if it may.
func (f forbiddenPath) refusePath(path string, isDirectory bool) string {
	switch {
	case path == f.path || strings.HasPrefix(path, f.path+"/"):
		return f.reason
	case path != "" && f.above && !isDirectory && strings.HasPrefix(f.path, path+"/"):
		return "is a directory above " + f.path + ", which " + f.reason
	}
	return ""
}

// refuseOwnFolders refuses entries in folders that are holdfast's own on these
// hosts only. It looks at the merged documents: the documents themselves are
// shared with other hosts, which may have such entries.
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

func (d *document) refuseUnit(name string, dropins []string, at syntax.FieldPath) {
	path := hostscript.UnitDir + "/" + name
	d.refusePath(path, false, at.With("name"))
	for i, dropin := range dropins {
		d.refusePath(path+".d/"+dropin, false, at.With("dropins", i, "name"))
	}
}

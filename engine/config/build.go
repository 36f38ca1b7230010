package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"holdfast/engine/config/syntax"
	"holdfast/engine/resource"
)

// builder builds a resource.Config from merged and checked documents.
type builder struct {
	docs     []*document
	merged   types.Config
	spec     machineSpec
	places   places
	problems *syntax.Problems
	contents *contentStore
	osImage  string // the default: the image that the host runs now
	out      resource.Config
}

func (b *builder) buildConfig() {
	b.buildSystem()
	b.buildFiles()
	b.buildUnits()
	b.buildAccounts()
	b.out.Fixed = b.buildFixed()
}

func (b *builder) buildSystem() {
	b.out.OSImage = b.spec.OSImageURL
	b.out.KernelType = b.spec.KernelType
	b.out.Extensions = sortUnique(b.spec.Extensions)
	if b.spec.hasOtherKernel() || len(b.out.Extensions) > 0 { // nothing else comes from this image
		b.out.ExtensionsImage = b.spec.BaseOSExtensionsContainerImage
	}
	for _, a := range b.spec.KernelArguments {
		b.out.KernelArgs = append(b.out.KernelArgs, resource.NormalizeKernelArgs(a)...)
	}
	b.addKernelArguments()
	b.out.NoKernelArgs = sortUnique(b.out.NoKernelArgs)
	if b.spec.hasOtherKernel() && slices.Contains(b.out.Extensions, "kernel-devel") {
		b.problems.AddError(b.extensionPlace("kernel-devel"), "requires the default kernel, but the kernel type is %s; remove one", b.out.KernelType)
	}
}

// addKernelArguments has the effect of Ignition, which removes first, and then
// appends each entry unless its arguments are there next to each other: the
// order within an entry matters.
func (b *builder) addKernelArguments() {
	machine, single, inRow := b.out.KernelArgs, map[string]bool{}, map[string]bool{}
	for _, s := range b.merged.KernelArguments.ShouldExist {
		args := resource.NormalizeKernelArgs(string(s))
		if !containsRow(b.out.KernelArgs, args) {
			b.out.KernelArgs = append(b.out.KernelArgs, args...)
		}
		for _, a := range args {
			single[a], inRow[a] = single[a] || len(args) == 1, inRow[a] || len(args) > 1
		}
	}
	for _, s := range b.merged.KernelArguments.ShouldNotExist {
		for _, a := range resource.NormalizeKernelArgs(string(s)) {
			at := b.places.entryPlace("without " + string(s))
			switch {
			case inRow[a]: // removed where it is, and appended in its row
			case slices.Contains(machine, a):
				b.problems.AddError(at, "is also required by a document; keep one")
			case single[a]:
				b.problems.AddWarning(at, "is also required by a document, which wins; remove one")
			}
			if !slices.Contains(b.out.KernelArgs, a) {
				b.out.NoKernelArgs = append(b.out.NoKernelArgs, a)
			}
		}
	}
}

// containsRow reports whether list has the elements of row next to each other.
func containsRow(list, row []string) bool {
	for i := range len(list) - len(row) + 1 {
		if slices.Equal(list[i:i+len(row)], row) {
			return true
		}
	}
	return false
}

func (b *builder) extensionPlace(name string) resource.SourcePosition {
	for _, d := range slices.Backward(b.docs) {
		if i := slices.Index(d.spec.Extensions, name); i >= 0 {
			return d.specPlace("extensions", i)
		}
	}
	return resource.SourcePosition{}
}

func sortUnique(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

func (b *builder) buildFiles() {
	for _, f := range b.merged.Storage.Files {
		b.out.Files = append(b.out.Files, b.buildFile(f))
	}
	for _, d := range b.merged.Storage.Directories {
		b.out.Directories = append(b.out.Directories, resource.Directory{Path: d.Path, Mode: d.Mode, Owner: nodeOwner(d.Node, ""), From: b.places.entryPlace("node " + d.Path)})
	}
	for _, l := range b.merged.Storage.Links {
		link := resource.Link{Path: l.Path, Hard: isTrue(l.Hard), Keep: isFalse(l.Overwrite), From: b.places.entryPlace("node " + l.Path)}
		if l.Target != nil {
			link.Target = *l.Target
		}
		if !link.Hard {
			link.Owner = nodeOwner(l.Node, "0")
		}
		b.out.Links = append(b.out.Links, link)
	}
	slices.SortFunc(b.out.Files, func(x, y resource.File) int { return strings.Compare(x.Path, y.Path) })
	slices.SortFunc(b.out.Directories, func(x, y resource.Directory) int { return strings.Compare(x.Path, y.Path) })
	slices.SortFunc(b.out.Links, func(x, y resource.Link) int { return strings.Compare(x.Path, y.Path) })
}

func (b *builder) buildFile(f types.File) resource.File {
	at := b.places.entryPlace("node " + f.Path)
	out := resource.File{Path: f.Path, Mode: f.Mode, From: at}
	own := b.contents.contentOf(f.Contents)
	out.Contents, out.Sum = own.data, own.digest
	if out.Append = b.joinAppended(f, len(own.data)); len(out.Append) > 0 {
		out.Sum = ""
	}
	out.Inherit = f.Contents.Source == nil
	if out.Inherit {
		out.Owner = nodeOwner(f.Node, "")
		return out
	}
	out.Owner, out.Keep = nodeOwner(f.Node, "0"), isFalse(f.Overwrite)
	if out.Mode == nil {
		mode := 0o644 // the Machine Config Operator's default, and Ignition's
		out.Mode = &mode
	}
	return out
}

// joinAppended returns the contents that documents append to a file whose own
// contents have the given size. It counts them before it copies them: the same
// contents may be appended to the files of many hosts.
func (b *builder) joinAppended(f types.File, own int) []byte {
	size := 0
	for _, r := range f.Append {
		size += len(b.contents.contentOf(r).data)
	}
	if size == 0 {
		return nil
	}
	at := b.places.entryPlace("node " + f.Path)
	if most := b.contents.limits.file; own+size > most {
		b.problems.AddError(at, "append: the file is larger than %d MiB; put files of that size into the OS image", most>>20)
		return nil
	}
	kept := size
	if f.Contents.Source != nil { // the complete file is kept, too
		kept += own + size
	}
	if wrong := b.contents.countBytes(kept); wrong != "" {
		b.problems.AddError(at, "append: %s", wrong)
		return nil
	}
	joined := make([]byte, 0, size)
	for _, r := range f.Append {
		joined = append(joined, b.contents.contentOf(r).data...)
	}
	return joined
}

func nodeOwner(n types.Node, fallback string) resource.Owner {
	return resource.Owner{User: accountName(n.User.ID, n.User.Name, fallback), Group: accountName(n.Group.ID, n.Group.Name, fallback)}
}

func accountName(id *int, name *string, fallback string) string {
	switch {
	case id != nil:
		return strconv.Itoa(*id)
	case name == nil || *name == "":
		return fallback
	case *name == "root":
		return "0"
	}
	return *name
}

func isTrue(b *bool) bool { return b != nil && *b }

func isFalse(b *bool) bool { return b != nil && !*b }

// buildUnits skips empty units: a document that sets empty contents withdraws those of an earlier document.
func (b *builder) buildUnits() {
	byController := map[string]bool{} // whether a controller made the last document that enables or disables the unit
	for _, d := range b.docs {
		for _, u := range d.ignition.Systemd.Units {
			if u.Enabled != nil {
				byController[u.Name] = d.generated || d.rendered
			}
		}
	}
	for _, u := range b.merged.Systemd.Units {
		unit := resource.Unit{Name: u.Name, Enabled: u.Enabled, Masked: u.Mask, From: b.places.entryPlace("unit " + u.Name)}
		if u.Contents != nil {
			unit.Contents = *u.Contents
		}
		for _, d := range u.Dropins {
			if d.Contents != nil && *d.Contents != "" {
				unit.Dropins = append(unit.Dropins, resource.Dropin{Name: d.Name, Contents: *d.Contents})
			}
		}
		if isTrue(u.Mask) { // a later document masks the unit, so its contents have no effect
			unit.Contents, unit.Enabled = "", nil
		}
		unit.IfPresent = isTrue(unit.Enabled) && byController[u.Name]
		if unit.Contents == "" && len(unit.Dropins) == 0 && unit.Enabled == nil && unit.Masked == nil {
			continue
		}
		slices.SortFunc(unit.Dropins, func(x, y resource.Dropin) int { return strings.Compare(x.Name, y.Name) })
		b.out.Units = append(b.out.Units, unit)
	}
	slices.SortFunc(b.out.Units, func(x, y resource.Unit) int { return strings.Compare(x.Name, y.Name) })
}

func (b *builder) buildAccounts() {
	for _, u := range b.merged.Passwd.Users {
		user := resource.User{Name: u.Name, PasswordHash: stringOrEmpty(u.PasswordHash), Account: userAccount(u), From: b.places.entryPlace("user " + u.Name)}
		for _, k := range u.SSHAuthorizedKeys {
			user.SSHKeys = append(user.SSHKeys, keyLines(string(k))...)
		}
		user.SSHKeys = sortUnique(user.SSHKeys)
		b.out.Users = append(b.out.Users, user)
	}
	for _, g := range b.merged.Passwd.Groups {
		b.out.Groups = append(b.out.Groups, resource.Group{
			Name: g.Name, Absent: isFalse(g.ShouldExist), GID: g.Gid, PasswordHash: stringOrEmpty(g.PasswordHash), System: isTrue(g.System),
			From: b.places.entryPlace("group " + g.Name),
		})
	}
	slices.SortFunc(b.out.Users, func(x, y resource.User) int { return strings.Compare(x.Name, y.Name) })
	slices.SortFunc(b.out.Groups, func(x, y resource.Group) int { return strings.Compare(x.Name, y.Name) })
}

func userAccount(u types.PasswdUser) resource.Account {
	a := resource.Account{
		Absent: isFalse(u.ShouldExist), UID: u.UID, PrimaryGroup: stringOrEmpty(u.PrimaryGroup), Gecos: stringOrEmpty(u.Gecos), HomeDir: stringOrEmpty(u.HomeDir), Shell: stringOrEmpty(u.Shell),
		NoCreateHome: isTrue(u.NoCreateHome), NoUserGroup: isTrue(u.NoUserGroup), NoLogInit: isTrue(u.NoLogInit), System: isTrue(u.System),
	}
	for _, g := range u.Groups {
		a.Groups = append(a.Groups, string(g))
	}
	a.Groups = sortUnique(a.Groups)
	return a
}

func stringOrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

package hostconfig

import (
	"slices"
	"strconv"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
	"holdfast/modules/hostconfig/observe"
)

// comparedConfig decides how the differences of each resource count, from the
// changes of the documents. It returns the observed configuration, without
// resources that have not taken effect. If the documents change a unit or user,
// it returns the applied version: only that version has the settings that the
// documents have dropped.
func (x *configDiff) comparedConfig(documents rules.Diff, repair bool) resource.Config {
	x.subjects = newSubjectStates(x.base, documents, repair)
	x.accounts = &accountDiff{facts: x.facts, was: x.was, want: x.want, subjects: x.subjects}
	x.accounts.origins = x.accounts.findOrigins()
	x.units = &unitDiff{facts: x.facts, was: x.was, want: x.want, entries: x.entries, leaving: x.leaving, hasRecord: x.base.hasRecord, subjects: x.subjects}
	x.markFollowingLinks()
	was := x.withoutMoved(x.was)
	was.Units = x.units.withoutMissingUnits(was.Units)
	old := resource.Config{Fixed: was.Fixed}
	old.Files = comparedResources(x, resourceSides[resource.File]{engine.FileKind, was.Files, x.want.Files, func(f resource.File) string { return f.Path }, x.seenFile})
	old.Directories = comparedResources(x, resourceSides[resource.Directory]{engine.DirectoryKind, was.Directories, x.want.Directories, func(d resource.Directory) string { return d.Path }, x.seenDirectory})
	old.Links = comparedResources(x, resourceSides[resource.Link]{engine.LinkKind, was.Links, x.want.Links, func(l resource.Link) string { return l.Path }, x.seenLink})
	old.Units = comparedResources(x, resourceSides[resource.Unit]{engine.UnitKind, was.Units, x.want.Units, func(u resource.Unit) string { return u.Name }, x.units.seenUnit})
	old.Users = comparedResources(x, resourceSides[resource.User]{engine.UserKind, was.Users, x.want.Users, func(u resource.User) string { return u.Name }, x.accounts.seenUser})
	x.accounts.replaceGroups(old.Users)
	old.Groups = comparedResources(x, resourceSides[resource.Group]{engine.GroupKind, was.Groups, x.want.Groups, func(g resource.Group) string { return g.Name }, x.accounts.seenGroup})
	return old
}

// resourceSides has the resources of one kind in two configurations.
type resourceSides[T any] struct {
	domain    engine.Kind
	was, want []T
	name      func(T) string
	see       func(T) (T, bool) // returns the resource as observed, or false if the host does not have the resource
}

func comparedResources[T any](x *configDiff, r resourceSides[T]) []T {
	before := make(map[string]T, len(r.was))
	for _, a := range r.was {
		before[r.name(a)] = a
	}
	list := make([]T, 0, len(r.want))
	wanted := make(map[string]bool, len(r.want))
	for _, w := range r.want {
		s := subject{r.domain, r.name(w)}
		wanted[s.name] = true
		a, had := before[s.name]
		switch seen, there := r.see(w); {
		case x.base.hasRecord && x.subjects.changed[s] && had && (x.subjects.needsRedo(s) || slices.Contains([]engine.Kind{engine.UnitKind, engine.UserKind, engine.GroupKind}, r.domain)):
			list = append(list, a)
		case x.subjects.isReportOnly(s):
			list = append(list, w)
		case x.subjects.needsRedo(s): // the resource exists, but has no effect yet, or must be linked to its new target
		case there:
			list = append(list, seen)
		}
	}
	for _, a := range r.was {
		if s := (subject{r.domain, r.name(a)}); !wanted[s.name] && !x.needsNoRemoval(s) {
			list = append(list, a)
		}
	}
	return list
}

// needsNoRemoval reports whether a resource that leaves the configuration needs
// no change, because the resource does not exist, or existed before holdfast.
func (x *configDiff) needsNoRemoval(s subject) bool {
	switch {
	case x.subjects.needsRedo(s):
		return false
	case s.domain == engine.DirectoryKind && x.facts.Applied != nil && slices.Contains(x.facts.Applied.Existed, s.name):
		return true
	case s.domain == engine.FileKind, s.domain == engine.LinkKind, s.domain == engine.DirectoryKind:
		return x.facts.Nodes[s.name].Type == resource.PathMissing && !x.facts.Saved[s.name]
	}
	return false
}

func (x *configDiff) seenFile(f resource.File) (resource.File, bool) {
	n := x.facts.Nodes[f.Path]
	if n.Type == resource.PathMissing {
		return f, false
	}
	if n.Type != resource.PathFile || n.Digest != f.Digest {
		f.Observed, f.Contents = observedPath(n), n.Contents
	}
	if f.Mode == nil || *f.Mode != n.Mode {
		if f.Mode != nil {
			f.Mode = &n.Mode
		}
	}
	f.Owner = seenOwner(f.Owner, n)
	return f, true
}

func observedPath(n resource.PathFacts) resource.ObservedPath {
	return resource.ObservedPath{Type: n.Type, Digest: n.Digest, Target: n.Target}
}

func seenOwner(o resource.Owner, n resource.PathFacts) resource.Owner {
	if !observe.NamesAccount(o.User, n.UID, n.User) {
		o.User = strconv.Itoa(n.UID)
	}
	if !observe.NamesAccount(o.Group, n.GID, n.Group) {
		o.Group = strconv.Itoa(n.GID)
	}
	return o
}

func (x *configDiff) seenDirectory(d resource.Directory) (resource.Directory, bool) {
	n := x.facts.Nodes[d.Path]
	if n.Type != resource.PathDirectory {
		return d, false
	}
	if d.Mode != nil && *d.Mode != n.Mode {
		d.Mode = &n.Mode
	}
	d.Owner = seenOwner(d.Owner, n)
	return d, true
}

func (x *configDiff) seenLink(l resource.Link) (resource.Link, bool) {
	n := x.facts.Nodes[l.Path]
	s := linkState(l)
	s.user, s.group = "", ""
	switch {
	case n.Type == resource.PathMissing:
		return l, false
	case !s.matchesHost(x.facts.Nodes):
		l.Observed = observedPath(n)
	}
	if !l.Hard {
		l.Owner = seenOwner(l.Owner, n)
	}
	return l, true
}

func (want pathState) matchesHost(nodes map[string]resource.PathFacts) bool {
	n := nodes[want.path]
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

// subjectStates tells how differences of resources count.
type subjectStates struct {
	repair         bool             // drift is repaired, not only reported
	onRecord       bool             // the host has a record, and no unfinished write
	changed        map[subject]bool // resources that differ between the baseline and the documents
	followingLinks map[subject]bool // hard links whose targets are replaced
	notInEffect    map[string]bool  // resources changed by an unfinished write: they may not be in effect
}

func newSubjectStates(b *baseline, documents rules.Diff, repair bool) *subjectStates {
	onRecord := b.hasRecord && unfinishedWrite(b.facts.Applied) == nil
	return &subjectStates{repair: repair, onRecord: onRecord, changed: changedSubjects(documents), followingLinks: map[subject]bool{}, notInEffect: setOf(b.touched)}
}

func changedSubjects(d rules.Diff) map[subject]bool {
	changed := make(map[subject]bool, len(d.Changes))
	for _, c := range d.Changes {
		changed[subject{c.Kind, c.Name}] = true
	}
	return changed
}

// isDrift reports whether a difference was not caused by the documents or by an
// unfinished write.
func (s *subjectStates) isDrift(of subject) bool {
	return s.onRecord && !s.changed[of] && !s.followingLinks[of]
}

func (s *subjectStates) isReportOnly(of subject) bool { return !s.repair && s.isDrift(of) }

func (s *subjectStates) needsRedo(of subject) bool {
	return s.followingLinks[of] || len(s.notInEffect) > 0 && s.notInEffect[of.String()]
}

// markFollowingLinks marks hard links whose targets are replaced. Such a link
// must be replaced, too, because it would still link to the old file.
func (x *configDiff) markFollowingLinks() {
	replaced := map[string]bool{}
	for _, e := range x.entries {
		replaced[e.path] = !e.matchesHost(x.facts.Nodes) && !x.subjects.isReportOnly(e.about)
	}
	for _, e := range x.entries {
		if e.hard && replaced[e.data] {
			x.subjects.followingLinks[e.about] = true
		}
	}
}

// withoutMoved returns a configuration without the parts whose paths another
// resource of the documents has now, such as a file that becomes a drop-in. Their
// paths do not leave the host: only the other resource tells how they change.
func (x *configDiff) withoutMoved(c resource.Config) resource.Config {
	now, was := ownersOf(x.entries), ownersOf(entriesOf(c))
	moved := func(domain engine.Kind, name, path string) bool {
		s := subject{domain, name}
		other, stays := now[path]
		return stays && other != s && !x.subjects.needsRedo(s)
	}
	c.Files = dropMatching(c.Files, func(f resource.File) bool { return moved(engine.FileKind, f.Path, f.Path) })
	c.Directories = dropMatching(c.Directories, func(d resource.Directory) bool { return moved(engine.DirectoryKind, d.Path, d.Path) })
	c.Links = dropMatching(c.Links, func(l resource.Link) bool { return moved(engine.LinkKind, l.Path, l.Path) })
	units := make([]resource.Unit, 0, len(c.Units))
	for _, u := range c.Units {
		file := unitDir + u.Name
		had := len(unitEntries(u)) > 0
		if moved(engine.UnitKind, u.Name, file) {
			u.Contents = ""
			if isTrue(u.Masked) {
				u.Masked = nil
			}
		}
		u.Dropins = slices.DeleteFunc(slices.Clone(u.Dropins), func(d resource.Dropin) bool {
			return moved(engine.UnitKind, u.Name, file+".d/"+d.Name)
		})
		if had && len(unitEntries(u)) == 0 && u.Enabled == nil && u.Masked == nil {
			continue
		}
		units = append(units, x.withMovedDropins(u, was))
	}
	c.Units = units
	return c
}

// withMovedDropins returns a unit of the earlier configuration with the drop-ins
// that another resource had, and that the host has as the documents want them.
func (x *configDiff) withMovedDropins(u resource.Unit, was map[string]subject) resource.Unit {
	wanted, _ := findUnit(x.want.Units, u.Name)
	for _, d := range wanted.Dropins {
		e := dropinFile(u.Name, d)
		other, had := was[e.path]
		if had && other != e.about && !x.subjects.needsRedo(other) && e.matchesHost(x.facts.Nodes) {
			u.Dropins = append(slices.Clone(u.Dropins), d)
		}
	}
	return u
}

func ownersOf(entries []desiredEntry) map[string]subject {
	owners := make(map[string]subject, len(entries))
	for _, e := range entries {
		owners[e.path] = e.about
	}
	return owners
}

package hostconfig

import (
	"reflect"
	"slices"
	"strconv"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/observe"
)

// comparedConfig returns the observed configuration, without resources that have
// not taken effect. If the documents change a unit or user, it returns the
// applied version: only that version has the settings that the documents have
// dropped.
func (x *configDiff) comparedConfig() resource.Config {
	was := x.withoutMoved(x.was)
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

func (s subject) String() string { return string(s.domain) + " " + s.name }

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

func sameAccount(a, b resource.Account) bool { return reflect.DeepEqual(a, b) }

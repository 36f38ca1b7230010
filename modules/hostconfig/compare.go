package hostconfig

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine/resource"
	"holdfast/engine/rules"
	"holdfast/modules/hostconfig/observe"
)

// comparedConfig returns the observed configuration, without resources that have
// not taken effect. If the documents change a unit or user, it returns the
// applied version: only that version has the settings that the documents have
// dropped.
func (x *configDiff) comparedConfig() resource.Config {
	old := resource.Config{Fixed: x.was.Fixed}
	old.Files = comparedResources(x, resourceSides[resource.File]{rules.File, x.was.Files, x.want.Files, func(f resource.File) string { return f.Path }, x.seenFile})
	old.Directories = comparedResources(x, resourceSides[resource.Directory]{rules.Directory, x.was.Directories, x.want.Directories, func(d resource.Directory) string { return d.Path }, x.seenDirectory})
	old.Links = comparedResources(x, resourceSides[resource.Link]{rules.Link, x.was.Links, x.want.Links, func(l resource.Link) string { return l.Path }, x.seenLink})
	old.Units = comparedResources(x, resourceSides[resource.Unit]{rules.Unit, x.was.Units, x.want.Units, func(u resource.Unit) string { return u.Name }, x.seenUnit})
	old.Users = comparedResources(x, resourceSides[resource.User]{rules.User, x.was.Users, x.want.Users, func(u resource.User) string { return u.Name }, x.seenUser})
	old.Groups = comparedResources(x, resourceSides[resource.Group]{rules.User, x.was.Groups, x.want.Groups, func(g resource.Group) string { return rules.GroupName(g.Name) }, x.seenGroup})
	return old
}

// resourceSides has the resources of one kind in two configurations.
type resourceSides[T any] struct {
	domain    rules.Domain
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
		case x.hasRecord && x.changedSubjects[s] && had && (x.needsRedo(s) || r.domain == rules.Unit || r.domain == rules.User):
			list = append(list, a)
		case x.isReportOnly(s):
			list = append(list, w)
		case x.needsRedo(s): // the resource exists, but has no effect yet, or must be linked to its new target
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

func (x *configDiff) needsRedo(s subject) bool {
	return x.followingLinks[s] || len(x.notInEffect) > 0 && x.notInEffect[s.String()]
}

// needsNoRemoval reports whether a resource that leaves the configuration needs
// no change, because the resource does not exist, or existed before holdfast.
func (x *configDiff) needsNoRemoval(s subject) bool {
	switch {
	case x.needsRedo(s):
		return false
	case s.domain == rules.Directory && x.facts.Applied != nil && slices.Contains(x.facts.Applied.Existed, s.name):
		return true
	case s.domain == rules.File, s.domain == rules.Link, s.domain == rules.Directory:
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
		f.Digest, f.Contents = string(n.Type)+" "+n.Digest, n.Contents
	}
	if f.Mode == nil || *f.Mode != n.Mode {
		if f.Mode != nil {
			f.Mode = &n.Mode
		}
	}
	f.Owner = seenOwner(f.Owner, n)
	return f, true
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
	e := pathEdit{path: l.Path, kind: resource.PathLink, hard: l.Hard, mode: -1, data: l.Target}
	switch {
	case n.Type == resource.PathMissing:
		return l, false
	case !(desiredEntry{edit: e}).matchesHost(x.facts.Nodes):
		l.Target = string(n.Type) + " " + n.Target
	}
	if !l.Hard {
		l.Owner = seenOwner(l.Owner, n)
	}
	return l, true
}

func (x *configDiff) seenUnit(u resource.Unit) (resource.Unit, bool) {
	there := false
	node := x.facts.Nodes[unitDir+u.Name]
	masked := node.Type == resource.PathLink && node.Target == maskTarget
	dropins, hasContents := u.Dropins, u.Contents != ""
	if hasContents {
		there = there || node.Type != resource.PathMissing
		if !unitEntries(resource.Unit{Name: u.Name, Contents: u.Contents})[0].matchesHost(x.facts.Nodes) {
			u.Contents, u.Observed = "", resource.ObservedFile{Type: node.Type, Digest: node.Digest}
		}
	}
	u.Dropins = nil
	for _, d := range dropins {
		e := unitEntries(resource.Unit{Name: u.Name, Dropins: []resource.Dropin{d}})[0]
		n := x.facts.Nodes[e.edit.path]
		if n.Type == resource.PathMissing {
			continue
		}
		there = true
		if !e.matchesHost(x.facts.Nodes) {
			d.Contents, d.Observed = "", resource.ObservedFile{Type: n.Type, Digest: n.Digest}
		}
		u.Dropins = append(u.Dropins, d)
	}
	if u.Masked != nil {
		there = there || masked || !*u.Masked
		u.Masked = &masked
	}
	if state := x.facts.Units[u.Name]; u.Enabled != nil {
		exists := state != "not-found" && state != ""
		nothing := !hasContents && len(dropins) == 0 && !*u.Enabled // a missing unit is not enabled
		there = there || exists || nothing
		if !enabledAs(state, *u.Enabled) {
			is := !*u.Enabled
			u.Enabled = &is
		}
	}
	return u, there
}

// enabledAs reports whether a state that systemctl is-enabled prints is the
// wanted state. A unit that cannot be enabled or disabled (static, generated …)
// always is in the wanted state.
func enabledAs(state string, wanted bool) bool {
	switch state {
	case "enabled":
		return wanted
	case "disabled", "not-found", "masked", "enabled-runtime", "masked-runtime", "linked", "linked-runtime", "bad", "":
		return !wanted
	}
	return true
}

func (x *configDiff) seenUser(u resource.User) (resource.User, bool) {
	login, there := x.facts.Users[u.Name]
	if u.Account.Absent {
		u.Account.Absent = !there
		return u, true
	}
	if !there {
		return u, false
	}
	if keys := sortedSet(login.Keys); len(u.SSHKeys) > 0 && !slices.Equal(keys, sortedSet(u.SSHKeys)) {
		u.SSHKeys = keys
	}
	if u.PasswordHash != "" && u.PasswordHash != login.Password {
		u.PasswordHash, u.ObservedHash = "", login.Password
	}
	u.Account, u.Retired = seenAccount(u.Account, login), x.isRetired(u.Name)
	return u, true
}

func seenAccount(a resource.Account, l resource.Login) resource.Account {
	if a.UID != nil && *a.UID != l.UID {
		a.UID = &l.UID
	}
	if a.PrimaryGroup != "" && a.PrimaryGroup != l.Group && a.PrimaryGroup != strconv.Itoa(l.GID) {
		a.PrimaryGroup = l.Group
	}
	supplementary := func(list []string) []string {
		return slices.DeleteFunc(sortedSet(list), func(g string) bool { return g == l.Group })
	}
	if groups := supplementary(l.Groups); len(a.Groups) > 0 && !slices.Equal(supplementary(a.Groups), groups) {
		a.Groups = groups
	}
	for _, f := range []struct{ want, is *string }{{&a.Gecos, &l.Gecos}, {&a.HomeDir, &l.Home}, {&a.Shell, &l.Shell}} {
		if *f.want != "" && strings.TrimSuffix(*f.want, "/") != strings.TrimSuffix(*f.is, "/") {
			*f.want = *f.is
		}
	}
	return a
}

func (x *configDiff) seenGroup(g resource.Group) (resource.Group, bool) {
	gid, there := x.facts.Groups[g.Name]
	if g.Absent {
		g.Absent = !there
		return g, true
	}
	if there && g.GID != nil && *g.GID != gid {
		g.GID = &gid
	}
	return g, there
}

func sortedSet(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

func sameAccount(a, b resource.Account) bool { return reflect.DeepEqual(a, b) }

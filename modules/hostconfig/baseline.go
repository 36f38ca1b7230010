package hostconfig

import (
	"cmp"
	"slices"

	"holdfast/engine/resource"
	"holdfast/engine/rules"
)

// findBaseline sets x.was to the state that holdfast has given the host. If a
// write is unfinished and the host has booted since then, everything that was
// written is in effect, and removals that the write did not reach are still to
// do. If the host has not booted, the record is valid, and everything else that
// the write may have created must be removed.
func (x *configDiff) findBaseline(want resource.Config) {
	a := x.facts.Applied
	if a == nil {
		x.was = want
		return
	}
	x.hasRecord, x.was = true, x.withFoundDigests(WithoutOSSettings(a.Config))
	u := a.Unfinished
	if u == nil {
		x.markOwned(x.was)
		return
	}
	x.ownedBefore = setOf(u.Ours)
	x.was = filterWritten(x.was, x.wasWritten)
	next := filterWritten(x.withFoundDigests(WithoutOSSettings(u.Config)), x.wasWritten)
	x.markOwned(x.was)
	x.markOwned(next)
	if u.Boot != x.boot {
		before := map[subject]bool{}
		for _, e := range entriesOf(x.was) {
			before[e.about] = true
		}
		next = filterWritten(next, func(e desiredEntry) bool { return !before[e.about] || e.matchesHost(x.facts.Nodes) })
		there := func(e desiredEntry) bool { return x.facts.Nodes[e.edit.path].Type != resource.PathMissing }
		x.was = x.withDeletedAccounts(filterWritten(x.joinConfigs(next, x.was, x.wasWritten), there), want)
		return
	}
	wanted := map[subject]bool{}
	for _, e := range entriesOf(want) {
		wanted[e.about] = true
	}
	x.was = x.joinConfigs(x.was, next, func(e desiredEntry) bool { return x.wasWritten(e) && !wanted[e.about] })
	for _, name := range u.Touched {
		x.notInEffect[name] = true
	}
}

func (x *configDiff) markOwned(c resource.Config) {
	for _, e := range entriesOf(c) {
		x.owned[e.edit.path] = true
	}
}

// filterWritten keeps the parts of a configuration that holdfast wrote and has
// not removed. Anything else at these paths belongs to the host.
func filterWritten(next resource.Config, has func(desiredEntry) bool) resource.Config {
	ours := map[subject]bool{}
	for _, e := range entriesOf(next) {
		ours[e.about] = ours[e.about] || has(e)
	}
	units := map[subject]bool{} // units without files
	for _, u := range next.Units {
		units[subject{rules.Unit, u.Name}] = len(unitEntries(u)) == 0
	}
	return dropSubjects(next, func(s subject) bool { return !ours[s] && !units[s] })
}

// wasWritten reports whether holdfast wrote an entry and has not removed it. This
// is so if the host matches the entry, or the original is still kept, or holdfast
// owned the path before the unfinished write and the original was not restored.
func (x *configDiff) wasWritten(e desiredEntry) bool {
	return e.matchesHost(x.facts.Nodes) || x.facts.Saved[e.edit.path] || x.ownedBefore[e.edit.path]
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}

// joinConfigs returns first, and adds the resources of second that are missing in
// first and that the host has.
func (x *configDiff) joinConfigs(first, second resource.Config, has func(desiredEntry) bool) resource.Config {
	there := map[string]bool{}
	for _, e := range entriesOf(first) {
		there[e.edit.path] = true
	}
	whole := map[subject]bool{} // in second and on the host, but not in first
	for _, e := range entriesOf(second) {
		if !there[e.edit.path] && has(e) {
			whole[e.about] = true
		}
	}
	first.Files = appendMatching(first.Files, second.Files, func(f resource.File) bool { return whole[subject{rules.File, f.Path}] })
	first.Directories = appendMatching(first.Directories, second.Directories, func(d resource.Directory) bool { return whole[subject{rules.Directory, d.Path}] })
	first.Links = appendMatching(first.Links, second.Links, func(l resource.Link) bool { return whole[subject{rules.Link, l.Path}] })
	names := map[string]bool{}
	for _, u := range first.Units {
		names[u.Name] = true
	}
	first.Units = appendMatching(first.Units, second.Units, func(u resource.Unit) bool { return whole[subject{rules.Unit, u.Name}] && !names[u.Name] })
	first.Users = x.joinUsers(first.Users, second.Users)
	first.Groups = x.joinGroups(first.Groups, second.Groups)
	return first
}

// joinUsers returns the users of first, and the users that only second has. If
// first desires a user to be absent who still exists, joinUsers returns the user
// of second. If first sets no hash or no SSH keys for a user, joinUsers keeps
// those of second: an interrupted write may not have removed them.
func (x *configDiff) joinUsers(first, second []resource.User) []resource.User {
	list := slices.Clone(first)
	at := map[string]int{}
	for i, u := range list {
		at[u.Name] = i
	}
	for _, u := range second {
		i, both := at[u.Name]
		_, exists := x.facts.Users[u.Name]
		switch {
		case !both:
			list = append(list, u)
		case u.Account.Absent:
		case list[i].Account.Absent && exists:
			list[i] = u
		case !list[i].Account.Absent:
			list[i].PasswordHash = cmp.Or(list[i].PasswordHash, u.PasswordHash)
			if len(list[i].SSHKeys) == 0 {
				list[i].SSHKeys = u.SSHKeys
			}
		}
	}
	return list
}

// withDeletedAccounts replaces users and groups of was that are desired to be
// absent and do not exist. Such accounts are deleted already, so deleting them
// causes no second reboot.
func (x *configDiff) withDeletedAccounts(was, want resource.Config) resource.Config {
	gone := map[string]bool{}
	for _, u := range want.Users {
		_, exists := x.facts.Users[u.Name]
		gone[u.Name] = u.Account.Absent && !exists
	}
	for _, g := range want.Groups {
		_, exists := x.facts.Groups[g.Name]
		gone[groupName(g.Name)] = g.Absent && !exists
	}
	was.Users = dropMatching(was.Users, func(u resource.User) bool { return gone[u.Name] })
	was.Users = appendMatching(was.Users, want.Users, func(u resource.User) bool { return gone[u.Name] })
	was.Groups = dropMatching(was.Groups, func(g resource.Group) bool { return gone[groupName(g.Name)] })
	was.Groups = appendMatching(was.Groups, want.Groups, func(g resource.Group) bool { return gone[groupName(g.Name)] })
	return was
}

// joinGroups joins groups as joinUsers joins users. It omits a group that only
// second has and that has no hash: holdfast leaves such a group on the host.
func (x *configDiff) joinGroups(first, second []resource.Group) []resource.Group {
	list := slices.Clone(first)
	at := map[string]int{}
	for i, g := range list {
		at[g.Name] = i
	}
	for _, g := range second {
		i, both := at[g.Name]
		_, exists := x.facts.Groups[g.Name]
		switch {
		case !both && g.PasswordHash == "":
		case !both:
			list = append(list, g)
		case g.Absent:
		case list[i].Absent && exists:
			list[i] = g
		case !list[i].Absent:
			list[i].PasswordHash = cmp.Or(list[i].PasswordHash, g.PasswordHash)
		}
	}
	return list
}

func appendMatching[T any](list, more []T, take func(T) bool) []T {
	list = slices.Clone(list)
	for _, m := range more {
		if take(m) {
			list = append(list, m)
		}
	}
	return list
}

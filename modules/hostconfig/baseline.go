package hostconfig

import (
	"cmp"
	"slices"

	"holdfast/engine"
	"holdfast/engine/resource"
)

// baseline is the state that holdfast has given a host, or has tried to give it.
type baseline struct {
	facts       resource.ConfigFacts
	config      resource.Config
	hasRecord   bool            // config is from a record; otherwise it is the desired configuration
	owned       map[string]bool // paths that holdfast owns
	ownedBefore map[string]bool // paths that holdfast owned before an unfinished write
	touched     []string        // resources that an unfinished write of this boot has changed: they may not be in effect
}

// newBaseline finds the baseline of a host. If a write is unfinished and a reboot has
// brought everything that was written into effect, removals that the write did not
// reach are still to do. If there was no such reboot, the record is valid, and everything else that the write may have created must be
// removed.
func newBaseline(f resource.ConfigFacts, boot resource.BootID, want resource.Config) *baseline {
	b, texts := &baseline{facts: f, owned: map[string]bool{}}, appendedTexts{f}
	a := f.Applied
	if a == nil {
		b.config = want
		return b
	}
	b.hasRecord = true
	was, u := texts.withFoundDigests(WithoutOSSettings(a.Config)), a.Unfinished
	if u == nil {
		b.config = was
		b.markOwned(was)
		return b
	}
	b.ownedBefore = setOf(u.Ours)
	was = filterWritten(was, b.wasWritten)
	next := filterWritten(texts.withFoundDigests(WithoutOSSettings(u.Config)), b.wasWritten)
	b.markOwned(was)
	b.markOwned(next)
	if hasTakenEffect(u, boot) {
		before := subjectsOf(was)
		next = filterWritten(next, func(e desiredEntry) bool { return !before[e.about] || e.matchesHost(f.Nodes) })
		there := func(e desiredEntry) bool { return f.Nodes[e.path].Type != resource.PathMissing }
		b.config = b.withDeletedAccounts(filterWritten(b.joinConfigs(next, was, b.wasWritten), there), want)
		return b
	}
	wanted := subjectsOf(want)
	b.config = b.joinConfigs(was, next, func(e desiredEntry) bool { return b.wasWritten(e) && !wanted[e.about] })
	b.touched = u.Touched
	return b
}

// hasTakenEffect reports whether the host has rebooted since an unfinished write, so
// that everything that was written is in effect. A soft reboot is enough if all
// changes of the write belong to classes that allow it, and no action failed: it
// keeps the state of the kernel, such as its network and its parameters.
func hasTakenEffect(u *resource.UnfinishedWrite, boot resource.BootID) bool {
	return !boot.SharesKernel(u.Boot) || u.SoftIsEnough && u.FailedAction == "" && boot.IsSoftRebootOf(u.Boot)
}

func (b *baseline) markOwned(c resource.Config) {
	for _, e := range entriesOf(c) {
		b.owned[e.path] = true
	}
}

// wasWritten reports whether holdfast wrote an entry and has not removed it. This
// is so if the host matches the entry, or the original is still kept, or holdfast
// owned the path before the unfinished write and the original was not restored.
func (b *baseline) wasWritten(e desiredEntry) bool {
	return e.matchesHost(b.facts.Nodes) || b.facts.Saved[e.path] || b.ownedBefore[e.path]
}

// joinConfigs returns first, and adds the resources of second that are missing in
// first and that the host has.
func (b *baseline) joinConfigs(first, second resource.Config, has func(desiredEntry) bool) resource.Config {
	there := map[string]bool{}
	for _, e := range entriesOf(first) {
		there[e.path] = true
	}
	whole := map[subject]bool{} // in second and on the host, but not in first
	for _, e := range entriesOf(second) {
		if !there[e.path] && has(e) {
			whole[e.about] = true
		}
	}
	first.Files = appendMatching(first.Files, second.Files, func(f resource.File) bool { return whole[subject{engine.FileKind, f.Path}] })
	first.Directories = appendMatching(first.Directories, second.Directories, func(d resource.Directory) bool { return whole[subject{engine.DirectoryKind, d.Path}] })
	first.Links = appendMatching(first.Links, second.Links, func(l resource.Link) bool { return whole[subject{engine.LinkKind, l.Path}] })
	names := map[string]bool{}
	for _, u := range first.Units {
		names[u.Name] = true
	}
	first.Units = appendMatching(first.Units, second.Units, func(u resource.Unit) bool { return whole[subject{engine.UnitKind, u.Name}] && !names[u.Name] })
	first.Users = b.joinUsers(first.Users, second.Users)
	first.Groups = b.joinGroups(first.Groups, second.Groups)
	return first
}

// joinUsers returns the users of first, and the users that only second has. If
// first desires a user to be absent who still exists, joinUsers returns the user
// of second. If first sets no hash or no SSH keys for a user, joinUsers keeps
// those of second: an interrupted write may not have removed them.
func (b *baseline) joinUsers(first, second []resource.User) []resource.User {
	list := slices.Clone(first)
	at := map[string]int{}
	for i, u := range list {
		at[u.Name] = i
	}
	for _, u := range second {
		i, both := at[u.Name]
		_, exists := b.facts.Users[u.Name]
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
func (b *baseline) withDeletedAccounts(was, want resource.Config) resource.Config {
	gone := map[string]bool{}
	for _, u := range want.Users {
		_, exists := b.facts.Users[u.Name]
		gone[u.Name] = u.Account.Absent && !exists
	}
	for _, g := range want.Groups {
		_, exists := b.facts.Groups[g.Name]
		gone[groupKey(g.Name)] = g.Absent && !exists
	}
	was.Users = dropMatching(was.Users, func(u resource.User) bool { return gone[u.Name] })
	was.Users = appendMatching(was.Users, want.Users, func(u resource.User) bool { return gone[u.Name] })
	was.Groups = dropMatching(was.Groups, func(g resource.Group) bool { return gone[groupKey(g.Name)] })
	was.Groups = appendMatching(was.Groups, want.Groups, func(g resource.Group) bool { return gone[groupKey(g.Name)] })
	return was
}

// joinGroups joins groups as joinUsers joins users. It omits a group that only
// second has and that has no hash: holdfast leaves such a group on the host.
func (b *baseline) joinGroups(first, second []resource.Group) []resource.Group {
	list := slices.Clone(first)
	at := map[string]int{}
	for i, g := range list {
		at[g.Name] = i
	}
	for _, g := range second {
		i, both := at[g.Name]
		_, exists := b.facts.Groups[g.Name]
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

// filterWritten keeps the parts of a configuration that holdfast wrote and has
// not removed. Anything else at these paths belongs to the host.
func filterWritten(next resource.Config, has func(desiredEntry) bool) resource.Config {
	ours := map[subject]bool{}
	for _, e := range entriesOf(next) {
		ours[e.about] = ours[e.about] || has(e)
	}
	units := map[subject]bool{} // units without files
	for _, u := range next.Units {
		units[subject{engine.UnitKind, u.Name}] = len(unitEntries(u)) == 0
	}
	return dropSubjects(next, func(s subject) bool { return !ours[s] && !units[s] })
}

func subjectsOf(c resource.Config) map[subject]bool {
	set := map[subject]bool{}
	for _, e := range entriesOf(c) {
		set[e.about] = true
	}
	return set
}

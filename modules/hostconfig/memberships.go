package hostconfig

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
)

// The groups of a user in a document are added to the groups that the host has
// given the user. (Ignition replaces the groups of an existing user, which has only
// those of the image at that time.) holdfast takes away only groups that it has added
// itself, see resource.Record.

func isMember(l resource.Login, group string) bool {
	return l.Group == group || slices.Contains(l.Groups, group)
}

// missingGroups returns the desired groups that a user does not have.
func (a *accountDiff) missingGroups(want resource.User) (missing []string) {
	login, exists := a.facts.Users[want.Name]
	for _, g := range want.Account.Groups {
		if !(exists && isMember(login, g)) && !slices.Contains(missing, g) {
			missing = append(missing, g)
		}
	}
	return missing
}

// partedGroups returns the groups that holdfast has added to a user who still has
// them, and that the user is not to have any more.
func (a *accountDiff) partedGroups(want resource.User) []string {
	if a.facts.Applied == nil {
		return nil
	}
	login := a.facts.Users[want.Name]
	return sortedSet(dropMatching(a.facts.Applied.Joined[want.Name], func(g string) bool {
		return !isMember(login, g) || slices.Contains(want.Account.Groups, g)
	}))
}

// managedGroups returns the observed groups of a desired user without the groups
// that the host has given the user.
func (a *accountDiff) managedGroups(want resource.User) []string {
	missing, parted := a.missingGroups(want), a.partedGroups(want)
	if len(missing) == 0 && len(parted) == 0 {
		return want.Account.Groups
	}
	has := dropMatching(want.Account.Groups, func(g string) bool { return slices.Contains(missing, g) })
	return append(has, parted...)
}

// replaceGroups gives users of the compared configuration their observed groups.
// A recorded configuration cannot tell which of its groups holdfast has added.
func (a *accountDiff) replaceGroups(users []resource.User) {
	for i, u := range users {
		w, wanted := findUser(a.want.Users, u.Name)
		_, exists := a.facts.Users[u.Name]
		s := subject{engine.UserKind, u.Name}
		if wanted && exists && !w.Account.Absent && !u.Account.Absent && !a.subjects.needsRedo(s) && !a.subjects.isReportOnly(s) {
			users[i].Account.Groups = a.managedGroups(w)
		}
	}
}

// joinedDuringWrite returns the groups that holdfast has added, and those that the
// write adds.
func (a *accountDiff) joinedDuringWrite() map[string][]string {
	joined := map[string][]string{}
	if a.facts.Applied != nil {
		maps.Copy(joined, a.facts.Applied.Joined)
	}
	for _, u := range a.want.Users {
		if missing := a.missingGroups(u); len(missing) > 0 && !u.Account.Absent && !a.subjects.isReportOnly(subject{engine.UserKind, u.Name}) {
			joined[u.Name] = sortedSet(slices.Concat(joined[u.Name], missing))
		}
	}
	return joined
}

func (a *accountDiff) joinedAfterWrite() map[string][]string {
	all, joined := a.joinedDuringWrite(), map[string][]string{}
	for _, u := range a.want.Users {
		stays := dropMatching(all[u.Name], func(g string) bool { return !slices.Contains(u.Account.Groups, g) })
		if len(stays) > 0 && !u.Account.Absent {
			joined[u.Name] = stays
		}
	}
	return joined
}

func membershipLines(u loginEdit) (list []string) {
	name := hostscript.Quote(u.want.Name)
	if len(u.join) > 0 {
		list = append(list, "join_groups "+name+quoteWords(u.join))
	}
	if len(u.part) > 0 {
		list = append(list, "leave_groups "+name+quoteWords(u.part))
	}
	return list
}

func (a *accountDiff) seenUser(u resource.User) (resource.User, bool) {
	login, there := a.facts.Users[u.Name]
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
	groups := a.managedGroups(u)
	u.Account, u.Retired = seenAccount(u.Account, login), a.isRetired(u.Name)
	u.Account.Groups = groups
	return u, true
}

func seenAccount(a resource.Account, l resource.Login) resource.Account {
	if a.UID != nil && *a.UID != l.UID {
		a.UID = &l.UID
	}
	if a.PrimaryGroup != "" && a.PrimaryGroup != l.Group && a.PrimaryGroup != strconv.Itoa(l.GID) {
		a.PrimaryGroup = l.Group
	}
	for _, f := range []struct{ want, is *string }{{&a.Gecos, &l.Gecos}, {&a.HomeDir, &l.Home}, {&a.Shell, &l.Shell}} {
		if *f.want != "" && strings.TrimSuffix(*f.want, "/") != strings.TrimSuffix(*f.is, "/") {
			*f.want = *f.is
		}
	}
	return a
}

func (a *accountDiff) seenGroup(g resource.Group) (resource.Group, bool) {
	gid, there := a.facts.Groups[g.Name]
	if g.Absent {
		g.Absent = !there
		return g, true
	}
	if there && g.GID != nil && *g.GID != gid {
		g.GID = &gid
	}
	return g, there
}

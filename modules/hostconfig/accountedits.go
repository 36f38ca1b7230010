package hostconfig

import (
	"slices"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
)

func (x *configDiff) addAccountEdits(d engine.Desired, w *hostWrite) {
	differs := map[string]bool{}
	for _, c := range x.diff.Changes {
		if c.Domain == rules.User {
			differs[c.Name] = true
		}
	}
	need := func(digest string) {
		if digest != "" {
			w.data[digest] = d.Contents[digest]
		}
	}
	was := passwordHashes(x.was)
	for _, g := range x.want.Groups {
		if _, exists := x.facts.Groups[g.Name]; differs[groupName(g.Name)] && !(g.Absent && !exists) {
			w.groups = append(w.groups, x.newGroupEdit(g, exists, was[groupName(g.Name)]))
			need(g.PasswordHash)
		}
	}
	for _, g := range x.leavingGroups() {
		if _, exists := x.facts.Groups[g.Name]; exists && g.PasswordHash != "" {
			e := x.newGroupEdit(resource.Group{Name: g.Name}, true, g.PasswordHash)
			e.leaves = true
			w.groups = append(w.groups, e)
		}
	}
	recorded := map[string]resource.User{}
	for _, u := range x.was.Users {
		recorded[u.Name] = u
	}
	for _, u := range x.want.Users {
		if differs[u.Name] {
			e := x.newLoginEdit(recorded[u.Name], u)
			w.users = append(w.users, e)
			if e.password {
				need(u.PasswordHash)
			}
		}
	}
	for _, u := range x.leavingUsers() {
		if e := x.newLeavingEdit(u); e.was != nil && (e.password || e.keys || e.retire) {
			w.users = append(w.users, e)
		}
	}
}

func (x *configDiff) newGroupEdit(want resource.Group, exists bool, hash string) groupEdit {
	e := groupEdit{want: want, exists: exists}
	name := groupName(want.Name)
	switch {
	case want.Absent || !exists:
	case want.PasswordHash != "":
		e.keep = x.keepsHash(name)
	case hash != "":
		e.back = x.origins[name] == resource.FoundAccount
		e.lock = !e.back
	}
	return e
}

func (x *configDiff) newLeavingEdit(was resource.User) loginEdit {
	e := x.newLoginEdit(was, resource.User{Name: was.Name})
	if was.Account.Absent {
		return loginEdit{want: e.want}
	}
	e.account, e.revive = false, false
	if e.was == nil {
		return e
	}
	e.retire = x.retiresUser(was.Name)
	e.password = was.PasswordHash != ""
	e.keys = len(was.SSHKeys) > 0 || e.retire && len(e.was.Keys) > 0
	return e
}

func (x *configDiff) newLoginEdit(was, want resource.User) loginEdit {
	e := loginEdit{want: want}
	if login, ok := x.facts.Users[want.Name]; ok {
		e.was = &login
	}
	if want.Account.Absent {
		e.account = e.was != nil
		return e
	}
	if e.was == nil {
		e.account, e.password, e.keys = true, want.PasswordHash != "", len(want.SSHKeys) > 0
		return e
	}
	seen, _ := x.seenUser(want)
	e.revive = seen.Retired
	e.account = !sameAccount(seen.Account, want.Account)
	e.password = want.PasswordHash != "" && want.PasswordHash != e.was.Password || want.PasswordHash == "" && (was.PasswordHash != "" || e.revive)
	e.back = e.password && want.PasswordHash == "" && x.origins[want.Name] == resource.FoundAccount
	e.keep = e.password && want.PasswordHash != "" && x.keepsHash(want.Name)
	e.keys = len(want.SSHKeys) > 0 && !slices.Equal(sortedSet(want.SSHKeys), sortedSet(e.was.Keys)) || len(want.SSHKeys) == 0 && len(was.SSHKeys) > 0
	return e
}

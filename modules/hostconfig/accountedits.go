package hostconfig

import (
	"reflect"
	"slices"

	"holdfast/engine"
	"holdfast/engine/resource"
)

func (a *accountDiff) addAccountEdits(differs map[subject]bool, contents map[string][]byte, w *hostWrite) {
	need := func(digest string) {
		if digest != "" {
			w.data[digest] = contents[digest]
		}
	}
	was := passwordHashes(a.was)
	for _, g := range a.want.Groups {
		if _, exists := a.facts.Groups[g.Name]; differs[subject{engine.GroupKind, g.Name}] && !(g.Absent && !exists) {
			w.groups = append(w.groups, a.newGroupEdit(g, exists, was[groupKey(g.Name)]))
			need(g.PasswordHash)
		}
	}
	for _, g := range a.leavingGroups() {
		if _, exists := a.facts.Groups[g.Name]; exists && g.PasswordHash != "" {
			e := a.newGroupEdit(resource.Group{Name: g.Name}, true, g.PasswordHash)
			e.leaves = true
			w.groups = append(w.groups, e)
		}
	}
	for _, u := range a.want.Users {
		if differs[subject{engine.UserKind, u.Name}] {
			recorded, _ := findUser(a.was.Users, u.Name)
			e := a.newLoginEdit(recorded, u)
			w.users = append(w.users, e)
			if e.password {
				need(u.PasswordHash)
			}
		}
	}
	for _, u := range a.leavingUsers() {
		if e := a.newLeavingEdit(u); e.was != nil && (e.password || e.keys || e.retire || len(e.part) > 0) {
			w.users = append(w.users, e)
		}
	}
}

func (a *accountDiff) newGroupEdit(want resource.Group, exists bool, hash string) groupEdit {
	e := groupEdit{want: want, exists: exists}
	e.renumbered = exists && !want.Absent && want.GID != nil && *want.GID != a.facts.Groups[want.Name]
	name := groupKey(want.Name)
	switch {
	case want.Absent || !exists:
	case want.PasswordHash != "":
		e.keep = a.keepsHash(name)
	case hash != "":
		e.back = a.origins[name] == resource.FoundAccount
		e.lock = !e.back
	}
	return e
}

func (a *accountDiff) newLeavingEdit(was resource.User) loginEdit {
	e := a.newLoginEdit(was, resource.User{Name: was.Name})
	if was.Account.Absent {
		return loginEdit{want: e.want}
	}
	e.account, e.revive = false, false
	if e.was == nil {
		return e
	}
	e.retire = a.retiresUser(was.Name)
	e.password = was.PasswordHash != ""
	e.keys = len(was.SSHKeys) > 0 || e.retire && len(e.was.Keys) > 0
	return e
}

func (a *accountDiff) newLoginEdit(was, want resource.User) loginEdit {
	e := loginEdit{want: want}
	if login, ok := a.facts.Users[want.Name]; ok {
		e.was = &login
	}
	if want.Account.Absent {
		e.account = e.was != nil
		e.keys = e.account && len(e.was.Keys) > 0
		return e
	}
	e.join, e.part = a.missingGroups(want), a.partedGroups(want)
	if e.was == nil {
		e.account, e.password, e.keys = true, want.PasswordHash != "", len(want.SSHKeys) > 0
		return e
	}
	seen, _ := a.seenUser(want)
	e.revive = seen.Retired
	e.account = !reflect.DeepEqual(seen.Account, want.Account)
	e.password = want.PasswordHash != "" && want.PasswordHash != e.was.Password || want.PasswordHash == "" && (was.PasswordHash != "" || e.revive)
	e.back = e.password && want.PasswordHash == "" && a.origins[want.Name] == resource.FoundAccount
	e.keep = e.password && want.PasswordHash != "" && a.keepsHash(want.Name)
	e.keys = len(want.SSHKeys) > 0 && !slices.Equal(sortedSet(want.SSHKeys), sortedSet(e.was.Keys)) || len(want.SSHKeys) == 0 && len(was.SSHKeys) > 0
	return e
}

// groupEdit creates, changes or removes a group.
type groupEdit struct {
	want   resource.Group // PasswordHash is the digest of the hash, which is in data
	exists bool
	leaves bool // the group leaves the configuration: only its password changes
	keep   bool // keep the current hash as the original
	back   bool // restore the hash from before holdfast
	lock   bool // lock the password

	renumbered bool // its GID changes
}

// loginEdit creates, changes or removes an account with its password and SSH
// keys.
type loginEdit struct {
	want     resource.User   // PasswordHash is the digest of the hash, which is in data
	was      *resource.Login // nil: the account does not exist
	account  bool            // create the account, change it to want.Account, or remove it
	password bool            // set want.PasswordHash; if "", lock the password
	keep     bool            // keep the current hash as the original
	back     bool            // instead, restore the hash from before holdfast
	keys     bool            // set the SSH keys that holdfast manages to want.SSHKeys; if empty, remove them
	retire   bool            // lock the account: it leaves, and holdfast created it
	revive   bool            // unlock the account: it was retired, and is desired again
	join     []string        // groups to add to the account
	part     []string        // groups to take away from the account, which holdfast had added
}

// createdAccounts returns the users and groups that the write creates.
func (w hostWrite) createdAccounts() map[string]bool {
	created := map[string]bool{}
	for _, u := range w.users {
		created[u.want.Name] = u.account && u.was == nil && !u.want.Account.Absent
	}
	for _, g := range w.groups {
		created[g.want.Name] = created[g.want.Name] || !g.exists && !g.want.Absent
	}
	return created
}

// accountNames are names of users and of groups.
type accountNames struct{ users, groups map[string]bool }

func (a accountNames) ownPath(p pathState) bool { return a.users[p.user] || a.groups[p.group] }

// renumberedAccounts returns the users and groups whose ID the write changes. Their
// files keep the old number.
func (w hostWrite) renumberedAccounts() accountNames {
	a := accountNames{map[string]bool{}, map[string]bool{}}
	for _, u := range w.users {
		uid := u.want.Account.UID
		a.users[u.want.Name] = u.account && u.was != nil && !u.retire && !u.want.Account.Absent && uid != nil && *uid != u.was.UID
	}
	for _, g := range w.groups {
		a.groups[g.want.Name] = g.renumbered
	}
	return a
}

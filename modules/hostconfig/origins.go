package hostconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/record"
)

// groupKey returns the key of a group in Record.Accounts. A name of a user has no slash.
func groupKey(name string) string { return "group/" + name }

// accountDiff is the part of a configDiff about users and groups.
type accountDiff struct {
	facts     resource.ConfigFacts
	was, want resource.Config
	subjects  *subjectStates
	origins   map[string]resource.AccountOrigin // see resource.Record
}

// findOrigins returns the recorded origins, and the origin of each desired
// account. The record of a provisioned host has no origins: the origin of
// such an account stays unknown, unless the account is missing now.
func (a *accountDiff) findOrigins() map[string]resource.AccountOrigin {
	origins, recorded := map[string]resource.AccountOrigin{}, map[string]bool{}
	if r := a.facts.Applied; r != nil {
		maps.Copy(origins, r.Accounts)
		for _, c := range record.Configs(*r) {
			for _, u := range c.Users {
				recorded[u.Name] = recorded[u.Name] || !u.Account.Absent
			}
			for _, g := range c.Groups {
				recorded[groupKey(g.Name)] = recorded[groupKey(g.Name)] || !g.Absent
			}
		}
	}
	note := func(name string, exists bool) {
		switch {
		case !exists:
			origins[name] = resource.MadeAccount
		case origins[name] == "" && !recorded[name]:
			origins[name] = resource.FoundAccount
		}
	}
	for _, u := range a.want.Users {
		if _, exists := a.facts.Users[u.Name]; !u.Account.Absent {
			note(u.Name, exists)
		}
	}
	for _, g := range a.want.Groups {
		if _, exists := a.facts.Groups[g.Name]; !g.Absent {
			note(groupKey(g.Name), exists)
		}
	}
	return origins
}

// originsAfter returns the origins to record after the write. It records an
// account that holdfast locks as made by holdfast. An account that holdfast
// leaves to the host loses its entry.
func (a *accountDiff) originsAfter() map[string]resource.AccountOrigin {
	origins := maps.Clone(a.origins)
	for _, u := range a.want.Users {
		if u.Account.Absent {
			delete(origins, u.Name)
		}
	}
	for _, g := range a.want.Groups {
		if g.Absent {
			delete(origins, groupKey(g.Name))
		}
	}
	for _, u := range a.leavingUsers() {
		_, exists := a.facts.Users[u.Name]
		switch {
		case u.Account.Absent && exists: // its deletion failed, or others made the account again: holdfast leaves it to the host
		case a.retiresUser(u.Name):
			origins[u.Name] = resource.MadeAccount
		default:
			delete(origins, u.Name)
		}
	}
	for _, g := range a.leavingGroups() {
		if _, exists := a.facts.Groups[g.Name]; !exists || origins[groupKey(g.Name)] == resource.FoundAccount {
			delete(origins, groupKey(g.Name))
		}
	}
	return origins
}

func (a *accountDiff) leavingUsers() []resource.User {
	return dropMatching(a.was.Users, func(u resource.User) bool {
		_, wanted := findUser(a.want.Users, u.Name)
		return wanted
	})
}

func (a *accountDiff) leavingGroups() []resource.Group {
	wanted := map[string]bool{}
	for _, g := range a.want.Groups {
		wanted[g.Name] = true
	}
	return dropMatching(a.was.Groups, func(g resource.Group) bool { return wanted[g.Name] })
}

// firstPersonUID is the lowest UID of an account of a person.
const firstPersonUID = 1000

// retiresUser reports whether holdfast locks a user that leaves the
// configuration. It locks a user that it created, unless the UID is 0. If the
// origin is unknown, it locks the account of a person, unless holdfast logs in as
// that user.
func (a *accountDiff) retiresUser(name string) bool {
	login, exists := a.facts.Users[name]
	switch origin := a.origins[name]; {
	case !exists || login.UID == 0 || origin == resource.FoundAccount:
		return false
	case origin == resource.MadeAccount:
		return true
	}
	return login.UID >= firstPersonUID && !login.Connects
}

// isRetired reports whether a desired account is locked in the way that holdfast
// locks leaving accounts. It returns false for an account that the host had
// before holdfast: holdfast never unlocks such an account.
func (a *accountDiff) isRetired(name string) bool {
	return a.facts.Users[name].Retired() && a.origins[name] != resource.FoundAccount
}

// keepsHash reports whether to save the current password hash of a user or group
// as the original. holdfast saves the hash only before it replaces one for the
// first time. Any later hash comes from holdfast, or is drift.
func (a *accountDiff) keepsHash(name string) bool {
	if a.origins[name] != resource.FoundAccount {
		return false
	}
	if a.facts.Applied == nil {
		return true
	}
	for _, c := range record.Configs(*a.facts.Applied) {
		if _, set := passwordHashes(c)[name]; set {
			return false
		}
	}
	return true
}

func passwordHashes(c resource.Config) map[string]string {
	set := map[string]string{}
	for _, u := range c.Users {
		if u.PasswordHash != "" {
			set[u.Name] = u.PasswordHash
		}
	}
	for _, g := range c.Groups {
		if g.PasswordHash != "" {
			set[groupKey(g.Name)] = g.PasswordHash
		}
	}
	return set
}

func (a *accountDiff) accountWarning(name string) string {
	login, exists := a.facts.Users[name]
	if !exists {
		return ""
	}
	is, wanted := findUser(a.want.Users, name)
	if login.Connects && login.OtherKeys == 0 && len(login.Keys) > 0 {
		lost := dropMatching(login.Keys, func(k string) bool { return slices.Contains(is.SSHKeys, k) })
		switch {
		case len(is.SSHKeys) == 0:
			return "user " + name + ", whom holdfast logs in as, loses its last SSH key; a new login proves the change on each host, and a host on which it fails gets the key back"
		case len(lost) > 0:
			return "user " + name + ", whom holdfast logs in as, loses " + formatCount(len(lost), "SSH key", "SSH keys") + "; a new login proves the change on each host, and a host on which it fails gets the old keys back"
		}
	}
	if wanted && !is.Account.Absent || !a.retiresUser(name) {
		return ""
	}
	var left []string
	if login.Sessions > 0 {
		left = append(left, formatCount(login.Sessions, "session", "sessions")+", which go on until they end or the host reboots (loginctl terminate-user "+name+")")
	}
	if login.OtherKeys > 0 {
		left = append(left, formatCount(login.OtherKeys, "SSH key", "SSH keys")+" that others have put there, which a locked account cannot use")
	}
	if len(left) == 0 {
		return ""
	}
	return "user " + name + " leaves the configuration and has " + strings.Join(left, ", and ")
}

func formatCount(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

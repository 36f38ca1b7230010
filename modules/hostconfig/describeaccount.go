package hostconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/textutil"
)

func (a *accountDiff) describeUserChange(name string) (before, after string) {
	before, after = absent, absent
	login, there := a.facts.Users[name]
	if there {
		before = describeKeys(len(login.Keys))
	}
	if a.isRetired(name) {
		before += ", locked"
	}
	u, wanted := findUser(a.want.Users, name)
	switch {
	case wanted && !u.Account.Absent:
		return a.describeDesiredUser(u, before)
	case wanted:
		return before, absent
	case there && a.retiresUser(name):
		after = "locked and expired, without the keys of holdfast"
	case there:
		after = "stays, without the keys and the password of holdfast"
	}
	for _, g := range a.partedGroups(resource.User{Name: name}) {
		after += ", group " + g + " removed"
	}
	return before, after
}

func findUser(users []resource.User, name string) (resource.User, bool) {
	return findFirst(users, func(u resource.User) bool { return u.Name == name })
}

// describeDesiredUser names every part of an account that changes. before begins
// with the SSH keys.
func (a *accountDiff) describeDesiredUser(u resource.User, before string) (string, string) {
	recorded, _ := findUser(a.was.Users, u.Name)
	e := a.newLoginEdit(recorded, u)
	var was, is []string
	after := describeKeys(len(u.SSHKeys))
	login, there := a.facts.Users[u.Name]
	if there && e.keys {
		after += describeKeyChange(login.Keys, u.SSHKeys)
	}
	if u.PasswordHash != "" {
		is = append(is, describePassword(u.PasswordHash))
		if there && login.Password != "" {
			was = append(was, describePassword(login.Password))
		}
	} else if e.password && there {
		is = append(is, map[bool]string{true: "the password of the host", false: "no password, and locked"}[e.back])
	}
	for _, part := range accountParts(u.Account, login) {
		switch {
		case part.want == "" || there && part.want == part.is:
		case there:
			was, is = append(was, part.name+" "+part.is), append(is, part.name+" "+part.want)
		default:
			is = append(is, part.name+" "+part.want)
		}
	}
	for _, g := range e.join {
		is = append(is, "group "+textutil.Printable(g)+" added")
	}
	for _, g := range e.part {
		is = append(is, "group "+textutil.Printable(g)+" removed")
	}
	return strings.Join(append([]string{before}, was...), ", "), strings.Join(append([]string{after}, is...), ", ")
}

// accountPart is one setting of an account.
type accountPart struct{ name, want, is string }

func accountParts(a resource.Account, l resource.Login) []accountPart {
	uid := ""
	if a.UID != nil {
		uid = strconv.Itoa(*a.UID)
	}
	group := l.Group
	if a.PrimaryGroup == strconv.Itoa(l.GID) {
		group = a.PrimaryGroup
	}
	return []accountPart{
		{"UID", uid, strconv.Itoa(l.UID)},
		{"primary group", textutil.Printable(a.PrimaryGroup), textutil.Printable(group)},
		{"home", textutil.Printable(strings.TrimSuffix(a.HomeDir, "/")), textutil.Printable(strings.TrimSuffix(l.Home, "/"))},
		{"shell", textutil.Printable(a.Shell), textutil.Printable(l.Shell)},
		{"comment", textutil.Printable(a.Gecos), textutil.Printable(l.Gecos)},
	}
}

func describeKeyChange(was, is []string) string {
	added := dropMatching(sortedSet(is), func(k string) bool { return slices.Contains(was, k) })
	removed := dropMatching(sortedSet(was), func(k string) bool { return slices.Contains(is, k) })
	if len(added) > 0 && len(removed) > 0 { // otherwise the numbers of keys tell it
		return fmt.Sprintf(" (%d added, %d removed)", len(added), len(removed))
	}
	return ""
}

func describePassword(digest string) string {
	switch digest {
	case resource.Digest(nil):
		return "an empty password, so a login asks for none"
	case resource.Digest([]byte("!")), resource.Digest([]byte("*")), resource.Digest([]byte("!!")), resource.Digest([]byte("!*")):
		return "no password, and locked"
	}
	return "password sha256:" + engine.ShortDigest(digest)
}

func describeKeys(n int) string {
	switch n {
	case 0:
		return "no SSH keys"
	case 1:
		return "1 SSH key"
	}
	return fmt.Sprintf("%d SSH keys", n)
}

func (a *accountDiff) describeGroupChange(name string) (before, after string) {
	before, after = absent, absent
	if gid, ok := a.facts.Groups[name]; ok {
		before = fmt.Sprintf("GID %d", gid)
	}
	if before != absent {
		after = "stays, and holdfast no longer manages it"
	}
	for _, g := range a.want.Groups {
		switch {
		case g.Name == name && g.Absent:
			after = absent
		case g.Name != name:
		case g.GID != nil:
			after = fmt.Sprintf("GID %d", *g.GID)
		default:
			after = "present"
		}
	}
	return before, after
}

package modules

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/rules"
)

const absent = "absent"

// sides says what a change is from and to, for people. Contents are named by
// their digests, keys and passwords by how many there are.
func (x *configDiff) sides(c rules.Change) (before, after string) {
	s := subject{c.Domain, c.Name}
	switch c.Domain {
	case rules.Unit:
		return x.unitSides(c.Name)
	case rules.User:
		return x.userSides(c.Name)
	}
	before, after = nodeText(x.seen.Nodes[c.Name]), absent
	if e, ok := x.entryOf(s); ok {
		return before, e.text()
	}
	if x.seen.Saved[c.Name] {
		after = "as it was before holdfast"
	}
	for _, e := range x.left {
		if _, stays := x.remainder(e); stays && e.about == s {
			after = "without what holdfast appended"
		}
	}
	return before, after
}

// entryOf finds the entry that is all of a subject. Entries are in the order
// of their paths, which are the names of subjects that are no units.
func (x *configDiff) entryOf(s subject) (entry, bool) {
	i, found := slices.BinarySearchFunc(x.entries, s.name, func(e entry, path string) int { return strings.Compare(e.edit.path, path) })
	if !found || x.entries[i].about != s {
		return entry{}, false
	}
	return x.entries[i], true
}

// nodeText names what the host has, as entry.text does what is wanted.
func nodeText(n engine.Node) string {
	if n.Type == engine.NoNode {
		return absent
	}
	e := edit{kind: n.Type, mode: n.Mode, user: fmt.Sprint(n.UID), group: fmt.Sprint(n.GID), data: n.Digest}
	if n.Type == engine.LinkNode {
		e.data = n.Target
	}
	if n.User != "" && n.UID != 0 {
		e.user = n.User
	}
	if n.Group != "" && n.GID != 0 {
		e.group = n.Group
	}
	return entry{edit: e}.text()
}

// text names what is wanted: kind, contents, mode, and whose it is if not
// root's.
func (e entry) text() string {
	var parts []string
	switch {
	case e.edit.hard:
		return "hard link to " + e.edit.data
	case e.edit.kind == engine.LinkNode:
		parts = append(parts, "link to "+e.edit.data)
	case e.edit.kind == engine.FileNode:
		parts = append(parts, "sha256:"+engine.ShortDigest(e.edit.data))
	default:
		parts = append(parts, string(e.edit.kind))
	}
	if e.edit.mode >= 0 && e.edit.kind != engine.LinkNode {
		parts = append(parts, fmt.Sprintf("%04o", e.edit.mode))
	}
	if owner := ownerText(e.edit.user, e.edit.group); owner != "" {
		parts = append(parts, owner)
	}
	return strings.Join(parts, " ")
}

func ownerText(user, group string) string {
	if (user == "" || user == "0") && (group == "" || group == "0") {
		return ""
	}
	return strings.TrimSuffix(user+":"+group, ":")
}

func (x *configDiff) unitSides(name string) (before, after string) {
	before, after = absent, absent
	for _, u := range x.want.Units {
		if u.Name != name {
			continue
		}
		seen, there := x.seenUnit(u)
		after = unitText(u)
		if there {
			before = unitText(seen)
		}
		return before, after
	}
	for _, u := range x.was.Units {
		if u.Name == name {
			before = unitText(u)
		}
	}
	return before, after
}

// unitText says what of a unit is holdfast's.
func unitText(u engine.Unit) string {
	var parts []string
	if u.Contents != "" {
		digest, seen := cutSeen(u.Contents)
		if !seen {
			digest = engine.Digest([]byte(u.Contents))
		}
		parts = append(parts, "sha256:"+engine.ShortDigest(digest))
	}
	for _, d := range u.Dropins {
		digest, seen := cutSeen(d.Contents)
		if !seen {
			digest = engine.Digest([]byte(d.Contents))
		}
		parts = append(parts, d.Name+" sha256:"+engine.ShortDigest(digest))
	}
	for _, f := range []struct {
		is      *bool
		yes, no string
	}{{u.Enabled, "enabled", "disabled"}, {u.Masked, "masked", "not masked"}} {
		switch {
		case f.is != nil && *f.is:
			parts = append(parts, f.yes)
		case f.is != nil:
			parts = append(parts, f.no)
		}
	}
	if len(parts) == 0 {
		return "as the OS has it"
	}
	return strings.Join(parts, ", ")
}

func (x *configDiff) userSides(name string) (before, after string) {
	if group, ok := rules.GroupOf(name); ok {
		return x.groupSides(group)
	}
	before, after = absent, absent
	login, there := x.seen.Users[name]
	if there {
		before = keysText(len(login.Keys))
	}
	if x.retired(name) {
		before += ", locked"
	}
	for _, u := range x.want.Users {
		if u.Name != name || u.Account.Absent {
			continue
		}
		after = keysText(len(u.SSHKeys))
		if u.PasswordHash != "" {
			after += ", " + passwordText(u.PasswordHash)
			if there && login.Password != "" {
				before += ", " + passwordText(login.Password)
			}
		}
		return before, after
	}
	for _, u := range x.want.Users {
		if u.Name == name {
			return before, absent
		}
	}
	switch {
	case there && x.retires(name):
		after = "locked and expired, without the keys of holdfast"
	case there:
		after = "as the host had it, without the keys and the password of holdfast"
	}
	return before, after
}

// passwordText tells of a password by the digest of its hash in the database.
func passwordText(digest string) string {
	switch digest {
	case engine.Digest(nil):
		return "no password, so that none is asked for"
	case engine.Digest([]byte("!")), engine.Digest([]byte("*")), engine.Digest([]byte("!!")), engine.Digest([]byte("!*")):
		return "no password, and locked"
	}
	return "password sha256:" + engine.ShortDigest(digest)
}

func keysText(n int) string {
	switch n {
	case 0:
		return "no SSH keys"
	case 1:
		return "1 SSH key"
	}
	return fmt.Sprintf("%d SSH keys", n)
}

func (x *configDiff) groupSides(name string) (before, after string) {
	before, after = absent, absent
	if gid, ok := x.seen.Groups[name]; ok {
		before = fmt.Sprintf("GID %d", gid)
	}
	if before != absent {
		after = "as it is, no longer of holdfast"
	}
	for _, g := range x.want.Groups {
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

package hostconfig

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
)

const absent = "absent"

func (x *configDiff) describeChange(c rules.Change) (before, after string) {
	switch c.Domain {
	case rules.Unit:
		return x.describeUnitChange(c.Name)
	case rules.User:
		return x.describeUserChange(c.Name)
	default:
		return x.describeNodeChange(c)
	}
}

// describeNodeChange describes the change of a file, directory or link, or of
// the text that the configuration appends to a file.
func (x *configDiff) describeNodeChange(c rules.Change) (before, after string) {
	s := subject{c.Domain, c.Name}
	before, after = describeNode(x.facts.Nodes[c.Name]), absent
	if e, ok := x.entryOf(s); ok {
		return before, e.describeEntry()
	}
	if x.facts.Saved[c.Name] {
		after = "as it was before holdfast"
	}
	for _, e := range x.leaving {
		if _, stays := x.remainingContents(e); stays && e.about == s {
			after = "without the text that holdfast appended"
		}
	}
	return before, after
}

func (x *configDiff) entryOf(s subject) (desiredEntry, bool) {
	i, found := slices.BinarySearchFunc(x.entries, s.name, func(e desiredEntry, path string) int { return strings.Compare(e.edit.path, path) })
	if !found || x.entries[i].about != s {
		return desiredEntry{}, false
	}
	return x.entries[i], true
}

func describeNode(n resource.PathFacts) string {
	if n.Type == resource.PathMissing {
		return absent
	}
	e := pathEdit{kind: n.Type, mode: n.Mode, user: fmt.Sprint(n.UID), group: fmt.Sprint(n.GID), data: n.Digest}
	if n.Type == resource.PathLink {
		e.data = n.Target
	}
	if n.User != "" && n.UID != 0 {
		e.user = n.User
	}
	if n.Group != "" && n.GID != 0 {
		e.group = n.Group
	}
	return desiredEntry{edit: e}.describeEntry()
}

func (e desiredEntry) describeEntry() string {
	var parts []string
	switch {
	case e.edit.hard:
		return "hard link to " + e.edit.data
	case e.edit.kind == resource.PathLink:
		parts = append(parts, "link to "+e.edit.data)
	case e.edit.kind == resource.PathFile:
		parts = append(parts, "sha256:"+engine.ShortDigest(e.edit.data))
	default:
		parts = append(parts, string(e.edit.kind))
	}
	if e.edit.mode >= 0 && e.edit.kind != resource.PathLink {
		parts = append(parts, fmt.Sprintf("%04o", e.edit.mode))
	}
	if owner := describeOwner(e.edit.user, e.edit.group); owner != "" {
		parts = append(parts, owner)
	}
	return strings.Join(parts, " ")
}

func describeOwner(user, group string) string {
	if (user == "" || user == "0") && (group == "" || group == "0") {
		return ""
	}
	return strings.TrimSuffix(user+":"+group, ":")
}

func (x *configDiff) describeUnitChange(name string) (before, after string) {
	before, after = absent, absent
	for _, u := range x.want.Units {
		if u.Name != name {
			continue
		}
		seen, there := x.seenUnit(u)
		after = describeUnit(u)
		if there {
			before = describeUnit(seen)
		}
		return before, after
	}
	for _, u := range x.was.Units {
		if u.Name == name {
			before = describeUnit(u)
		}
	}
	return before, after
}

func describeContents(contents string, observed resource.ObservedFile) string {
	switch {
	case observed == (resource.ObservedFile{}):
		return "sha256:" + engine.ShortDigest(resource.Digest([]byte(contents)))
	case observed.Digest == "":
		return string(observed.Type)
	default:
		return "sha256:" + engine.ShortDigest(observed.Digest)
	}
}

func describeUnit(u resource.Unit) string {
	var parts []string
	if u.Contents != "" || u.Observed != (resource.ObservedFile{}) {
		parts = append(parts, describeContents(u.Contents, u.Observed))
	}
	for _, d := range u.Dropins {
		parts = append(parts, d.Name+" "+describeContents(d.Contents, d.Observed))
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

func (x *configDiff) describeUserChange(name string) (before, after string) {
	if group, ok := rules.GroupOf(name); ok {
		return x.describeGroupChange(group)
	}
	before, after = absent, absent
	login, there := x.facts.Users[name]
	if there {
		before = describeKeys(len(login.Keys))
	}
	if x.isRetired(name) {
		before += ", locked"
	}
	for _, u := range x.want.Users {
		if u.Name != name || u.Account.Absent {
			continue
		}
		after = describeKeys(len(u.SSHKeys))
		if u.PasswordHash != "" {
			after += ", " + describePassword(u.PasswordHash)
			if there && login.Password != "" {
				before += ", " + describePassword(login.Password)
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
	case there && x.retiresUser(name):
		after = "locked and expired, without the keys of holdfast"
	case there:
		after = "stays, without the keys and the password of holdfast"
	}
	return before, after
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

func (x *configDiff) describeGroupChange(name string) (before, after string) {
	before, after = absent, absent
	if gid, ok := x.facts.Groups[name]; ok {
		before = fmt.Sprintf("GID %d", gid)
	}
	if before != absent {
		after = "stays, and holdfast no longer manages it"
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

package hostconfig

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/resource"
)

func (x *configDiff) findObstacles() error {
	var wrong []error
	for _, e := range x.entries {
		n, name := x.facts.Nodes[e.path], x.nameOf(e.path)
		isDir, wantDir := n.Type == resource.PathDirectory, e.kind == resource.PathDirectory
		switch {
		case n.Type == resource.PathMissing || e.matchesHost(x.facts.Nodes):
		case e.keep && !x.base.owned[e.path]:
			wrong = append(wrong, fmt.Errorf("%s is on the host already, and is not to be overwritten (overwrite = false): remove it there, or take it out of the configuration", name))
		case isDir && !wantDir:
			wrong = append(wrong, fmt.Errorf("%s is a directory on the host, and is to be a %s: remove it there", name, e.kind))
		case wantDir && !isDir:
			wrong = append(wrong, fmt.Errorf("%s is a %s on the host, and is to be a directory: remove it there", name, n.Type))
		case n.Type == resource.PathOther:
			wrong = append(wrong, fmt.Errorf("%s is neither a file nor a directory nor a link on the host: remove it there", name))
		}
	}
	for _, u := range x.want.Units {
		if problem := x.units.unitProblem(u); problem != "" && !x.subjects.isReportOnly(subject{engine.UnitKind, u.Name}) {
			wrong = append(wrong, fmt.Errorf("unit %s %s", u.Name, problem))
		}
	}
	if x.desired.DemandsFIPS() && !x.noDocuments && !x.facts.FIPS {
		wrong = append(wrong, errors.New("its configuration demands FIPS mode, and its kernel is not in FIPS mode (/proc/sys/crypto/fips_enabled is not 1), which only an installation can set: "+
			"reinstall the host with the kernel argument fips=1, or remove fips"))
	}
	return errors.Join(slices.Concat(wrong, x.findPathProblems(), x.findMissingAccounts(), x.accounts.findLockout(), x.accounts.findUnchangeable())...)
}

func (x *configDiff) findPathProblems() []error {
	var wrong []error
	told := map[string]bool{}
	for _, e := range x.entries {
		if e.matchesHost(x.facts.Nodes) && !x.subjects.followingLinks[e.about] || x.subjects.isReportOnly(e.about) {
			continue
		}
		wrong = append(wrong, x.findParentProblems(e.path, told)...)
	}
	for _, e := range x.leaving {
		dir, readOnly := x.facts.ReadOnly[e.path]
		if readOnly && x.facts.Nodes[e.path].Type != resource.PathMissing && !told[dir] {
			told[dir] = true
			wrong = append(wrong, fmt.Errorf("%s: is to be removed, and %s", x.nameOf(e.path), readOnlyReason(dir)))
		}
	}
	return wrong
}

// findMissingAccounts returns an error for each user or group that a path or an
// account needs, and that neither the host nor the configuration has.
func (x *configDiff) findMissingAccounts() []error {
	users, groups := map[string]bool{"": true}, map[string]bool{"": true}
	for name := range x.facts.Users {
		users[name] = true
	}
	for name := range x.facts.Groups {
		groups[name] = true
	}
	for _, g := range x.want.Groups {
		groups[g.Name] = !g.Absent
	}
	for _, u := range x.want.Users {
		users[u.Name] = !u.Account.Absent
		if !u.Account.Absent && !u.Account.NoUserGroup && u.Account.PrimaryGroup == "" {
			groups[u.Name] = true // useradd makes this group
		}
	}
	var wrong []error
	missing := func(about, kind, name string, known map[string]bool) {
		if strings.Trim(name, "0123456789") != "" && !known[name] {
			known[name] = true // one error for each name
			wrong = append(wrong, fmt.Errorf("%s: the host has no %s %s: create it in passwd.%ss, or name another", about, kind, name, kind))
		}
	}
	for _, e := range x.entries {
		if !e.matchesHost(x.facts.Nodes) && !x.subjects.isReportOnly(e.about) {
			missing(x.nameOf(e.path), "user", e.user, users)
			missing(x.nameOf(e.path), "group", e.group, groups)
		}
	}
	for _, u := range x.want.Users {
		if u.Account.Absent || x.subjects.isReportOnly(subject{engine.UserKind, u.Name}) {
			continue
		}
		missing("user "+u.Name, "group", u.Account.PrimaryGroup, groups)
		for _, g := range u.Account.Groups {
			missing("user "+u.Name, "group", g, groups)
		}
	}
	return wrong
}

// nameOf returns the spelling of a path for people.
func (x *configDiff) nameOf(path string) string { return cmp.Or(x.names[path], path) }

func (a *accountDiff) findLockout() []error {
	var wrong []error
	for _, u := range a.leavingUsers() {
		if a.retiresUser(u.Name) && a.facts.Users[u.Name].Connects {
			wrong = append(wrong, fmt.Errorf("user %s leaves the configuration and would be locked, and holdfast logs in as %s: keep it in the documents, or log in as another user", u.Name, u.Name))
		}
	}
	for _, u := range a.want.Users {
		if login, exists := a.facts.Users[u.Name]; exists && u.Account.Absent && login.Connects {
			wrong = append(wrong, fmt.Errorf("user %s is to be removed (should_exist: false), and holdfast logs in as %s: log in as another user", u.Name, u.Name))
		}
	}
	return wrong
}

// findUnchangeable returns an error for each UID and home that cannot change.
func (a *accountDiff) findUnchangeable() []error {
	var wrong []error
	for _, u := range a.want.Users {
		login, exists := a.facts.Users[u.Name]
		if !exists || u.Account.Absent || a.subjects.isReportOnly(subject{engine.UserKind, u.Name}) {
			continue
		}
		for _, part := range accountParts(u.Account, login) {
			why := ""
			switch {
			case part.name != "UID" && part.name != "home", part.want == "", part.want == part.is:
			case login.Connects:
				why = u.Name + " is the account that holdfast logs in with, and usermod changes it only for a user without processes"
			case login.Busy:
				why = u.Name + " has processes, and usermod changes it only for a user without processes"
			case part.name == "home" && a.facts.OSLinks.Resolve(part.want) != a.facts.OSLinks.Resolve(part.is):
				why = "holdfast moves no home"
			}
			if why != "" {
				wrong = append(wrong, fmt.Errorf("user %s: its %s cannot change from %s to %s, because %s: take it out of the document, or change it by hand", u.Name, part.name, part.is, part.want, why))
			}
		}
	}
	return wrong
}

package config

import (
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_5/types"

	"holdfast/engine"
)

// buildUnits builds the units and skips empty ones. A document that sets empty
// contents withdraws the contents of an earlier document.
func (b *builder) buildUnits() {
	for _, u := range b.merged.Systemd.Units {
		unit := engine.Unit{Name: u.Name, Enabled: u.Enabled, Masked: u.Mask, From: b.places.entryPlace("unit " + u.Name)}
		if u.Contents != nil {
			unit.Contents = *u.Contents
		}
		for _, d := range u.Dropins {
			if d.Contents != nil && *d.Contents != "" {
				unit.Dropins = append(unit.Dropins, engine.Dropin{Name: d.Name, Contents: *d.Contents})
			}
		}
		if isTrue(u.Mask) { // a later document masks the unit, so its contents have no effect
			unit.Contents, unit.Enabled = "", nil
		}
		if unit.Contents == "" && len(unit.Dropins) == 0 && unit.Enabled == nil && unit.Masked == nil {
			continue
		}
		slices.SortFunc(unit.Dropins, func(x, y engine.Dropin) int { return strings.Compare(x.Name, y.Name) })
		b.out.Units = append(b.out.Units, unit)
	}
	slices.SortFunc(b.out.Units, func(x, y engine.Unit) int { return strings.Compare(x.Name, y.Name) })
}

func (b *builder) buildAccounts() {
	for _, u := range b.merged.Passwd.Users {
		user := engine.User{Name: u.Name, PasswordHash: stringOrEmpty(u.PasswordHash), Account: userAccount(u), From: b.places.entryPlace("user " + u.Name)}
		for _, k := range u.SSHAuthorizedKeys {
			user.SSHKeys = append(user.SSHKeys, keyLines(string(k))...)
		}
		user.SSHKeys = sortUnique(user.SSHKeys)
		b.out.Users = append(b.out.Users, user)
	}
	for _, g := range b.merged.Passwd.Groups {
		b.out.Groups = append(b.out.Groups, engine.Group{
			Name: g.Name, Absent: isFalse(g.ShouldExist), GID: g.Gid, PasswordHash: stringOrEmpty(g.PasswordHash), System: isTrue(g.System),
			From: b.places.entryPlace("group " + g.Name),
		})
	}
	slices.SortFunc(b.out.Users, func(x, y engine.User) int { return strings.Compare(x.Name, y.Name) })
	slices.SortFunc(b.out.Groups, func(x, y engine.Group) int { return strings.Compare(x.Name, y.Name) })
}

func userAccount(u types.PasswdUser) engine.Account {
	a := engine.Account{
		Absent: isFalse(u.ShouldExist), UID: u.UID, PrimaryGroup: stringOrEmpty(u.PrimaryGroup), Gecos: stringOrEmpty(u.Gecos), HomeDir: stringOrEmpty(u.HomeDir), Shell: stringOrEmpty(u.Shell),
		NoCreateHome: isTrue(u.NoCreateHome), NoUserGroup: isTrue(u.NoUserGroup), NoLogInit: isTrue(u.NoLogInit), System: isTrue(u.System),
	}
	for _, g := range u.Groups {
		a.Groups = append(a.Groups, string(g))
	}
	a.Groups = sortUnique(a.Groups)
	return a
}

func stringOrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

package rules

import (
	"reflect"
	"slices"

	"holdfast/engine"
	"holdfast/engine/resource"
)

// compareAccounts compares users and groups. Keys and passwords take effect at
// the next log-in. No rule covers other settings of an account.
func (c *comparison) compareAccounts(old, new resource.Config) {
	same := func(a, b resource.User) bool { return len(changedUserParts(a, b)) == 0 }
	walkDifferences(old.Users, new.Users, comparer[resource.User]{func(u resource.User) string { return u.Name }, same}, func(was, is *resource.User) {
		u := newOrOld(was, is)
		var a, b resource.User // a missing user compares like one without any settings
		if was != nil {
			a = *was
		}
		if is != nil {
			b = *is
		}
		v := loginDecision()
		if !reflect.DeepEqual(a.Account, b.Account) {
			v = defaultDecision()
		}
		c.addChange(Change{Kind: engine.UserKind, Name: u.Name, Verb: changeVerb(was, is), Reason: joinParts(changedUserParts(a, b)), From: u.From}, v)
	})
	sameGroup := func(a, b resource.Group) bool {
		return a.Absent == b.Absent && sameInt(a.GID, b.GID) && a.PasswordHash == b.PasswordHash && a.System == b.System
	}
	walkDifferences(old.Groups, new.Groups, comparer[resource.Group]{func(g resource.Group) string { return g.Name }, sameGroup}, func(was, is *resource.Group) {
		g := newOrOld(was, is)
		v := defaultDecision()
		if was != nil && is != nil && was.PasswordHash != is.PasswordHash {
			a, b := *was, *is
			a.PasswordHash, b.PasswordHash = "", ""
			if sameGroup(a, b) {
				v = loginDecision()
			}
		}
		c.addChange(Change{Kind: engine.GroupKind, Name: g.Name, Verb: changeVerb(was, is), From: g.From}, v)
	})
}

func changedUserParts(a, b resource.User) []string {
	var sides []string
	if !slices.Equal(sortUnique(a.SSHKeys), sortUnique(b.SSHKeys)) {
		sides = append(sides, "SSH keys")
	}
	if a.PasswordHash != b.PasswordHash || a.ObservedHash != b.ObservedHash {
		sides = append(sides, "password hash")
	}
	if a.Retired != b.Retired {
		sides = append(sides, "lock")
	}
	if !reflect.DeepEqual(a.Account, b.Account) {
		sides = append(sides, "account")
	}
	return sides
}

package hostconfig

import (
	"fmt"
	"path"
	"slices"
)

func (x *configDiff) findPathProblems() []error {
	var wrong []error
	told := map[string]bool{}
	for _, e := range x.entries {
		if e.matchesHost(x.facts.Nodes) || x.isReportOnly(e.about) {
			continue
		}
		for dir := path.Dir(e.edit.path); dir != "/"; dir = path.Dir(dir) {
			target, link := x.facts.Links[dir]
			fleets := slices.Contains(x.facts.Fleeting, dir)
			if told[dir] || !link && !fleets {
				continue
			}
			told[dir] = true
			if link {
				wrong = append(wrong, fmt.Errorf("%s: %s is a symbolic link to %s; write the path it leads to", e.edit.path, dir, target))
			} else {
				wrong = append(wrong, fmt.Errorf("%s: %s is kept in memory, so that a reboot removes the file; use tmpfiles.d or a path that stays", e.edit.path, dir))
				break
			}
		}
	}
	return wrong
}

func (x *configDiff) findLockout() []error {
	var wrong []error
	for _, u := range x.leavingUsers() {
		if x.retiresUser(u.Name) && x.facts.Users[u.Name].Connects {
			wrong = append(wrong, fmt.Errorf("user %s leaves the configuration and would be locked, and holdfast logs in as %s: keep it in the documents, or log in as another user", u.Name, u.Name))
		}
	}
	for _, u := range x.want.Users {
		if login, exists := x.facts.Users[u.Name]; exists && u.Account.Absent && login.Connects {
			wrong = append(wrong, fmt.Errorf("user %s is to be removed (should_exist: false), and holdfast logs in as %s: log in as another user", u.Name, u.Name))
		}
	}
	return wrong
}

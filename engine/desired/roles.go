package desired

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/config"
	"holdfast/engine/textutil"
)

// checkRoles adds a problem for each role that a pool names and that no document
// of its hosts has. Without it, a misspelt role would silently take the documents
// of the right one away from the hosts.
func (c *Configs) checkRoles(p engine.Pool) {
	found, isComplete := c.rolesOf(p)
	if !isComplete {
		return
	}
	for _, role := range p.ConfigRoles {
		if found[role] {
			continue
		}
		next := "correct or remove it"
		if near := textutil.Nearest(role, slices.Sorted(maps.Keys(found))); near != "" {
			next = fmt.Sprintf("did you mean %q?", near)
		}
		c.addProblem(textutil.Printable(fmt.Sprintf("config_roles of pool %q: no document of its hosts has the role %q; %s", p.Name, role, next)))
	}
}

// rolesOf returns the roles of all documents of the hosts of a pool. isComplete is
// false if none of the hosts has documents, or some documents have errors.
func (c *Configs) rolesOf(p engine.Pool) (found map[string]bool, isComplete bool) {
	found = map[string]bool{}
	if len(p.ConfigRoles) == 0 {
		return found, false
	}
	for _, h := range c.site.Inventory.Hosts {
		if h.Pool != p.Name {
			continue
		}
		g := c.groupOf(h)
		switch {
		case g == nil:
			continue
		case g.broken:
			return found, false
		}
		isComplete = true
		for _, r := range g.loaded.Roles {
			found[r.Role] = true
		}
	}
	return found, isComplete
}

// lacksRole reports whether the documents of a host lack a role that its pool names.
func (g *configGroup) lacksRole(p engine.Pool) bool {
	for _, role := range p.ConfigRoles {
		if !slices.ContainsFunc(g.loaded.Roles, func(r config.RoleUse) bool { return r.Role == role }) {
			return true
		}
	}
	return false
}

// warnUnusedRoles warns about documents that no host uses, because of their role:
// a pool may lack the role.
func (c *Configs) warnUnusedRoles() {
	type pathRole struct{ path, role string }
	used, unused := map[pathRole]bool{}, map[pathRole]int{}
	for _, g := range c.groups {
		for _, r := range g.loaded.Roles {
			if at := (pathRole{r.Path, r.Role}); r.IsUsed {
				used[at] = true
			} else {
				unused[at] = r.Documents
			}
		}
	}
	counts := map[string][]string{} // by path
	for at, documents := range unused {
		if !used[at] {
			counts[at.path] = append(counts[at.path], fmt.Sprintf("%s (%d)", at.role, documents))
		}
	}
	for _, p := range slices.Sorted(maps.Keys(counts)) {
		c.AddWarning(textutil.Printable(fmt.Sprintf("%s: no host uses its documents of these roles: %s; name the roles in config_roles of a pool, or remove the documents", p, strings.Join(slices.Sorted(slices.Values(counts[p])), ", "))))
	}
}

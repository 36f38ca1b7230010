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

// checkRoles adds a problem or a warning for each role that a pool names and that no document
// of its hosts has.
func (c *Configs) checkRoles(p engine.Pool) { c.addRoleFindings(c.findUnknownRoles(p)) }

// checkRolesApart is checkRoles for a caller who does not ask for the problems of other hosts.
func (c *Configs) checkRolesApart(p engine.Pool) {
	all := NewConfigs(c.site, c.fs)
	all.Fetch = c.Fetch
	c.addRoleFindings(all.findUnknownRoles(p))
}

func (c *Configs) addRoleFindings(problems, warnings []string) {
	for _, text := range problems {
		c.addProblem(text)
	}
	for _, text := range warnings {
		c.AddWarning(text)
	}
}

// findUnknownRoles returns the roles without documents. A misspelt one is a problem: its hosts would silently lose
// documents. Others are warnings: an OpenShift pool that only adds to worker may have no documents of its own.
func (c *Configs) findUnknownRoles(p engine.Pool) (problems, warnings []string) {
	found, isComplete := c.rolesOf(p)
	if !isComplete {
		return nil, nil
	}
	hasAny := slices.ContainsFunc(p.ConfigRoles, func(role string) bool { return found[role] })
	for _, role := range p.ConfigRoles {
		if found[role] {
			continue
		}
		text := textutil.Printable(fmt.Sprintf("config_roles of pool %q: no document of its hosts has the role %q", p.Name, role))
		near := textutil.Nearest(role, slices.Sorted(maps.Keys(found)))
		switch {
		case near != "" && !slices.Contains(p.ConfigRoles, near):
			problems = append(problems, fmt.Sprintf("%s; did you mean %q?", text, near))
		case !hasAny:
			problems = append(problems, text+"; correct the role, or remove it from config_roles")
		default:
			warnings = append(warnings, text+"; correct the role, or ignore this if it has no documents yet")
		}
	}
	return problems, warnings
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

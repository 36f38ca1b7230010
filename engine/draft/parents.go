package draft

import (
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostpattern"
	"holdfast/engine/textutil"
)

// Group is a group of another tool.
type Group struct {
	Name     string
	At       string   // position of the group in the file of the tool
	Hosts    []string // hosts that the group lists itself, by their names there
	Children []string // groups
}

// Patterns with more terms are not shown. The number of groups that get a pattern is bounded, because each one is compared with
// all hosts.
const (
	maxTerms    = 8
	maxPatterns = 1000
)

// parentReader finds the hosts of groups that contain groups.
type parentReader struct {
	groups map[string]Group
	hosts  engine.Inventory // names and pools of the hosts that the inventory has
	nameOf map[string]string
	pools  map[string][]string // by the group that became them: one, or one of each OS
	inPool map[string]int      // hosts in these pools
}

// remarkParents names groups that contain groups, because no pool includes the hosts of nested groups. A pattern for -l is shown
// only if it selects exactly the hosts of the group.
func (m *maker) remarkParents(groups []Group, pools []*pool) {
	r := parentReader{groups: map[string]Group{}, nameOf: map[string]string{}, pools: map[string][]string{}, inPool: map[string]int{}}
	for _, g := range groups {
		r.groups[g.Name] = g
	}
	for _, p := range pools {
		r.pools[p.group] = append(r.pools[p.group], p.name)
		for _, h := range p.hosts {
			if h.found.Unreachable == "" {
				r.nameOf[h.listedName] = h.Name
				r.inPool[p.group]++
				r.hosts.Hosts = append(r.hosts.Hosts, engine.Host{Name: h.Name, Pool: p.name})
			}
		}
	}
	patterns := 0
	for _, g := range groups {
		if len(g.Children) == 0 || g.Name == "all" || g.Name == "ungrouped" {
			continue
		}
		if patterns++; patterns > maxPatterns {
			m.addRemark(g.At, "group %s contains groups, and their hosts are in pools of their own", g.Name)
			continue
		}
		m.remarkParent(g, r)
	}
}

func (m *maker) remarkParent(g Group, r parentReader) {
	wanted, pools := r.findHosts(g), r.pools[g.Name]
	text := "group " + g.Name + " only contains groups, and is not taken over"
	switch {
	case len(pools) > 0 && r.inPool[g.Name] == len(wanted):
		return
	case len(pools) > 0:
		text = "pool " + strings.Join(pools, ", ") + " has only hosts that group " + g.Name + " lists itself, not all hosts of the groups in it"
	case len(g.Hosts) > 0:
		text = "group " + g.Name + " becomes no pool, because its hosts are in other pools"
	}
	pattern := r.findPattern(wanted)
	switch {
	case len(wanted) == 0:
		text += "; none of its hosts is taken over"
	case pattern == "":
		text += "; no short pattern selects its hosts"
	default:
		text += "; select its hosts with -l '" + pattern + "'"
	}
	m.addRemark(g.At, "%s", text)
}

// findHosts returns the hosts of a group and of all groups in it that the inventory has.
func (r parentReader) findHosts(g Group) map[string]bool {
	hosts, seen, todo := map[string]bool{}, map[string]bool{g.Name: true}, []Group{g}
	for len(todo) > 0 {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, h := range next.Hosts {
			if name, taken := r.nameOf[h]; taken {
				hosts[name] = true
			}
		}
		for _, child := range next.Children {
			if !seen[child] {
				seen[child] = true
				todo = append(todo, r.groups[child])
			}
		}
	}
	return hosts
}

// findPattern returns a pattern that selects exactly these hosts: pools, and the hosts of other pools. It returns "" if none
// is short.
func (r parentReader) findPattern(wanted map[string]bool) string {
	size := map[string]int{}
	var parts textutil.Groups[string, string]
	for _, h := range r.hosts.Hosts {
		size[h.Pool]++
		if wanted[h.Name] {
			parts.Add(h.Pool, h.Name)
		}
	}
	var terms, rest []string
	for pool, names := range parts.All() {
		if len(names) == size[pool] {
			terms = append(terms, pool)
		} else {
			rest = append(rest, names...)
		}
	}
	terms = append(terms, textutil.FoldNames(rest)...)
	pattern := strings.Join(terms, ":")
	if len(terms) > maxTerms || len(pattern) > longestText {
		return ""
	}
	match, err := hostpattern.Parse(pattern, r.hosts)
	if err != nil || slices.ContainsFunc(r.hosts.Hosts, func(h engine.Host) bool { return match(h) != wanted[h.Name] }) {
		return ""
	}
	return pattern
}

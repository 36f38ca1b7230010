// Package ansible reads inventories of Ansible: INI and YAML files, and the
// files in group_vars and host_vars beside them. A text means the same as for
// Ansible, or it is an error, or a remark names its line: the package runs no
// plugin and no script, evaluates no template and decrypts nothing.
package ansible

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine/textutil"
)

// Position is a place in a file of an inventory.
type Position struct {
	File         string
	Line, Column int
}

// String formats the position as FILE:LINE:COLUMN.
func (p Position) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// Compare orders positions by file, line and column.
func (p Position) Compare(q Position) int {
	if c := strings.Compare(p.File, q.File); c != 0 {
		return c
	}
	if p.Line != q.Line {
		return p.Line - q.Line
	}
	return p.Column - q.Column
}

// Problem is an error, or a remark about a part that has no effect.
type Problem struct {
	At   Position
	Text string // cause and next step; no value of a variable
}

// String formats the problem as FILE:LINE:COLUMN: TEXT.
func (p Problem) String() string { return p.At.String() + ": " + textutil.Printable(p.Text) }

// Errors lists all errors of an inventory, in the order of their positions.
type Errors []Problem

// Error formats each error on a line of its own.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Kind is the type of a value.
type Kind int

const (
	Text      Kind = iota
	Number         // Text has it in decimal notation
	Boolean        // Text is true or false
	Null           // no value
	Structure      // a list or an object, which is not read
	Template       // a text of Jinja, which is not evaluated
	Secret         // an encrypted value
)

// Value is the value of a variable. Structures and secrets have no text.
type Value struct {
	At   Position
	Kind Kind
	Text string
}

// Group is a group of hosts.
type Group struct {
	Name     string
	At       Position
	Hosts    []string // hosts that the group lists itself
	Children []string // groups
}

// Host is a host with all its variables.
type Host struct {
	Name      string
	At        Position
	Groups    []string // the groups that list the host themselves, in the order in which they do; not all and ungrouped
	Variables map[string]Value
}

// Inventory is an inventory that has been read.
type Inventory struct {
	Groups  []Group // in the order in which the file first names them
	Hosts   []Host  // in the order of the file
	Remarks []Problem
}

// Limits of an inventory.
const (
	maxFile     = 16 << 20  // bytes of one file
	maxHosts    = 100_000   // hosts of an inventory
	maxGroups   = 10_000    // groups of an inventory
	maxVisits   = 1_000_000 // hosts, groups and variables that are listed, repetitions by aliases and ranges included
	maxDepth    = 100       // groups within groups
	maxProblems = 1000      // errors that are kept, and remarks
	maxVarFiles = 20_000    // files in group_vars and host_vars, and as many entries of their folders
	maxFolders  = 10        // folders within a folder of variables; far below the number of links that a kernel follows
)

// group is a group while the inventory is read.
type group struct {
	name     string
	at       Position
	declared bool // a section other than its variables, or a key of YAML
	hosts    []string
	children []childGroup
	vars     map[string]Value
	priority int
	depth    int
}

type childGroup struct {
	name string
	at   Position
}

// host is a host while the inventory is read.
type host struct {
	name   string
	at     Position
	groups []string
	vars   map[string]Value
}

// builder collects groups, hosts and problems.
type builder struct {
	groups     map[string]*group
	groupOrder []*group
	hosts      map[string]*host
	hostOrder  []*host
	remarks    []Problem
	errs       Errors
	visits     int
	full       bool // a limit was exceeded and reported
	memberOf   map[membership]bool
}

type membership struct{ group, host string }

func newBuilder() *builder {
	b := &builder{groups: map[string]*group{}, hosts: map[string]*host{}, memberOf: map[membership]bool{}}
	for _, name := range []string{"all", "ungrouped"} {
		b.addGroup(name, Position{}).declared = true
	}
	return b
}

func (b *builder) addError(at Position, format string, args ...any) {
	if len(b.errs) < maxProblems {
		b.errs = append(b.errs, Problem{at, fmt.Sprintf(format, args...)})
	}
}

func (b *builder) addRemark(at Position, format string, args ...any) {
	if len(b.remarks) < maxProblems {
		b.remarks = append(b.remarks, Problem{at, fmt.Sprintf(format, args...)})
	}
}

// countVisit reports whether the inventory is within its limits.
func (b *builder) countVisit(at Position) bool {
	if b.visits++; b.visits > maxVisits || len(b.hosts) > maxHosts || len(b.groups) > maxGroups {
		b.reportFull(at)
	}
	return !b.full
}

func (b *builder) reportFull(at Position) {
	if !b.full {
		b.addError(at, "the inventory has more than %d hosts, %d groups or %d entries; split it", maxHosts, maxGroups, maxVisits)
	}
	b.full = true
}

// addGroup returns the group with a name, which is new at its first mention.
func (b *builder) addGroup(name string, at Position) *group {
	g, known := b.groups[name]
	if !known {
		g = &group{name: name, at: at, vars: map[string]Value{}, priority: 1}
		b.groups[name] = g
		b.groupOrder = append(b.groupOrder, g)
	}
	if g.at.Line == 0 {
		g.at = at
	}
	return g
}

// addHost adds a host to a group.
func (b *builder) addHost(name string, g *group, at Position) *host {
	h, known := b.hosts[name]
	if !known {
		h = &host{name: name, at: at, vars: map[string]Value{}}
		b.hosts[name] = h
		b.hostOrder = append(b.hostOrder, h)
	}
	if m := (membership{g.name, name}); !b.memberOf[m] {
		b.memberOf[m] = true
		g.hosts = append(g.hosts, name)
		h.groups = append(h.groups, g.name)
	}
	return h
}

func (b *builder) setGroupVariable(g *group, name string, v Value) {
	if name == "ansible_group_priority" {
		if n, ok := v.wholeNumber(); ok {
			g.priority = n
			return
		}
	}
	g.vars[name] = v
}

// checkGroups reports groups that are named and not declared, and groups that
// contain themselves, and sets the depth of each group.
func (b *builder) checkGroups() {
	for _, g := range b.groupOrder {
		for _, c := range g.children {
			if !b.groups[c.name].declared {
				b.addError(c.at, "%s includes group %q, which has no section; add [%s], or remove the line", g.name, c.name, c.name)
			}
		}
		if !g.declared && len(g.vars) > 0 {
			b.addError(g.at, "group %q has variables and no section of its own; add [%s], or remove the variables", g.name, g.name)
		}
	}
	state := map[*group]int{} // 1: being visited, 2: visited
	var order []*group
	var visit func(g *group)
	visit = func(g *group) {
		state[g] = 1
		for _, c := range g.children {
			child := b.groups[c.name]
			switch state[child] {
			case 0:
				visit(child)
			case 1:
				b.addError(c.at, "group %q contains itself through %q; remove one of them from the other", child.name, g.name)
			}
		}
		state[g] = 2
		order = append(order, g)
	}
	for _, g := range b.groupOrder {
		if state[g] == 0 {
			visit(g)
		}
	}
	slices.Reverse(order) // parents first
	for _, g := range order {
		if g.name != "all" {
			g.depth = max(g.depth, 1)
		}
		for _, c := range g.children {
			b.groups[c.name].depth = max(b.groups[c.name].depth, g.depth+1)
		}
	}
}

// asError returns all errors in the order of their positions, or nil.
func (b *builder) asError() error {
	if len(b.errs) == 0 {
		return nil
	}
	sortProblems(b.errs)
	return slices.Compact(b.errs)
}

func sortProblems(list []Problem) {
	slices.SortStableFunc(list, func(p, q Problem) int { return p.At.Compare(q.At) })
}

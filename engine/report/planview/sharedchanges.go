package planview

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// HostGroup is a group of hosts of one pool whose plans have the same changes
// and actions.
type HostGroup struct {
	Pool     string
	Hosts    []string
	Adopt    string          // dead run whose hold the hosts adopt
	Changes  []engine.Change // a file whose contents differ from host to host says so
	Actions  []engine.Action
	Reverts  bool // the hosts boot the OS that they run now if they fail after their reboot
	Disrupts bool // the hosts are disrupted
}

// GroupHosts groups the hosts of a plan, in the order of the plan.
func GroupHosts(p engine.Plan) []HostGroup {
	var groups textutil.Groups[string, engine.HostPlan]
	for _, hp := range p.Hosts {
		groups.Add(fmt.Sprintf("%q %q %t %q\n%s", hp.Pool, hp.Adopt, len(hp.Rollback) > 0, actionNames(hp.Actions), changeShapes(hp.Changes)), hp)
	}
	var list []HostGroup
	for _, hosts := range groups.All() {
		first := hosts[0]
		g := HostGroup{Pool: first.Pool, Adopt: first.Adopt, Actions: first.Actions, Reverts: len(first.Rollback) > 0, Disrupts: !first.NonDisruptive()}
		var changes [][]engine.Change
		for _, hp := range hosts {
			g.Hosts = append(g.Hosts, hp.Host)
			changes = append(changes, hp.Changes)
		}
		g.Changes = mergeChanges(changes)
		list = append(list, g)
	}
	return list
}

// ActionNames returns the names of actions for people: "drain, reboot".
func ActionNames(list []engine.Action) string { return actionNames(list) }

// ownContents stands for contents that differ from host to host.
const ownContents = "(differs from host to host)"

// mayDifferByHost reports whether a plan may show several hosts together
// although the contents in this change differ. It may do so for a file, because
// one template may make it for all hosts.
func mayDifferByHost(c engine.Change) bool {
	return c.Module == engine.ConfigModule && c.Kind == engine.FileKind
}

func changeShape(c engine.Change) string {
	text := fmt.Sprintf("%q %q %q %q %t %q", c.Module, c.Resource, c.Verb, c.Rule, c.Drift, actionNames(c.Actions))
	if !mayDifferByHost(c) {
		text += fmt.Sprintf(" %q %q %q", c.Before, c.After, c.Reason)
	}
	return text
}

func changeShapes(changes []engine.Change) string {
	var lines []string
	for _, c := range changes {
		lines = append(lines, changeShape(c))
	}
	return strings.Join(lines, "\n")
}

// mergeChanges merges the changes of hosts of one shape. Contents that differ become ownContents.
func mergeChanges(lists [][]engine.Change) []engine.Change {
	out := slices.Clone(lists[0])
	for _, other := range lists[1:] {
		for i, c := range other {
			if c.Before != out[i].Before {
				out[i].Before = ownContents
			}
			if c.After != out[i].After {
				out[i].After = ownContents
			}
			if c.Reason != out[i].Reason {
				out[i].Reason = ""
			}
		}
	}
	return out
}

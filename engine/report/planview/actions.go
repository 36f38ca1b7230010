package planview

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/report/termtext"
)

// writeActions writes the actions of a host in their order, with the rules that
// request each action. It leaves this list out if the host needs no action, or if
// all changes have the same rule and all actions of the host, because the changes
// already show both. It also writes the reaction to a failed reload or restart.
func (v *planView) writeActions(b *strings.Builder, hp engine.HostPlan) {
	groups, actions := groupByRule(hp.Changes), orderedActions(hp)
	if len(groups) > 1 && !hasActionType(hp.Actions, engine.NoAction) || len(groups) == 1 && groups[0].actions != actionNames(actions) {
		b.WriteString("  Actions, in this order\n")
		v.writeActionList(b, hp, actions)
	}
	if hasActionType(hp.Actions, engine.ReloadDaemon, engine.ReloadUnit, engine.RestartUnit) {
		instead := "the run stops"
		if hp.FallsBack() {
			instead = "drain, reboot"
		}
		fmt.Fprintf(b, "  if an action fails: %s\n", instead)
	}
}

func (v *planView) writeActionList(b *strings.Builder, hp engine.HostPlan, actions []engine.Action) {
	for i := 0; i < len(actions); {
		rules := rulesOf(hp.Changes, actions[i])
		end := i + 1
		for end < len(actions) && slices.Equal(rulesOf(hp.Changes, actions[end]), rules) {
			end++
		}
		names := actionNames(actions[i:end])
		i = end
		if len(rules) == 1 {
			v.writePair(b, "    ", names, rules[0])
			continue
		}
		fmt.Fprintf(b, "    %s\n", names)
		for _, r := range rules {
			fmt.Fprintf(b, "        %s\n", v.style.Faint(r))
		}
	}
	if over := supersededActions(hp, actions); len(over) > 0 {
		b.WriteString(termtext.Wrap("    ", "the reboot replaces: "+actionNames(over)))
	}
}

func rulesOf(changes []engine.Change, a engine.Action) []string {
	var rules []string
	for _, c := range changes {
		if slices.Contains(c.Actions, a) && !slices.Contains(rules, c.Rule) {
			rules = append(rules, c.Rule)
		}
	}
	return rules
}

// supersededActions returns the actions of changes that are not among those of their host, because it reboots.
func supersededActions(hp engine.HostPlan, actions []engine.Action) []engine.Action {
	var list []engine.Action
	if !hasActionType(actions, engine.RebootAction) {
		return nil
	}
	for _, c := range hp.Changes {
		if isTask(c) { // a task has steps of its own
			continue
		}
		for _, a := range c.Actions {
			if a.Type != engine.NoAction && !slices.Contains(actions, a) && !slices.Contains(list, a) {
				list = append(list, a)
			}
		}
	}
	return list
}

func hasActionType(list []engine.Action, types ...engine.ActionType) bool {
	return slices.ContainsFunc(list, func(a engine.Action) bool { return slices.Contains(types, a.Type) })
}

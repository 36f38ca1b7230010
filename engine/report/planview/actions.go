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
	groups := groupByRule(hp.Changes)
	if len(groups) > 1 && !hasActionType(hp.Actions, engine.NoAction) || len(groups) == 1 && groups[0].actions != actionNames(hp.Actions) {
		b.WriteString("  Actions, in this order\n")
		v.writeActionList(b, hp)
	}
	if hasActionType(hp.Actions, engine.ReloadDaemon, engine.ReloadUnit, engine.RestartUnit) {
		instead := "the run stops"
		if hp.FallsBack() {
			instead = "drain, reboot"
		}
		fmt.Fprintf(b, "  if an action fails: %s\n", instead)
	}
}

func (v *planView) writeActionList(b *strings.Builder, hp engine.HostPlan) {
	for i := 0; i < len(hp.Actions); {
		rules := rulesOf(hp.Changes, hp.Actions[i])
		end := i + 1
		for end < len(hp.Actions) && slices.Equal(rulesOf(hp.Changes, hp.Actions[end]), rules) {
			end++
		}
		names := actionNames(hp.Actions[i:end])
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
	if over := supersededActions(hp); len(over) > 0 {
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

func supersededActions(hp engine.HostPlan) []engine.Action {
	var list []engine.Action
	if !hasActionType(hp.Actions, engine.RebootAction) {
		return nil
	}
	for _, c := range hp.Changes {
		if isTask(c) { // a task has steps of its own
			continue
		}
		for _, a := range c.Actions {
			if a.Type != engine.NoAction && !slices.Contains(hp.Actions, a) && !slices.Contains(list, a) {
				list = append(list, a)
			}
		}
	}
	return list
}

func hasActionType(list []engine.Action, types ...engine.ActionType) bool {
	return slices.ContainsFunc(list, func(a engine.Action) bool { return slices.Contains(types, a.Type) })
}

package planview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"holdfast/engine"
	"holdfast/engine/report/termtext"
)

const (
	mostChanges  = 12 // number of changes of one rule that are all shown
	shownChanges = 10 // number of changes that are shown of a longer group
)

// ruleGroup has the changes whose actions come from the same rule.
type ruleGroup struct {
	rule, actions string
	changes       []engine.Change
}

func groupByRule(changes []engine.Change) []ruleGroup {
	type key struct{ rule, actions string }
	at := map[key]int{}
	var groups []ruleGroup
	for _, c := range changes {
		k := key{c.Rule, actionNames(c.Actions)}
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k] = i
			groups = append(groups, ruleGroup{rule: k.rule, actions: k.actions})
		}
		groups[i].changes = append(groups[i].changes, c)
	}
	return groups
}

// writeChanges shortens long groups and leaves out the reasons, unless all is set.
func (v *planView) writeChanges(b *strings.Builder, indent string, list []engine.Change, all bool) {
	for _, g := range groupByRule(list) {
		shown := g.changes
		if len(shown) > mostChanges && !all {
			shown = shown[:shownChanges]
		}
		for _, c := range shown {
			v.writeChange(b, indent, c)
			if all && c.Reason != "" {
				fmt.Fprintf(b, "%s      %s\n", indent, v.style.Faint("why: "+c.Reason))
			}
		}
		if more := g.changes[len(shown):]; len(more) > 0 {
			fmt.Fprintf(b, "%s%s\n", indent, v.style.Faint(fmt.Sprintf("and %d more with this rule%s (--verbose shows all)", len(more), countVerbs(g.changes, more))))
		}
		left := g.actions
		if n := len(g.changes); n > 1 {
			left = fmt.Sprintf("all %d: %s", n, left)
		}
		v.writePair(b, indent+"    ", left, g.rule)
	}
}

func (v *planView) writeChange(b *strings.Builder, indent string, c engine.Change) {
	if c.String() == c.Resource {
		fmt.Fprintf(b, "%s%s %s\n", indent, v.verbMark(c.Verb), c.Resource)
		return
	}
	space := "  "
	if ansi.StringWidth(indent+"~ "+c.Resource+"  "+c.Before+" → "+c.After) > termtext.Width {
		space = "\n" + indent + "    "
	}
	fmt.Fprintf(b, "%s%s %s%s%s %s %s\n", indent, v.verbMark(c.Verb), c.Resource, space, c.Before, v.style.Faint("→"), c.After)
}

func (v *planView) writePair(b *strings.Builder, indent, what, why string) {
	space := "  "
	if ansi.StringWidth(indent+what+space+why) > termtext.Width {
		space = "\n" + indent + "    "
	}
	fmt.Fprintf(b, "%s%s%s%s\n", indent, what, space, v.style.Faint(why))
}

func (v *planView) verbMark(verb engine.Verb) string {
	switch verb {
	case engine.Create:
		return v.style.Green("+")
	case engine.Delete:
		return v.style.Red("-")
	default: // an update, or an OS
		return v.style.Yellow("~")
	}
}

func countVerbs(all, more []engine.Change) string {
	several := slices.ContainsFunc(all, func(c engine.Change) bool { return c.Verb != all[0].Verb })
	if !several {
		return ""
	}
	n := map[engine.Verb]int{}
	for _, c := range more {
		n[c.Verb]++
	}
	var parts []string
	for _, verb := range []engine.Verb{engine.Create, engine.Update, engine.Delete} {
		if n[verb] == len(more) {
			return ", all to " + string(verb)
		}
		if n[verb] > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", n[verb], verb))
		}
	}
	return ": " + strings.Join(parts, ", ")
}

func actionNames(list []engine.Action) string {
	var parts []string
	for _, a := range list {
		parts = append(parts, a.String())
	}
	return strings.Join(parts, ", ")
}

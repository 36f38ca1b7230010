package planview

import (
	"strings"

	"holdfast/engine"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

const driftTitle = "Drift: changed on the host since it was applied"

func splitChanges(changes []engine.Change, kind func(engine.Change) bool) (others, those []engine.Change) {
	for _, c := range changes {
		if kind(c) {
			those = append(those, c)
		} else {
			others = append(others, c)
		}
	}
	return others, those
}

func isDrift(c engine.Change) bool { return c.Drift }

func isOS(c engine.Change) bool { return c.Module == engine.OSModule }

func (v *planView) writeDrift() {
	if len(v.p.Drift) == 0 {
		return
	}
	v.writeLine("%s", v.style.Bold(driftTitle))
	v.writeLine("  only reported, by drift = \"report\" of their pool; these changes would undo it:")
	var groups textutil.Groups[string, engine.HostDrift]
	for _, d := range v.p.Drift {
		key := changeShapes(d.Changes)
		if v.verbose {
			var all strings.Builder
			v.writeChanges(&all, "    ", d.Changes, true)
			key = all.String()
		}
		groups.Add(key, d)
	}
	for _, group := range groups.All() {
		var names []string
		var lists [][]engine.Change
		for _, d := range group {
			names = append(names, d.Host)
			lists = append(lists, d.Changes)
		}
		v.writeLine("  %s", v.style.Bold(termtext.FoldHosts(names)))
		v.writeChanges(&v.b, "    ", mergeChanges(lists), v.verbose)
	}
	v.writeLine("")
}

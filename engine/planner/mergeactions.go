package planner

import (
	"cmp"
	"slices"

	"holdfast/engine"
)

// mergeActions returns the actions of a host's changes, each action once, a drain
// first. The others follow the given order, in which their module carries them out.
// Without one they are ordered by type. A reboot replaces daemon-reload, reload and
// restart, and then types decide the order.
func mergeActions(changes []engine.Change, order []engine.Action) []engine.Action {
	var all []engine.Action
	for _, c := range changes {
		all = append(all, c.Actions...)
	}
	var merged []engine.Action
	reboot := slices.ContainsFunc(all, func(a engine.Action) bool { return a.Type == engine.RebootAction })
	for _, kind := range []engine.ActionType{engine.DrainAction, engine.ReloadDaemon, engine.ReloadUnit, engine.RestartUnit, engine.CommandAction, engine.DefragAction, engine.RebootAction} {
		for _, a := range all {
			swallowed := reboot && (kind == engine.ReloadDaemon || kind == engine.ReloadUnit || kind == engine.RestartUnit)
			if a.Type == kind && !swallowed && !slices.Contains(merged, a) {
				merged = append(merged, a)
			}
		}
	}
	if len(merged) == 0 {
		return []engine.Action{{Type: engine.NoAction}}
	}
	if len(order) > 0 && !reboot {
		place := func(a engine.Action) int {
			if i := slices.Index(order, a); i >= 0 && a.Type != engine.DrainAction {
				return i
			}
			return -1 // only drains are not in order, because one module at most has other actions
		}
		slices.SortStableFunc(merged, func(a, b engine.Action) int { return cmp.Compare(place(a), place(b)) })
	}
	return merged
}

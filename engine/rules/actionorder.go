package rules

import (
	"cmp"
	"slices"

	"holdfast/engine"
)

// requestedActions collects the actions that changes request.
type requestedActions struct {
	list []requestedAction
}

// requestedAction is an action that a rule requests.
type requestedAction struct {
	action   engine.Action
	decision decision
	index    int // position in the actions of the rule
}

func (p *requestedActions) addActions(v decision) {
	for i, a := range v.actions {
		p.list = append(p.list, requestedAction{action: a, decision: v, index: i})
	}
}

// sortActions returns each action once, in execution order, with all rules that
// request the action. A reboot replaces all other actions except the drain, and
// any action replaces "none".
func (p *requestedActions) sortActions() []Action {
	list := slices.Clone(p.list)
	has := func(t engine.ActionType) bool {
		return slices.ContainsFunc(list, func(w requestedAction) bool { return w.action.Type == t })
	}
	rebooting := has(engine.RebootAction)
	list = slices.DeleteFunc(list, func(w requestedAction) bool {
		return w.action.Type == engine.NoAction || rebooting && w.action.Type != engine.DrainAction && w.action.Type != engine.RebootAction
	})
	slices.SortStableFunc(list, func(a, b requestedAction) int {
		return cmp.Or(cmp.Compare(a.actionPhase(), b.actionPhase()), cmp.Compare(a.decision.rank, b.decision.rank),
			cmp.Compare(a.index, b.index), cmp.Compare(a.decision.rule, b.decision.rule))
	})
	at := map[engine.Action]int{}
	var actions []Action
	for _, w := range list {
		i, ok := at[w.action]
		if !ok {
			i = len(actions)
			at[w.action] = i
			actions = append(actions, Action{Action: w.action})
		}
		a := &actions[i]
		if !slices.Contains(a.Rules, w.decision.rule) {
			a.Rules = append(a.Rules, w.decision.rule)
		}
		a.Timeout = max(a.Timeout, w.decision.timeout)
	}
	if len(actions) == 0 {
		return []Action{{Action: engine.Action{Type: engine.NoAction}}}
	}
	return actions
}

func (w requestedAction) actionPhase() int {
	switch w.action.Type {
	case engine.DrainAction:
		return 0
	case engine.ReloadDaemon:
		return 1
	case engine.ReloadUnit:
		return 3
	case engine.RestartUnit:
		if w.action.Unit == trustUnit {
			return 2
		}
		return 4
	default:
		return 5
	}
}

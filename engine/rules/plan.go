package rules

import (
	"cmp"
	"slices"

	"holdfast/engine"
)

// plan collects what changes ask for and puts it in order.
type plan struct {
	wanted []wanted
}

// wanted is an action that a rule asks for.
type wanted struct {
	action  engine.Action
	verdict verdict
	index   int // among the actions of the rule
}

func (p *plan) add(v verdict) {
	for i, a := range v.actions {
		p.wanted = append(p.wanted, wanted{action: a, verdict: v, index: i})
	}
}

// actions gives each action once, in the order in which it is carried out,
// with all the rules that ask for it. A reboot swallows the rest, and none
// goes beside anything else.
func (p *plan) actions() []Action {
	list := slices.Clone(p.wanted)
	has := func(t engine.ActionType) bool {
		return slices.ContainsFunc(list, func(w wanted) bool { return w.action.Type == t })
	}
	rebooting := has(engine.RebootAction)
	list = slices.DeleteFunc(list, func(w wanted) bool {
		return w.action.Type == engine.NoAction || rebooting && w.action.Type != engine.DrainAction && w.action.Type != engine.RebootAction
	})
	slices.SortStableFunc(list, func(a, b wanted) int {
		return cmp.Or(cmp.Compare(a.phase(), b.phase()), cmp.Compare(a.verdict.rank, b.verdict.rank),
			cmp.Compare(a.index, b.index), cmp.Compare(a.verdict.rule, b.verdict.rule))
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
		if !slices.Contains(a.Rules, w.verdict.rule) {
			a.Rules = append(a.Rules, w.verdict.rule)
		}
		a.Timeout = max(a.Timeout, w.verdict.timeout)
	}
	if len(actions) == 0 {
		return []Action{{Action: engine.Action{Type: engine.NoAction}}}
	}
	return actions
}

// phase is when an action comes.
func (w wanted) phase() int {
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
	}
	return 5
}

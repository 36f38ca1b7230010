package engine

import (
	"fmt"
	"strings"
)

// Check compares the plan with one the operator has approved: nothing may be
// done that is not in it, neither a change nor what it takes to make it. What
// is in it and done by now is fine.
func (p Plan) Check(approved Plan) error {
	was := byHost(approved.Hosts)
	var news []string
	for _, hp := range p.Hosts {
		for _, c := range hp.Changes {
			if old := was[hp.Host]; old == nil || !old.covers(c) {
				news = append(news, fmt.Sprintf("%s: %s %s → %s", hp.Host, c.Resource, c.Before, c.After))
			}
		}
	}
	if len(news) == 0 {
		return nil
	}
	return fmt.Errorf("the hosts have changed since the plan was approved; these changes are not in it:\n  %s\nplan again", strings.Join(news, "\n  "))
}

// covers reports whether the host's plan has that change, with those actions.
func (hp HostPlan) covers(c Change) bool {
	for _, d := range hp.Changes {
		if d.same(c) {
			return hp.does(c.Actions)
		}
	}
	return false
}

// does reports whether the host's plan has these actions. A reboot stands for
// every other but the drain.
func (hp HostPlan) does(actions []Action) bool {
	for _, a := range actions {
		swallowed := a.Type != DrainAction && hasAction(hp.Actions, RebootAction)
		if a.Type != NoAction && !swallowed && !containsAction(hp.Actions, a) {
			return false
		}
	}
	return true
}

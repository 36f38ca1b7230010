package engine

import (
	"fmt"
	"strings"
)

// Check compares the plan with one the operator has approved: nothing may be
// done that is not in it, neither a change nor what it takes to make it. What
// is in it and done by now is fine.
func (p Plan) Check(approved Plan) error {
	news := unapprovedChanges(p, approved, "")
	if len(news) == 0 {
		return nil
	}
	return fmt.Errorf("the hosts have changed since the plan was approved; these changes are not in it:\n  %s\nplan again", strings.Join(news, "\n  "))
}

// Moved compares what is to be changed with how it was when the plan was
// approved: what somebody has edited since is not overwritten. Hosts that the
// run has begun are not asked. What an OS was before does not matter.
func (p Plan) Moved(approved Plan, begun func(host string) bool) error {
	was := byHost(approved.Hosts)
	var moved []string
	for _, hp := range p.Hosts {
		old := was[hp.Host]
		if old == nil || begun(hp.Host) {
			continue
		}
		for _, c := range hp.Changes {
			for _, d := range old.Changes {
				if c.Verb != "" && c.Resource != RecordResource && c.same(d) && c.Before != d.Before && c.Before != c.After {
					moved = append(moved, fmt.Sprintf("%s: %s is %s now, and was %s", hp.Host, c.Resource, c.Before, d.Before))
				}
			}
		}
	}
	if len(moved) == 0 {
		return nil
	}
	return fmt.Errorf("these have been changed since the plan was approved, and nothing was written there:\n  %s\nplan again", strings.Join(moved, "\n  "))
}

// hasChange reports whether the host's plan has that change, with those actions.
// That a change is put on record goes without saying.
func (hp HostPlan) hasChange(c Change) bool {
	if c.Resource == RecordResource {
		return len(hp.Changes) > 0
	}
	for _, d := range hp.Changes {
		if d.same(c) {
			return hp.hasActions(c.Actions)
		}
	}
	return false
}

// hasActions reports whether the host's plan has these actions. A reboot stands for
// every other but the drain, and for an action that fails where that was
// approved.
func (hp HostPlan) hasActions(actions []Action) bool {
	for _, a := range actions {
		if hp.FallsBack() && (a.Type == DrainAction || a.Type == RebootAction) {
			continue
		}
		swallowed := a.Type != DrainAction && hasAction(hp.Actions, RebootAction)
		if a.Type != NoAction && !swallowed && !containsAction(hp.Actions, a) {
			return false
		}
	}
	return true
}

// unapprovedChanges lists the changes of one plan that another does not have, each with
// that said of it.
func unapprovedChanges(p, other Plan, said string) []string {
	have := byHost(other.Hosts)
	var out []string
	for _, hp := range p.Hosts {
		for _, c := range hp.Changes {
			if old := have[hp.Host]; old == nil || !old.hasChange(c) {
				out = append(out, fmt.Sprintf("%s: %s%s", hp.Host, c, said))
			}
		}
	}
	return out
}

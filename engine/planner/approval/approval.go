package approval

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
)

// CheckApproved compares the plan with an approved plan. It returns an error if
// the plan has a change or an action that is not approved. Approved work may be
// missing, because it may be done by now.
func CheckApproved(p engine.Plan, approved engine.Plan) error {
	news := unapprovedChanges(p, approved, "")
	if len(news) == 0 {
		return nil
	}
	return fmt.Errorf("the hosts have changed since the plan was approved; these changes are not in it:\n  %s\nplan again", strings.Join(news, "\n  "))
}

// CheckUnedited returns an error if a person edited a resource after the
// approval, because a write would lose that edit. It skips hosts that the run
// has begun, and the OS.
func CheckUnedited(p engine.Plan, approved engine.Plan, begun func(host string) bool) error {
	was := approved.ByHost()
	var moved []string
	for _, hp := range p.Hosts {
		old := was[hp.Host]
		if old == nil || begun(hp.Host) {
			continue
		}
		for _, c := range hp.Changes {
			for _, d := range old.Changes {
				if c.Verb != "" && c.Resource != engine.RecordResource && c.Same(d) && c.Before != d.Before && c.Before != c.After {
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

// hasChange reports whether the host's plan has that change with those actions.
// A change that only updates the record needs no approval.
func hasChange(hp engine.HostPlan, c engine.Change) bool {
	if c.Resource == engine.RecordResource {
		return len(hp.Changes) > 0
	}
	for _, d := range hp.Changes {
		if d.Same(c) {
			return hasActions(hp, c.Actions)
		}
	}
	return false
}

// hasActions reports whether the host's plan has these actions. A reboot
// includes every action except the drain. A fallback includes drain and reboot.
func hasActions(hp engine.HostPlan, actions []engine.Action) bool {
	for _, a := range actions {
		if hp.FallsBack() && (a.Type == engine.DrainAction || a.Type == engine.RebootAction) {
			continue
		}
		swallowed := a.Type != engine.DrainAction && hp.HasAction(engine.RebootAction)
		if a.Type != engine.NoAction && !swallowed && !slices.Contains(hp.Actions, a) {
			return false
		}
	}
	return true
}

func unapprovedChanges(p, other engine.Plan, said string) []string {
	have := other.ByHost()
	var out []string
	for _, hp := range p.Hosts {
		for _, c := range hp.Changes {
			if old := have[hp.Host]; old == nil || !hasChange(*old, c) {
				out = append(out, fmt.Sprintf("%s: %s%s", hp.Host, c, said))
			}
		}
	}
	return out
}

package engine

import (
	"fmt"
	"slices"
	"strings"
)

// Check compares the plan with one the operator has approved: nothing may be
// done that is not in it, neither a change nor what it takes to make it. What
// is in it and done by now is fine.
func (p Plan) Check(approved Plan) error {
	news := uncovered(p, approved, "")
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

// RecordResource is the record that a host keeps of what was applied to it, as
// the resource of a change.
const RecordResource = "record"

// covers reports whether the host's plan has that change, with those actions.
// That a change is put on record goes without saying.
func (hp HostPlan) covers(c Change) bool {
	if c.Resource == RecordResource {
		return len(hp.Changes) > 0
	}
	for _, d := range hp.Changes {
		if d.same(c) {
			return hp.does(c.Actions)
		}
	}
	return false
}

// does reports whether the host's plan has these actions. A reboot stands for
// every other but the drain, and for an action that fails where that was
// approved.
func (hp HostPlan) does(actions []Action) bool {
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

// Same compares a plan with one that was saved: it must be the very work that
// was approved, on the very hosts, neither more nor less.
func (p Plan) Same(saved Plan) error {
	if p.Play != saved.Play {
		return fmt.Errorf("the saved plan is that of play %q, and this is play %q", saved.Play, p.Play)
	}
	diffs := append(news(p, saved), uncovered(saved, p, " is in the saved plan, but not to be done any more")...)
	if len(diffs) == 0 {
		return nil
	}
	return fmt.Errorf("the hosts have moved on since the plan was saved:\n  %s\nplan again", strings.Join(diffs, "\n  "))
}

// news lists what is to be done and was not, or starts from something else.
func news(p, saved Plan) []string {
	was := byHost(saved.Hosts)
	var out []string
	for _, hp := range p.Hosts {
		old := was[hp.Host]
		for _, c := range hp.Changes {
			switch {
			case old == nil || !old.covers(c):
				out = append(out, fmt.Sprintf("%s: %s is not in the saved plan", hp.Host, c))
			case c.Resource != RecordResource && old.before(c) != c.Before:
				out = append(out, fmt.Sprintf("%s: %s is %s now, and was %s", hp.Host, c.Resource, c.Before, old.before(c)))
			}
		}
	}
	return out
}

// uncovered lists the changes of one plan that another does not have, each with
// that said of it.
func uncovered(p, other Plan, said string) []string {
	have := byHost(other.Hosts)
	var out []string
	for _, hp := range p.Hosts {
		for _, c := range hp.Changes {
			if old := have[hp.Host]; old == nil || !old.covers(c) {
				out = append(out, fmt.Sprintf("%s: %s%s", hp.Host, c, said))
			}
		}
	}
	return out
}

// before is what the host's plan makes the change from.
func (hp HostPlan) before(c Change) string {
	for _, d := range hp.Changes {
		if d.same(c) {
			return d.Before
		}
	}
	return ""
}

// FallsBack reports whether the host is to be drained and rebooted if one of
// its actions fails.
func (hp HostPlan) FallsBack() bool {
	return slices.ContainsFunc(hp.Roll, func(s Step) bool { return s.Do.Exec != nil && s.Do.Exec.Fallback })
}

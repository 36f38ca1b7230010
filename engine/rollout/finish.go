package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"holdfast/engine"
)

// finish turns how the loop ended into the outcome of the run.
func (r *Run) finish(ctx context.Context, p *progress, last []engine.Plan, err error) engine.RunEnd {
	sort.Strings(p.updated)
	p.updated = slices.DeleteFunc(p.updated, p.undone)
	end := engine.RunEnd{Updated: p.updated, NotBegun: r.notBegun(last, err), Failed: slices.Sorted(maps.Keys(p.failed)), Left: left(last, p)}
	r.counts(ctx, p, &end)
	var f *engine.Failure
	switch {
	case errors.Is(err, ErrDeclined) && p.earlier > 0:
		end.Exit, end.Reason = engine.ExitStopped, "not approved: play "+p.play.Name+" was not begun; what plays before it did stays"
	case errors.Is(err, ErrDeclined), errors.Is(err, ErrNoStep):
		end.Exit, end.Reason = engine.ExitStopped, err.Error()
	case ctx.Err() != nil:
		end.Exit, end.Reason = engine.ExitStopped, "stopped at once by the operator; holds stay, and the next run goes on from here"
	case errors.As(err, &f):
		end.Exit, end.Reason = exitOf(f), f.Error()+r.spent(p)
		if others := unnamed(p, nil, f.Host); end.Exit == engine.ExitRefused && others != "" {
			end.Exit, end.Reason = engine.ExitFailed, end.Reason+"; "+others
		}
	case err != nil:
		end.Exit, end.Reason = engine.ExitFailed, err.Error()
	default:
		end.Exit, end.Reason = r.verdicts(last)
		if others := unnamed(p, last, ""); others != "" {
			end.Reason = others + "; apart from that: " + end.Reason
		}
		if len(p.failed) > 0 {
			end.Exit = engine.ExitFailed // whatever else there is, and though all may match
		}
		if err := r.events.failed(); err != nil {
			end = unjournaled(end, err)
		}
	}
	if r.stopping() && end.Exit != engine.ExitOK && end.Exit != engine.ExitStopped {
		end.Exit, end.Reason = engine.ExitStopped, "stopped by the operator; "+end.Reason
	}
	return end
}

// notBegun names the plays that the run did not come to, or that the operator
// declined.
func (r *Run) notBegun(last []engine.Plan, err error) []string {
	begun := len(last)
	if errors.Is(err, ErrDeclined) {
		begun--
	}
	var names []string
	for i := begun; i < len(r.Plays); i++ {
		names = append(names, r.Plays[i].Name)
	}
	return names
}

// unnamed says which hosts have failed that no plan names as such, nor the end.
func unnamed(p *progress, plans []engine.Plan, named string) string {
	how := p.failures()
	delete(how, named)
	for _, plan := range plans {
		for _, x := range plan.Excluded {
			if x.Why == engine.Failed {
				delete(how, x.Host)
			}
		}
	}
	switch hosts := slices.Sorted(maps.Keys(how)); len(hosts) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s has failed (%s)", hosts[0], firstLine(how[hosts[0]]))
	default:
		return strings.Join(engine.FoldNames(hosts), ", ") + " have failed"
	}
}

// spent says that a failure budget is used up, where there was one.
func (r *Run) spent(p *progress) string {
	of := r.input(p.sight, p).Exhausted()
	failed := 0
	for host := range p.failed {
		if h, _ := r.Inventory.Host(host); usesUp(h, of) {
			failed++
		}
	}
	if failed < 2 {
		return ""
	}
	return fmt.Sprintf("; %d hosts have failed, which is more than the failure budget of %s allows (--best-effort goes on with the others)", failed, of)
}

// counts tells how far each pool was when it was last seen. A run that was stopped
// at once has not seen what it did, and tells nothing.
func (r *Run) counts(ctx context.Context, p *progress, end *engine.RunEnd) {
	if p.sight.Facts == nil || ctx.Err() != nil && p.hasBegun() {
		return
	}
	in := r.input(p.sight, p)
	in.Play, in.Modules, in.Selected = nil, r.Modules, nil
	status := engine.NewStatus(in)
	end.Pools, end.Complete = status.Pools, status.Complete
}

// verdicts is the verdict on all plays, which is the worst of them.
func (r *Run) verdicts(last []engine.Plan) (engine.ExitCode, string) {
	if len(r.Plays) == 0 {
		return verdict(last[0])
	}
	worst, why := engine.ExitOK, ""
	for _, plan := range last {
		exit, reason := verdict(plan)
		if exit != worst && exit.Worse(worst) == exit {
			worst, why = exit, "play "+plan.Play+": "+reason
		}
	}
	if worst == engine.ExitOK {
		return worst, "the playbook is done; holdfast status says whether every host matches"
	}
	return worst, why
}

// unjournaled is the end of a run whose journal is not whole.
func unjournaled(end engine.RunEnd, err error) engine.RunEnd {
	if !strings.Contains(end.Reason, err.Error()) {
		end.Reason = err.Error() + "; apart from that: " + end.Reason
	}
	if end.Exit != engine.ExitStopped {
		end.Exit = engine.ExitFailed
	}
	return end
}

// verdict says how a plan ends on which nothing more can be done.
func verdict(plan engine.Plan) (engine.ExitCode, string) {
	plan.Lanes = slices.DeleteFunc(slices.Clone(plan.Lanes), func(l engine.Lane) bool { return waits(plan, l) })
	exit := plan.Exit()
	switch {
	case len(plan.Refusals) > 0:
		return exit, "not safe to go on: " + strings.Join(plan.Refusals, "; ")
	case len(plan.Unfinished) > 0:
		return exit, "refused: an earlier roll-out has not reached every host, and this would begin another OS: " + some(plan.Unfinished)
	case exit == engine.ExitOK && len(plan.Matching) < plan.Total:
		return exit, "every host within the limit matches"
	case exit == engine.ExitOK:
		return exit, "every host matches"
	}
	parts := []string{}
	if len(plan.Excluded) > 0 {
		parts = append(parts, absences(plan.Excluded))
	}
	if len(plan.Drift) > 0 {
		parts = append(parts, drift(plan.Drift))
	}
	return exit, "incomplete: " + strings.Join(parts, "; ")
}

// waits reports whether the hosts of a lane wait for their window: they may have
// lost what was staged, and the run that disrupts them stages it again.
func waits(plan engine.Plan, l engine.Lane) bool {
	return !slices.ContainsFunc(l.Hosts, func(h string) bool {
		return !slices.ContainsFunc(plan.Excluded, func(x engine.Exclusion) bool { return x.Host == h && x.Why == engine.Closed })
	})
}

// some gives the first few of a list.
func some(list []engine.Straggler) string {
	var parts []string
	for _, u := range list[:min(mostReasons, len(list))] {
		parts = append(parts, u.String())
	}
	return strings.Join(engine.AndMore(parts, len(list)), "; ")
}

// drift names the hosts whose pools only report that somebody changed them.
func drift(list []engine.HostDrift) string {
	var hosts []string
	for _, d := range list {
		hosts = append(hosts, d.Host)
	}
	return strings.Join(engine.FoldNames(hosts), ", ") + ": drift, which is only to be reported; holdfast plan says what"
}

// mostReasons is how many reasons fit into a sentence.
const mostReasons = 3

// absences says which hosts are left out and why, in one sentence; if there
// are many reasons, the plan is where to read them.
func absences(list []engine.Exclusion) string {
	reason := func(x engine.Exclusion) string { return fmt.Sprintf("%s (%s)", standing(x.Why), x.Reason) }
	if parts := sorted(list, reason); len(parts) <= mostReasons {
		return strings.Join(parts, "; ")
	}
	why := func(x engine.Exclusion) string { return standing(x.Why) }
	return strings.Join(sorted(list, why), "; ") + "; holdfast plan says why"
}

// standing is where a host stands that was left out, after "is".
func standing(why engine.Why) string {
	switch why {
	case engine.Closed:
		return "waiting for a maintenance window"
	case engine.Failed:
		return "not updated, because of a failure"
	case engine.RolledBack:
		return "rolled back"
	}
	return string(why)
}

// sorted puts hosts of which the same is to be said together.
func sorted(list []engine.Exclusion, say func(engine.Exclusion) string) []string {
	var order []string
	hosts := map[string][]string{}
	for _, x := range list {
		what := say(x)
		if hosts[what] == nil {
			order = append(order, what)
		}
		hosts[what] = append(hosts[what], x.Host)
	}
	parts := make([]string, len(order))
	for i, what := range order {
		verb := "is"
		if len(hosts[what]) > 1 {
			verb = "are"
		}
		parts[i] = fmt.Sprintf("%s %s %s", strings.Join(engine.FoldNames(hosts[what]), ", "), verb, what)
	}
	return parts
}

// left names the hosts with work that this run did not finish.
func left(plans []engine.Plan, p *progress) []string {
	var out []string
	add := func(host string) {
		_, failed := p.failed[host]
		if !failed && !slices.Contains(p.updated, host) && !slices.Contains(out, host) {
			out = append(out, host)
		}
	}
	for _, plan := range plans {
		for _, hp := range plan.Hosts {
			add(hp.Host)
		}
		for _, x := range plan.Excluded {
			if x.Why == engine.Blocked {
				add(x.Host)
			}
		}
	}
	sort.Strings(out)
	return out
}

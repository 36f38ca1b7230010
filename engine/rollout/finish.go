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
	"holdfast/engine/planner"
	"holdfast/engine/textutil"
)

// finish turns how the loop ended into the outcome of the run.
func (r *Run) finish(ctx context.Context, p *progress, last []engine.Plan, err error) engine.RunEnd {
	sort.Strings(p.updated)
	p.updated = slices.DeleteFunc(p.updated, p.undone)
	verdict := r.judge(ctx, p, last, err)
	end := engine.RunEnd{
		Exit: verdict.Exit, Verdict: verdict, Reason: r.reason(ctx, p, last, err),
		Updated: p.updated, NotBegun: r.notBegun(last, err), Failed: slices.Sorted(maps.Keys(p.failed)), Left: left(last, p),
	}
	if journal := r.events.failed(); err == nil && journal != nil {
		end = unjournaled(end, journal)
	}
	if r.stopping() && end.Exit == engine.ExitStopped && !stoppedBy(ctx, err) {
		end.Reason = "stopped by the operator; " + end.Reason
	}
	r.counts(ctx, p, &end)
	return end
}

// reason says in a sentence how the run ended.
func (r *Run) reason(ctx context.Context, p *progress, last []engine.Plan, err error) string {
	var f *engine.Failure
	switch {
	case errors.Is(err, ErrDeclined) && p.earlier > 0:
		return "not approved: play " + p.play.Name + " was not begun; what plays before it did stays"
	case errors.Is(err, ErrDeclined), errors.Is(err, ErrNoStep):
		return err.Error()
	case ctx.Err() != nil:
		return "stopped at once by the operator; holds stay, and the next run goes on from here"
	case errors.As(err, &f):
		text := f.Error() + r.spent(p)
		if others := unnamed(p, nil, f.Host); f.Exit() == engine.ExitRefused && others != "" {
			text += "; " + others
		}
		return text
	case err != nil:
		return err.Error()
	}
	text := r.endings(last)
	if others := unnamed(p, last, ""); others != "" {
		text = others + "; apart from that: " + text
	}
	return text
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
		return strings.Join(textutil.FoldNames(hosts), ", ") + " have failed"
	}
}

// spent says that a failure budget is used up, where there was one.
func (r *Run) spent(p *progress) string {
	of := r.input(p.sight, p).ExceededFailureBudget()
	failed := 0
	for host := range p.failed {
		if h, _ := r.Inventory.Host(host); of.Covers(h) {
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
	if end.Exit == engine.ExitOK { // then it says whether the whole site is complete
		in.Clusters = r.observeOthers(ctx, in)
	}
	status := planner.NewStatus(in)
	end.Pools, end.Complete = status.Pools, status.Complete && end.Exit == engine.ExitOK
}

// endings says how the plays ended: the worst of them.
func (r *Run) endings(last []engine.Plan) string {
	if len(r.Plays) == 0 {
		return ending(last[0])
	}
	worst, why := engine.ExitOK, "the playbook is done; holdfast status says whether every host matches"
	for _, plan := range last {
		exit := endedPlan(plan).Verdict().Exit
		if exit != worst && exit.Worse(worst) == exit {
			worst, why = exit, "play "+plan.Play+": "+ending(plan)
		}
	}
	return why
}

// unjournaled is the end of a run whose journal is not whole.
func unjournaled(end engine.RunEnd, err error) engine.RunEnd {
	if slices.ContainsFunc(end.Verdict.Failures, func(f engine.Failure) bool { return f.Kind == KindJournal }) {
		return end // that is why it ended
	}
	end.Reason = err.Error() + "; apart from that: " + end.Reason
	end.Verdict.Failures = append(slices.Clip(end.Verdict.Failures), engine.Failure{Cause: err.Error(), Kind: KindJournal})
	end.Verdict = engine.Judge(end.Verdict.Findings)
	end.Exit, end.Complete = end.Verdict.Exit, false
	return end
}

// ending says how a plan ends on which nothing more can be done.
func ending(plan engine.Plan) string {
	switch {
	case len(plan.Refusals) > 0:
		return "not safe to go on: " + strings.Join(plan.Refusals, "; ")
	case len(plan.Unfinished) > 0:
		return "refused: an earlier roll-out has not reached every host, and this would begin another OS: " + some(plan.Unfinished)
	}
	var parts []string
	for _, s := range plan.UnhealthyClusters {
		parts = append(parts, s.String())
	}
	if len(plan.Excluded) > 0 {
		parts = append(parts, absences(plan.Excluded))
	}
	if len(plan.Drift) > 0 {
		parts = append(parts, drift(plan.Drift))
	}
	switch {
	case len(parts) > 0:
		return "incomplete: " + strings.Join(parts, "; ")
	case len(plan.Matching) < plan.Total:
		return "every host within the limit matches"
	}
	return "every host matches"
}

// waits reports whether the hosts of a lane wait for their window.
func waits(plan engine.Plan, l engine.Lane) bool {
	return !slices.ContainsFunc(l.Hosts, func(h string) bool {
		return !slices.ContainsFunc(plan.Excluded, func(x engine.Exclusion) bool { return x.Host == h && x.Why == engine.Closed })
	})
}

// some gives the first few of a list.
func some(list []engine.UnfinishedHost) string {
	var parts []string
	for _, u := range list[:min(mostReasons, len(list))] {
		parts = append(parts, u.String())
	}
	return strings.Join(textutil.AndMore(parts, len(list)), "; ")
}

// drift names the hosts whose pools only report that somebody changed them.
func drift(list []engine.HostDrift) string {
	var hosts []string
	for _, d := range list {
		hosts = append(hosts, d.Host)
	}
	return strings.Join(textutil.FoldNames(hosts), ", ") + ": drift, which is only to be reported; holdfast plan says what"
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
func standing(why engine.ExclusionKind) string {
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
		parts[i] = fmt.Sprintf("%s %s %s", strings.Join(textutil.FoldNames(hosts[what]), ", "), verb, what)
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

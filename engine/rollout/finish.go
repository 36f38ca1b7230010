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

func (r *Run) finishRun(ctx context.Context, p *runState, last []engine.Plan, err error) engine.RunEnd {
	sort.Strings(p.updated)
	p.updated = slices.DeleteFunc(p.updated, p.isUndone)
	verdict := r.makeVerdict(ctx, p, last, err)
	end := engine.RunEnd{
		Exit: verdict.Exit, Verdict: verdict, Reason: r.endReason(ctx, p, last, err),
		Updated: p.updated, NotBegun: r.notBegun(last, err), Failed: slices.Sorted(maps.Keys(p.failed)), Untouched: unfinishedHosts(last, p),
	}
	if journal := r.events.firstError(); err == nil && journal != nil {
		end = markUnjournaled(end, journal)
	}
	if r.isStopping() && end.Exit == engine.ExitStopped && !stoppedBy(ctx, err) {
		end.Reason = "stopped by the operator; " + end.Reason
	}
	r.countPools(ctx, p, &end)
	return end
}

func (r *Run) endReason(ctx context.Context, p *runState, last []engine.Plan, err error) string {
	var f *engine.Failure
	switch {
	case errors.Is(err, ErrDeclined) && p.earlier > 0:
		return "not approved: play " + p.play.Name + " was not begun; what plays before it did stays"
	case errors.Is(err, ErrDeclined), errors.Is(err, ErrNoStep):
		return err.Error()
	case ctx.Err() != nil:
		return "stopped at once by the operator; holds stay, and the next run goes on from here"
	case errors.As(err, &f):
		text := f.Error() + r.describeSpentBudget(p)
		if others := describeUnnamedFailures(p, nil, f.Host); f.Exit() == engine.ExitRefused && others != "" {
			text += "; " + others
		}
		return text
	case err != nil:
		return err.Error()
	}
	text := r.describePlayEnds(last)
	if others := describeUnnamedFailures(p, last, ""); others != "" {
		text = others + "; apart from that: " + text
	}
	return text
}

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

// describeUnnamedFailures names the failed hosts that neither the plans nor the end of the run
// name.
func describeUnnamedFailures(p *runState, plans []engine.Plan, named string) string {
	how := p.failureByHost()
	delete(how, named)
	for _, plan := range plans {
		for _, x := range plan.Excluded {
			if x.Kind == engine.Failed {
				delete(how, x.Host)
			}
		}
	}
	switch hosts := slices.Sorted(maps.Keys(how)); len(hosts) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s has failed (%s)", hosts[0], textutil.FirstLine(how[hosts[0]]))
	default:
		return strings.Join(textutil.FoldNames(hosts), ", ") + " have failed"
	}
}

func (r *Run) describeSpentBudget(p *runState) string {
	of := r.planInput(p.gathered, p).ExceededFailureBudget()
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

// countPools adds the progress of each pool. A run that was stopped at once does not know its own
// effect and adds nothing.
func (r *Run) countPools(ctx context.Context, p *runState, end *engine.RunEnd) {
	if p.gathered.Facts == nil || ctx.Err() != nil && p.hasBegun() {
		return
	}
	in := r.planInput(p.gathered, p)
	in.Play, in.Modules, in.Selected = nil, r.Modules, nil
	if end.Exit == engine.ExitOK { // then it reports whether the whole site is complete
		in.Clusters = r.gatherMissingClusters(ctx, in)
	}
	status := planner.NewStatus(in)
	end.Pools, end.Complete = status.Pools, status.Complete && end.Exit == engine.ExitOK
}

func (r *Run) describePlayEnds(last []engine.Plan) string {
	if len(r.Plays) == 0 {
		return describePlanEnd(last[0])
	}
	worst, why := engine.ExitOK, "the playbook is done; holdfast status says whether every host matches"
	for _, plan := range last {
		exit := withoutWaitingLanes(plan).Verdict().Exit
		if exit != worst && exit.Worse(worst) == exit {
			worst, why = exit, "play "+plan.Play+": "+describePlanEnd(plan)
		}
	}
	return why
}

func markUnjournaled(end engine.RunEnd, err error) engine.RunEnd {
	if slices.ContainsFunc(end.Verdict.Failures, func(f engine.Failure) bool { return f.Kind == KindJournal }) {
		return end // the verdict has it already
	}
	end.Reason = err.Error() + "; apart from that: " + end.Reason
	end.Verdict.Failures = append(slices.Clip(end.Verdict.Failures), engine.Failure{Cause: err.Error(), Kind: KindJournal})
	end.Verdict = engine.NewVerdict(end.Verdict.Findings)
	end.Exit, end.Complete = end.Verdict.Exit, false
	return end
}

func describePlanEnd(plan engine.Plan) string {
	switch {
	case len(plan.Refusals) > 0:
		return "not safe to go on: " + strings.Join(plan.Refusals, "; ")
	case len(plan.Unfinished) > 0:
		return "refused: an earlier roll-out has not reached every host, and this would begin another OS: " + describeUnfinished(plan.Unfinished)
	}
	var parts []string
	for _, s := range plan.UnhealthyClusters {
		parts = append(parts, s.String())
	}
	if len(plan.Excluded) > 0 {
		parts = append(parts, describeExclusions(plan.Excluded))
	}
	if len(plan.Drift) > 0 {
		parts = append(parts, describeDrift(plan.Drift))
	}
	switch {
	case len(parts) > 0:
		return "incomplete: " + strings.Join(parts, "; ")
	case len(plan.Matching) < plan.Total:
		return "every host within the limit matches"
	}
	return "every host matches"
}

func waitsForWindow(plan engine.Plan, l engine.Lane) bool {
	return !slices.ContainsFunc(l.Hosts, func(h string) bool {
		return !slices.ContainsFunc(plan.Excluded, func(x engine.Exclusion) bool { return x.Host == h && x.Kind == engine.Closed })
	})
}

func describeUnfinished(list []engine.UnfinishedHost) string {
	var parts []string
	for _, u := range list[:min(mostReasons, len(list))] {
		parts = append(parts, u.String())
	}
	return strings.Join(textutil.AndMore(parts, len(list)), "; ")
}

func describeDrift(list []engine.HostDrift) string {
	var hosts []string
	for _, d := range list {
		hosts = append(hosts, d.Host)
	}
	return strings.Join(textutil.FoldNames(hosts), ", ") + ": drift, which is only to be reported; holdfast plan says what"
}

// mostReasons is the number of reasons that fit into a sentence.
const mostReasons = 3

func describeExclusions(list []engine.Exclusion) string {
	reason := func(x engine.Exclusion) string {
		return fmt.Sprintf("%s (%s)", describeExclusionKind(x.Kind), x.Reason)
	}
	if parts := groupByReason(list, reason); len(parts) <= mostReasons {
		return strings.Join(parts, "; ")
	}
	why := func(x engine.Exclusion) string { return describeExclusionKind(x.Kind) }
	return strings.Join(groupByReason(list, why), "; ") + "; holdfast plan says why"
}

func describeExclusionKind(why engine.ExclusionKind) string {
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

func groupByReason(list []engine.Exclusion, say func(engine.Exclusion) string) []string {
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

func unfinishedHosts(plans []engine.Plan, p *runState) []string {
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
			if x.Kind == engine.Blocked {
				add(x.Host)
			}
		}
	}
	sort.Strings(out)
	return out
}

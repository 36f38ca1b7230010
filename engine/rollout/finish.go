package rollout

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sort"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/planner"
	"holdfast/engine/textutil"
)

func (r *Run) finishRun(ctx context.Context, last []engine.Plan, err error) event.RunEnd {
	sort.Strings(r.state.updated)
	r.state.updated = slices.DeleteFunc(r.state.updated, r.state.isUndone)
	verdict := r.makeVerdict(ctx, last, err)
	end := event.RunEnd{
		Exit: verdict.Exit, Verdict: verdict, Cause: r.endCause(ctx, last, err),
		Updated: r.state.updated, NotBegun: r.notBegun(last, err), Failed: slices.Sorted(maps.Keys(r.state.failed)), Untouched: unfinishedHosts(last, r.state),
	}
	r.events.addFigures(&end)
	if journal := r.events.firstError(); err == nil && journal != nil {
		end = markUnjournaled(end, journal)
	}
	if r.isStopping() && end.Exit == engine.ExitStopped && !stoppedBy(ctx, err) {
		end.Cause.Stopped = true
	}
	r.countPools(ctx, &end)
	return end
}

func (r *Run) endCause(ctx context.Context, last []engine.Plan, err error) event.EndCause {
	var f *engine.Failure
	switch {
	case errors.Is(err, ErrDeclined) && r.state.earlier > 0:
		return event.EndCause{Kind: event.DeclinedEnd, Play: r.state.play.Name}
	case errors.Is(err, ErrDeclined):
		return event.EndCause{Kind: event.DeclinedEnd}
	case errors.Is(err, ErrNoStep):
		return event.EndCause{Kind: event.DeclinedBatchEnd}
	case ctx.Err() != nil:
		return event.EndCause{Kind: event.StoppedEnd}
	case errors.As(err, &f):
		c := event.EndCause{Kind: event.FailedEnd, Failure: shortFailure(f), Spent: r.spentBudget(), AlsoFailed: unnamedFailures(r.state, nil, f.Host)}
		if f.Kind == engine.HeldFailure { // a plan may have a worse finding, which decides the exit code
			plan := last[len(last)-1]
			serious := plan.Verdict().Serious()
			c.AlsoFailed = unnamedFailures(r.state, []engine.Plan{plan}, f.Host) // c.Excluded names the others
			c.Refusals, c.UnhealthyClusters, c.Excluded = serious.Refusals, serious.UnhealthyClusters, serious.Excluded
		}
		return c
	case err != nil:
		return event.EndCause{Kind: event.FailedEnd, Failure: &engine.Failure{Cause: err.Error()}}
	}
	c := r.playsEndCause(last)
	c.AlsoFailed = unnamedFailures(r.state, last, "")
	return c
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

// unnamedFailures returns the failed hosts that neither the plans nor the
// failure at the end of the run name. Each has the first line of its cause.
func unnamedFailures(p *runState, plans []engine.Plan, named string) []engine.Failure {
	causes := p.failureByHost()
	delete(causes, named)
	for _, plan := range plans {
		for _, x := range plan.Excluded {
			if x.Kind == engine.Failed {
				delete(causes, x.Host)
			}
		}
	}
	var list []engine.Failure
	for _, host := range slices.Sorted(maps.Keys(causes)) {
		list = append(list, engine.Failure{Host: host, Cause: textutil.FirstLine(causes[host])})
	}
	return list
}

// shortFailure leaves out the output of the command, because the event of the failure has that output.
func shortFailure(f *engine.Failure) *engine.Failure {
	return &engine.Failure{Host: f.Host, Step: f.Step, Cause: f.Cause, Kind: f.Kind}
}

// spentBudget returns the failure budget that two or more failed hosts have
// exceeded, or nil. The failure that ended the run names only one host.
func (r *Run) spentBudget() *event.SpentBudget {
	of := r.planInput(r.state.gathered).ExceededFailureBudget()
	failed := 0
	for host := range r.state.failed {
		if h, _ := r.Inventory.Host(host); of.Covers(h) {
			failed++
		}
	}
	if failed < 2 {
		return nil
	}
	return &event.SpentBudget{Failed: failed, Pool: of.Pool, Play: of.Play}
}

// countPools adds the state of each pool to the end of a run. A run that was
// stopped at once does not know its own effect and adds nothing.
func (r *Run) countPools(ctx context.Context, end *event.RunEnd) {
	if r.state.gathered.Facts == nil || ctx.Err() != nil && r.state.hasBegun() {
		return
	}
	in := r.planInput(r.state.gathered)
	in.Play, in.Modules, in.Selected = nil, r.Modules, nil
	if end.Exit == engine.ExitOK { // after success, this shows whether the whole site is complete
		in.Clusters = r.gatherMissingClusters(ctx, in)
	}
	status := planner.NewStatus(in)
	end.Pools, end.Complete = status.Pools, end.Verdict.And(planner.StatusVerdict(status)).Complete
}

func (r *Run) playsEndCause(last []engine.Plan) event.EndCause {
	if len(r.Plays) == 0 {
		return event.CauseOf(last[0])
	}
	cause := event.EndCause{Kind: event.PlayedEnd}
	verdict := engine.NewVerdict(engine.Findings{})
	for _, plan := range last {
		before := verdict.Exit
		if verdict = verdict.And(withoutWaitingLanes(plan).Verdict()); verdict.Exit != before {
			cause = event.CauseOf(plan)
			cause.Play = plan.Play
		}
	}
	return cause
}

func markUnjournaled(end event.RunEnd, err error) event.RunEnd {
	if slices.ContainsFunc(end.Verdict.Failures, func(f engine.Failure) bool { return f.Kind == engine.JournalFailure }) {
		return end // the verdict already has the error of the journal
	}
	end.Cause.Journal = err.Error()
	end.Verdict.Failures = append(slices.Clip(end.Verdict.Failures), engine.Failure{Cause: err.Error(), Kind: engine.JournalFailure})
	end.Verdict = engine.NewVerdict(end.Verdict.Findings)
	end.Exit, end.Complete = end.Verdict.Exit, end.Verdict.Complete
	return end
}

func waitsForWindow(plan engine.Plan, l engine.Lane) bool {
	return !slices.ContainsFunc(l.Hosts, func(h string) bool {
		return !slices.ContainsFunc(plan.Excluded, func(x engine.Exclusion) bool { return x.Host == h && x.Kind == engine.Closed })
	})
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

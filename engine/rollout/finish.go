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
)

// endPlay notes the hosts to which the play still owes work, by its last plan. A play has not begun if the run ends before its
// first batch, staging or snapshot: its first plan is refused or not approved, a gate fails, or somebody stops the run.
func (p *runState) endPlay(last engine.Plan, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.worked && (err != nil || len(last.Refusals)+len(last.Unfinished) > 0) {
		return
	}
	p.plays++
	for _, host := range hostsWithWork(last) {
		if _, done := p.done[host]; !done {
			p.missed[host] = true
		}
	}
}

// hostsWithWork returns the hosts with work, also those that the plan leaves out. A host that waits for its window is
// there twice.
func hostsWithWork(plan engine.Plan) []string {
	var hosts []string
	for _, hp := range plan.Hosts {
		hosts = append(hosts, hp.Host)
	}
	for _, x := range plan.Excluded {
		hosts = append(hosts, x.Host)
	}
	return hosts
}

// hostsToFinish returns the hosts with work, each once and in order, without those that the plan only stages: no event tells that
// such a host is done.
func hostsToFinish(plan engine.Plan) []string {
	planned := plan.ByHost()
	hosts := slices.DeleteFunc(hostsWithWork(plan), func(host string) bool { return planned[host] != nil && len(planned[host].Sequence) == 0 })
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// ending sums a run up, after the last plan of each play and the error that ended it.
type ending struct {
	*planning
	last []engine.Plan
	err  error
}

func (e *ending) finishRun(ctx context.Context) event.RunEnd {
	sort.Strings(e.state.updated)
	e.state.updated = slices.DeleteFunc(e.state.updated, e.state.isUndone)
	verdict := e.makeVerdict(ctx)
	end := event.RunEnd{
		Exit: verdict.Exit, Verdict: verdict,
		Updated: e.state.updated, NotBegun: e.notBegun(), Failed: slices.Sorted(maps.Keys(e.state.failed)), Untouched: unfinishedHosts(e.last, e.state),
	}
	if failed := new(engine.Failure); !verdict.Stopped && errors.As(e.err, &failed) {
		end.SpentBudget = e.spentBudget()
	}
	e.addFigures(&end)
	if journal := e.firstError(); e.err == nil && journal != nil {
		end = markUnjournaled(end, journal)
	}
	e.countPools(ctx, &end)
	return end
}

// makeVerdict adds the findings of the run to the last plan of the last play.
func (e *ending) makeVerdict(ctx context.Context) engine.Verdict {
	v := engine.NewVerdict(engine.Findings{})
	for i, plan := range e.last {
		f := withWorkLeft(plan, e.err != nil).Verdict().Findings
		if i == len(e.last)-1 {
			f = e.runFindings(ctx).Join(f)
		}
		v = v.And(engine.NewVerdict(f))
	}
	if e.isStopping() && v.Exit != engine.ExitOK {
		f := v.Findings
		f.Stopped = true
		v = engine.NewVerdict(f)
	}
	return v
}

func (e *ending) runFindings(ctx context.Context) engine.Findings {
	var f engine.Findings
	var failed *engine.Failure
	switch {
	case stoppedBy(ctx, e.err):
		f.Stopped, f.Declined = true, errors.Is(e.err, ErrDeclined) || errors.Is(e.err, ErrNoStep)
	case errors.As(e.err, &failed):
		f.Failures = append(f.Failures, shortFailure(failed))
	case e.err != nil:
		f.Failures = append(f.Failures, engine.Failure{Cause: e.err.Error()})
	}
	how := e.state.failureByHost()
	for _, host := range slices.Sorted(maps.Keys(how)) {
		if failed == nil || failed.Host != host {
			f.Failures = append(f.Failures, engine.Failure{Host: host, Cause: how[host]})
		}
	}
	return f
}

// shortFailure leaves out the output of the command, because the event of the failure has that output.
func shortFailure(f *engine.Failure) engine.Failure {
	return engine.Failure{Host: f.Host, Step: f.Step, Cause: f.Cause, Kind: f.Kind, Hint: f.Hint}
}

func stoppedBy(ctx context.Context, err error) bool {
	var f *engine.Failure
	return errors.Is(err, ErrDeclined) || errors.Is(err, ErrNoStep) || ctx.Err() != nil || errors.As(err, &f) && f.Kind == engine.StoppedFailure
}

// withWorkLeft returns a plan with only the work that can be done now. After a failed run, that is none. Lanes of
// hosts that wait for their window are left out: the run that disrupts these hosts stages the OS again if they have lost it.
func withWorkLeft(plan engine.Plan, failed bool) engine.Plan {
	if failed {
		plan.Batches, plan.Lanes = nil, nil
	}
	plan.Lanes = slices.DeleteFunc(slices.Clone(plan.Lanes), func(l engine.Lane) bool { return waitsForWindow(plan, l) })
	return plan
}

func waitsForWindow(plan engine.Plan, l engine.Lane) bool {
	return !slices.ContainsFunc(l.Hosts, func(h string) bool {
		return !slices.ContainsFunc(plan.Excluded, func(x engine.Exclusion) bool { return x.Host == h && x.Kind == engine.Closed })
	})
}

func (e *ending) notBegun() []string {
	var names []string
	for _, play := range e.Plays[min(e.state.plays, len(e.Plays)):] {
		names = append(names, play.Name)
	}
	return names
}

// spentBudget returns the failure budget that two or more failed hosts have
// exceeded, or nil. The failure that ended the run names only one host.
func (e *ending) spentBudget() *event.SpentBudget {
	for _, of := range e.planInput(e.state.gathered).ExceededFailureBudgets() {
		failed := 0
		for host := range e.state.failed {
			if h, _ := e.Inventory.Host(host); of.Covers(h) {
				failed++
			}
		}
		if failed >= 2 {
			return &event.SpentBudget{Failed: failed, Pool: of.Pool, Play: of.Play, AnyErrorsFatal: of.Play != "" && e.state.play.AnyErrorsFatal}
		}
	}
	return nil
}

// countPools adds the state of each pool to the end of a run. A run that was
// stopped at once does not know its own effect and adds nothing.
func (e *ending) countPools(ctx context.Context, end *event.RunEnd) {
	if e.state.gathered.Facts == nil || ctx.Err() != nil && e.state.hasBegun() {
		return
	}
	in := e.planInput(e.state.gathered)
	in.Play, in.Modules, in.Selected = nil, e.Modules, nil
	if end.Exit == engine.ExitOK || e.NoteStatus != nil && ctx.Err() == nil { // after success, this shows whether the whole site is complete
		in.Clusters = e.gatherMissingClusters(ctx, in)
	}
	status := planner.NewStatus(in)
	if e.NoteStatus != nil {
		e.NoteStatus(status)
	}
	end.Pools, end.Complete = status.Pools, end.Verdict.And(planner.StatusVerdict(status)).Complete
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

func markUnjournaled(end event.RunEnd, err error) event.RunEnd {
	if slices.ContainsFunc(end.Verdict.Failures, func(f engine.Failure) bool { return f.Kind == engine.JournalFailure }) {
		return end // the verdict already has the error of the journal
	}
	end.Verdict.Failures = append(slices.Clip(end.Verdict.Failures), engine.Failure{Cause: err.Error(), Kind: engine.JournalFailure})
	end.Verdict = engine.NewVerdict(end.Verdict.Findings)
	end.Exit, end.Complete = end.Verdict.Exit, end.Verdict.Complete
	return end
}

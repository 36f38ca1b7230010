package rollout

import (
	"context"
	"errors"
	"maps"
	"slices"

	"holdfast/engine"
)

// makeVerdict adds the findings of the run to the last plan of the last play.
func (e *ending) makeVerdict(ctx context.Context) engine.Verdict {
	v := engine.NewVerdict(engine.Findings{})
	for i, plan := range e.last {
		f := withoutWaitingLanes(plan).unlessFailed(e.err).Verdict().Findings
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

func stoppedBy(ctx context.Context, err error) bool {
	var f *engine.Failure
	return errors.Is(err, ErrDeclined) || errors.Is(err, ErrNoStep) || ctx.Err() != nil || errors.As(err, &f) && f.Kind == engine.StoppedFailure
}

// finishedPlan is a plan of which no step can be run any more.
type finishedPlan struct{ engine.Plan }

// withoutWaitingLanes drops the lanes of hosts that wait for their window.
// These hosts may have lost the staged OS, and the run that disrupts them
// stages it again.
func withoutWaitingLanes(plan engine.Plan) finishedPlan {
	plan.Lanes = slices.DeleteFunc(slices.Clone(plan.Lanes), func(l engine.Lane) bool { return waitsForWindow(plan, l) })
	return finishedPlan{plan}
}

func (e finishedPlan) unlessFailed(err error) engine.Plan {
	if err != nil {
		e.Batches, e.Lanes, e.Before = nil, nil, nil
	}
	return e.Plan
}

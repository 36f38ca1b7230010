package rollout

import (
	"context"
	"errors"
	"maps"
	"slices"

	"holdfast/engine"
)

func (r *Run) makeVerdict(ctx context.Context, last []engine.Plan, err error) engine.Verdict {
	var f engine.Findings
	var failed *engine.Failure
	switch {
	case stoppedBy(ctx, err):
		f.Stopped = true
	case errors.As(err, &failed):
		f.Failures = append(f.Failures, *shortFailure(failed))
	case err != nil:
		f.Failures = append(f.Failures, engine.Failure{Cause: err.Error()})
	}
	how := r.state.failureByHost()
	for _, host := range slices.Sorted(maps.Keys(how)) {
		if failed == nil || failed.Host != host {
			f.Failures = append(f.Failures, engine.Failure{Host: host, Cause: how[host]})
		}
	}
	v := engine.NewVerdict(f)
	for _, plan := range last {
		v = v.And(withoutWaitingLanes(plan).unlessFailed(err).Verdict())
	}
	if r.isStopping() && v.Exit != engine.ExitOK {
		f = v.Findings
		f.Stopped = true
		v = engine.NewVerdict(f)
	}
	return v
}

func stoppedBy(ctx context.Context, err error) bool {
	var f *engine.Failure
	return errors.Is(err, ErrDeclined) || errors.Is(err, ErrNoStep) || ctx.Err() != nil || errors.As(err, &f) && f.Kind == KindStopped
}

// finishedPlan is a plan that no step can be run of any more.
type finishedPlan struct{ engine.Plan }

// withoutWaitingLanes drops the lanes of hosts that wait for their window. They may have lost the
// staged OS; the run that disrupts them stages it again.
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

package rollout

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"

	"holdfast/engine"
)

// ErrDeclined is what Approve returns when the operator says no.
var ErrDeclined = errors.New("not approved; nothing was changed")

// Plan looks at the site and plans; it touches nothing.
func (r *Run) Plan(ctx context.Context) (engine.Plan, Sight, error) { return r.plan(ctx, nil) }

func (r *Run) plan(ctx context.Context, saved map[string]struct{}) (engine.Plan, Sight, error) {
	sight, err := r.Look(ctx)
	if err != nil {
		return engine.Plan{}, sight, err
	}
	return engine.NewPlan(r.input(sight, saved)), sight, nil
}

// Apply makes the hosts match: it plans, asks, stages, and rolls batch by
// batch, planning anew before each. It returns when the hosts match, or when
// it is not safe to go on, and says which.
func (r *Run) Apply(ctx context.Context) engine.RunEnd {
	p := &progress{saved: map[string]struct{}{}, staged: map[string]int{}}
	start := r.Start
	start.Adopting = r.Dead
	if err := r.emit(engine.Event{Type: engine.RunStarted, Start: &start}); err != nil {
		return engine.RunEnd{Exit: engine.ExitFailed, Reason: err.Error() + "; nothing was touched"}
	}
	last, err := r.apply(ctx, p)
	end := r.finish(ctx, p, last, err)
	r.note(engine.Event{Type: engine.RunEnded, End: &end})
	return end
}

func (r *Run) apply(ctx context.Context, p *progress) (engine.Plan, error) {
	plan, _, err := r.Plan(ctx)
	if err != nil {
		return plan, err
	}
	r.note(engine.Event{Type: engine.Planned, Plan: &plan})
	if r.Refuse && plan.Has(engine.Held) {
		return plan, &engine.Failure{Step: "plan", Cause: "hosts are held by somebody else, and this run was told to refuse then; nothing was touched", Kind: KindHeld}
	}
	if len(plan.Batches) == 0 {
		return plan, nil
	}
	if r.Approve != nil {
		if err := r.Approve(ctx, plan); err != nil {
			return plan, err
		}
	}
	p.approved = plan
	return r.carryOut(ctx, p, plan)
}

// carryOut is the loop. Each turn does one thing — stage what is not staged,
// save etcd, or run the first batch — and then looks at the world again.
func (r *Run) carryOut(ctx context.Context, p *progress, plan engine.Plan) (engine.Plan, error) {
	staged := false
	for batch := 1; len(plan.Batches) > 0; {
		if err := r.mayGoOn(ctx); err != nil {
			return plan, err
		}
		var err error
		switch {
		case !staged && len(plan.Lanes) > 0:
			staged = true
			err = r.stage(ctx, p, plan, plan.Lanes)
		case needsStage(plan, plan.Batches[0]):
			err = r.stage(ctx, p, plan, lanesOf(plan.Lanes, plan.Batches[0]))
		default:
			if err = r.before(ctx, p, plan); err == nil {
				err = r.batch(ctx, p, plan, batch)
			}
			batch++
		}
		if err != nil {
			return plan, err
		}
		next, _, err := r.plan(ctx, p.saved)
		if err != nil {
			return plan, err
		}
		plan = next
		if err := p.check(plan); err != nil {
			return plan, err
		}
	}
	return plan, nil
}

func (r *Run) mayGoOn(ctx context.Context) error {
	if r.stopping() || ctx.Err() != nil {
		return &engine.Failure{Cause: "stopped by the operator", Kind: KindStopped}
	}
	if err := r.events.failed(); err != nil {
		return &engine.Failure{Cause: err.Error(), Kind: KindJournal}
	}
	return nil
}

func needsStage(plan engine.Plan, b engine.Batch) bool {
	for _, h := range b.Hosts {
		if len(plan.Host(h).Stage) > 0 {
			return true
		}
	}
	return false
}

// lanesOf keeps of the lanes what concerns a batch.
func lanesOf(lanes []engine.Lane, b engine.Batch) []engine.Lane {
	in := map[string]bool{}
	for _, h := range b.Hosts {
		in[h] = true
	}
	var out []engine.Lane
	for _, l := range lanes {
		kept := engine.Lane{Cluster: l.Cluster}
		for _, h := range l.Hosts {
			if in[h] {
				kept.Hosts = append(kept.Hosts, h)
			}
		}
		if len(kept.Hosts) > 0 {
			out = append(out, kept)
		}
	}
	return out
}

// before does what comes once before the first disruption: etcd snapshots.
func (r *Run) before(ctx context.Context, p *progress, plan engine.Plan) error {
	for _, s := range plan.Before {
		name := s.Do.Snapshot.Cluster
		e := engine.Event{Cluster: name, Step: s.Name}
		var where string
		failure := r.timed(e, func() error {
			ctx, cancel := bounded(ctx, s)
			defer cancel()
			var err error
			where, err = r.Clusters.Snapshot(ctx, name)
			return err
		})
		if failure != nil {
			failure.Hint = "nothing was disrupted; snapshot = false in the etcd_cluster block skips the snapshot"
			return failure
		}
		r.note(engine.Event{Type: engine.StepProgress, Cluster: name, Step: s.Name, Message: where})
		p.saved[name] = struct{}{}
	}
	return nil
}


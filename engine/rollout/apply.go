package rollout

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/planner"
	"holdfast/engine/rollout/sampling"
)

// ErrDeclined is the error of Approve when the operator declines the plan.
var ErrDeclined = errors.New("not approved; nothing was changed")

// ErrNoStep is the error of Step when the operator declines a batch.
var ErrNoStep = errors.New("not approved: the run ends before this batch; the results of earlier batches stay")

// Plan gathers facts and makes a plan. It changes nothing.
func (r *Run) Plan(ctx context.Context) (engine.Plan, Gathered, error) {
	r.state = newRunState()
	return r.makePlan(ctx)
}

// PlanPlays gathers facts and makes a plan for every play, as if each were the
// first.
func (r *Run) PlanPlays(ctx context.Context) ([]engine.Plan, error) {
	r.state = newRunState()
	var plans []engine.Plan
	for i := range r.Plays {
		r.state.beginPlay(&r.Plays[i])
		plan, _, err := r.makePlan(ctx)
		if err != nil {
			return nil, err
		}
		plans = append(plans, plan)
	}
	return plans, nil
}

func (r *Run) makePlan(ctx context.Context) (engine.Plan, Gathered, error) {
	gathered, err := r.gatherSite(ctx)
	if err != nil {
		return engine.Plan{}, gathered, err
	}
	plan := gathered.survey.Plan(r.Clock.Now(), gathered.Clusters)
	if !plan.HasWork() && r.addMissingClusters(ctx, gathered) { // without work, the plan is the final report, which names all clusters
		plan = gathered.survey.Plan(r.Clock.Now(), gathered.Clusters)
	}
	gathered.survey = planner.Survey{} // frees memory, which a large site needs
	r.state.gathered, r.state.facts = gathered, gathered.Facts
	return plan, gathered, ctx.Err()
}

// Apply makes the hosts match: it plans, asks for approval, stages, and runs
// batch by batch, with a new plan before each batch. It returns when the hosts
// match, or when the run must not or cannot go on. It carries out the plays of a
// playbook one after the other.
func (r *Run) Apply(ctx context.Context) event.RunEnd {
	r.state = newRunState()
	start := r.Start
	start.Adopting = r.Dead
	if err := r.emitEvent(event.Event{Type: event.RunStarted, Start: &start}); err != nil {
		return event.RunEnd{Exit: engine.ExitFailed, Cause: event.EndCause{Kind: event.UntouchedEnd, Journal: err.Error()}}
	}
	stop := r.journalInterrupts(ctx)
	last, err := r.applyPlays(ctx)
	_ = r.giveUpFallbacks(ctx, last[len(last)-1]) // these failures are noted already, and the end of the run names their hosts
	r.gatherAtEnd(ctx, err)
	stop()
	end := r.finishRun(ctx, last, err)
	if err := r.emitEvent(event.Event{Type: event.RunEnded, End: &end}); err != nil {
		end = markUnjournaled(end, err)
	}
	return end
}

// applyPlays carries out the plays and returns the last plan of each play. Each
// play is planned from new facts. An error, a refusal, an unfinished roll-out or
// a fatal failure ends the run.
func (r *Run) applyPlays(ctx context.Context) (last []engine.Plan, err error) {
	if len(r.Plays) == 0 {
		plan, err := r.applyPlay(ctx)
		return []engine.Plan{plan}, err
	}
	for i := range r.Plays {
		r.state.beginPlay(&r.Plays[i])
		plan, err := r.applyPlay(ctx)
		last = append(last, plan)
		if err != nil || len(plan.Refusals) > 0 || len(plan.Unfinished) > 0 {
			return last, err
		}
		if i == len(r.Plays)-1 {
			break
		}
		if f := r.fatalFailure(engine.Batch{}, r.giveUpFallbacks(ctx, plan)); f != nil {
			return last, f
		}
	}
	return last, nil
}

func (r *Run) applyPlay(ctx context.Context) (engine.Plan, error) {
	plan, _, err := r.makePlan(ctx)
	if err != nil {
		return plan, err
	}
	r.noteEvent(event.Event{Type: event.Planned, Plan: &plan})
	if r.RefuseHeld && plan.HasExclusion(engine.Held) {
		return plan, &engine.Failure{Step: "plan", Cause: "hosts are held by somebody else, and --on-held is refuse; nothing was touched", Kind: engine.HeldFailure}
	}
	if !plan.HasWork() {
		return plan, nil
	}
	asked := r.Clock.Now()
	if r.Approve != nil {
		if err := r.Approve(ctx, plan); err != nil {
			return plan, err
		}
	}
	r.state.approved = &plan
	stop := sampling.Start(ctx, sampling.Ports{Clock: r.Clock, Sample: r.Clusters.Sample, Emit: r.emitEvent}, plan)
	defer stop()
	if r.Clock.Now().Sub(asked) > maxPlanAge {
		if plan, err = r.replanAndCheck(ctx); err != nil {
			return plan, err
		}
	}
	return r.carryOut(ctx, plan)
}

// maxPlanAge is the time that approval may take. After a longer time the run
// plans again, because the facts are old.
const maxPlanAge = 5 * time.Second

func (r *Run) replanAndCheck(ctx context.Context) (engine.Plan, error) {
	plan, _, err := r.makePlan(ctx)
	if err != nil {
		return plan, err
	}
	return plan, r.state.checkPlan(plan)
}

// carryOut is the loop of a play. Each turn does one piece of work and then
// plans again, so that a batch begins with facts that were gathered directly
// before it.
func (r *Run) carryOut(ctx context.Context, plan engine.Plan) (engine.Plan, error) {
	for len(plan.Batches) > 0 || r.state.mustStageFirst(plan) || len(plan.Before) > 0 {
		if err := r.mayGoOn(ctx); err != nil {
			return plan, err
		}
		if err := r.runTurn(ctx, plan); err != nil {
			return plan, err
		}
		next, err := r.replanAndCheck(ctx)
		if err != nil {
			return next, err
		}
		plan = next
	}
	return plan, nil
}

// runTurn does the next piece of work, in this order: recover the hosts of a
// dead run, ask the before_run gates, stage all hosts once, stage again the hosts
// that lost the staged OS, take the snapshot of etcd, wait for the soak of
// canaries, ask the operator and the gates before a batch, run the batch. Most of
// these do not apply to a batch that disrupts nothing.
func (r *Run) runTurn(ctx context.Context, plan engine.Plan) error {
	var b engine.Batch
	if len(plan.Batches) > 0 {
		b = plan.Batches[0]
	}
	hasBatch := len(b.Hosts) > 0
	if hasBatch && onlyRecoversHosts(plan, b) {
		return r.runBatch(ctx, plan)
	}
	if !r.state.started && len(plan.Start) > 0 {
		r.state.started = true
		return asError(r.askGates(ctx, batchOfAll(plan), plan.Start, 0))
	}
	playBegun := r.state.play == nil || !r.state.mustStageFirst(plan) && len(plan.Before) == 0
	isReady := hasBatch && isNonDisruptive(plan, b) && playBegun
	if !isReady {
		if done, err := r.prepareBatch(ctx, plan, b); done {
			return err
		}
	}
	if len(b.Before) > 0 && !slices.Equal(r.state.gated, b.Hosts) {
		if f := r.askGatesBefore(ctx, b, r.state.batches+1); f != nil {
			return f
		}
		r.state.gated = b.Hosts
		return nil
	}
	return r.runBatch(ctx, plan)
}

func batchOfAll(plan engine.Plan) (b engine.Batch) {
	for _, hp := range plan.Hosts {
		b.Hosts = append(b.Hosts, hp.Host)
	}
	return b
}

// asError returns an untyped nil for a nil failure.
func asError(f *engine.Failure) error {
	if f == nil {
		return nil
	}
	return f
}

func isNonDisruptive(plan engine.Plan, b engine.Batch) bool {
	return !slices.ContainsFunc(b.Hosts, func(h string) bool { return !plan.Host(h).NonDisruptive() })
}

// onlyRecoversHosts reports whether all hosts of a batch only need to be
// recovered. Such a batch comes first, because its hosts stay unavailable until
// they are recovered.
func onlyRecoversHosts(plan engine.Plan, b engine.Batch) bool {
	for _, h := range b.Hosts {
		if len(plan.Host(h).Changes) > 0 {
			return false
		}
	}
	return true
}

func (r *Run) mayGoOn(ctx context.Context) error {
	if r.isStopping() || ctx.Err() != nil {
		return &engine.Failure{Cause: errStopped.Error(), Kind: engine.StoppedFailure}
	}
	if err := r.events.firstError(); err != nil {
		return &engine.Failure{Cause: err.Error(), Kind: engine.JournalFailure}
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

func lanesOf(lanes []engine.Lane, b engine.Batch) []engine.Lane {
	in := map[string]bool{}
	for _, h := range b.Hosts {
		in[h] = true
	}
	var out []engine.Lane
	for _, l := range lanes {
		kept := engine.Lane{Cluster: l.Cluster, Governing: l.Governing}
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

func (r *Run) takeSnapshots(ctx context.Context, plan engine.Plan) error {
	for _, s := range plan.Before {
		name := s.Do.Snapshot.Cluster
		e := event.Event{Cluster: name, Step: s.Name}
		var where string
		failure := r.runInterruptible(ctx, func(ctx context.Context) *engine.Failure {
			return r.runBetweenEvents(e, func(*stepHeartbeat) error {
				ctx, cancel := withStepTimeout(ctx, s)
				defer cancel()
				var err error
				where, err = r.Clusters.Snapshot(ctx, name)
				return err
			})
		})
		if failure != nil {
			if failure.Kind == "" {
				failure.Hint = "nothing was disrupted; snapshot = false in the etcd_cluster block skips the snapshot"
			}
			return failure
		}
		r.noteEvent(event.Event{Type: event.StepProgress, Cluster: name, Step: s.Name, Message: where})
		r.state.saved[name] = struct{}{}
	}
	return nil
}

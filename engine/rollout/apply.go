package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout/sampling"
)

// The errors of Approve and Step when the operator declines the plan or a batch.
var (
	ErrDeclined = errors.New("the plan was not approved")
	ErrNoStep   = errors.New("the batch was not approved")
)

// Plan gathers facts and makes a plan. It changes nothing.
func (r *Run) Plan(ctx context.Context) (engine.Plan, Gathered, error) {
	p := newPlanning(r)
	plan, gathered, err := p.makePlan(ctx)
	p.warnOfMirror(ctx, &plan)
	return plan, gathered, err
}

// PlanPlays gathers facts and makes a plan for every play, as if each were the
// first.
func (r *Run) PlanPlays(ctx context.Context) ([]engine.Plan, error) {
	p := newPlanning(r)
	var plans []engine.Plan
	for i := range r.Plays {
		p.state.beginPlay(&r.Plays[i])
		plan, _, err := p.makePlan(ctx)
		if err != nil {
			return nil, err
		}
		p.warnOfMirror(ctx, &plan)
		p.warnOfExceededBudget(&plan)
		plans = append(plans, plan)
	}
	return plans, nil
}

// Apply makes the hosts match: it plans, asks for approval, stages, and runs
// batch by batch, with a new plan before each batch. It returns when the hosts
// match, or when the run must not or cannot go on. Plays run one after another.
func (r *Run) Apply(ctx context.Context) event.RunEnd {
	l := newPlayLoop(r)
	start := r.Start
	start.Adopting, start.MarksNewOS, start.HasPlays = r.Dead, true, len(r.Plays) > 0
	if err := l.emitEvent(event.Event{Type: event.RunStarted, Start: &start}); err != nil {
		return markUnjournaled(event.RunEnd{}, fmt.Errorf("%w; nothing was touched", err))
	}
	stop := l.journalInterrupts(ctx)
	last, err := l.applyPlays(ctx)
	_ = l.giveUpFallbacks(ctx, last[len(last)-1]) // these failures are noted already, and the end of the run names their hosts
	l.gatherAtEnd(ctx, err)
	err = l.nameLeftHosts(err, l.Plays[min(len(last), len(l.Plays)):])
	stop()
	end := (&ending{l.planning, last, err}).finishRun(ctx)
	if err := l.emitEvent(event.Event{Type: event.RunEnded, End: &end}); err != nil {
		end = markUnjournaled(end, err)
	}
	return end
}

// playLoop carries out the plays of a run, each in a loop of turns.
type playLoop struct {
	*planning
	steps *stepRunner
	gates gateAsker
}

func newPlayLoop(r *Run) *playLoop {
	p := newPlanning(r)
	gates := gateAsker{p.hostAccess, p.emitter}
	return &playLoop{p, &stepRunner{gatherer: p.gatherer, gates: gates}, gates}
}

// applyPlays carries out the plays and returns the last plan of each play. Each
// play is planned from new facts. An error, a refusal, an unfinished roll-out, a
// fatal failure or an exceeded failure budget ends the run.
func (l *playLoop) applyPlays(ctx context.Context) (last []engine.Plan, err error) {
	if len(l.Plays) == 0 {
		plan, err := l.applyPlay(ctx)
		return []engine.Plan{plan}, err
	}
	for i := range l.Plays {
		l.state.beginPlay(&l.Plays[i])
		plan, err := l.applyPlay(ctx)
		last = append(last, plan)
		l.state.endPlay(plan, err)
		if err != nil || len(plan.Refusals) > 0 || len(plan.Unfinished) > 0 {
			return last, err
		}
		if i == len(l.Plays)-1 {
			break
		}
		if f := l.fatalFailure(engine.Batch{}, l.giveUpFallbacks(ctx, plan)); f != nil {
			return last, f
		}
		if f := exceededBudgetFailure(plan.ExceededBudget); f != nil {
			return last, f
		}
		if err := l.steps.mayGoOn(ctx); err != nil {
			return last, err
		}
	}
	return last, nil
}

// notePlan shows the plan, with its forecast. A lost host that matches is not lost any more, for this run either.
func (l *playLoop) notePlan(plan engine.Plan) {
	if l.Forecast != nil {
		plan.Forecast = l.Forecast(plan, l.Clock.Now())
	}
	found := slices.DeleteFunc(slices.Clone(plan.Matching), func(host string) bool { return !l.isSettled(host) })
	l.noteEvent(event.Event{Type: event.Planned, Plan: &plan, Hosts: hostsToFinish(plan), Regained: found})
	l.state.noteFound(found)
}

func (l *playLoop) applyPlay(ctx context.Context) (engine.Plan, error) {
	plan, _, err := l.makePlan(ctx)
	if err != nil {
		return plan, err
	}
	l.warnOfMirror(ctx, &plan)
	l.warnOfExceededBudget(&plan)
	l.notePlan(plan)
	if f := l.refuseHolds(ctx, plan); f != nil {
		return plan, f
	}
	if l.Compare != nil {
		if err := l.Compare(plan); err != nil {
			return plan, err
		}
	}
	if !plan.HasWork() {
		return plan, nil
	}
	if err := l.steps.mayGoOn(ctx); err != nil { // nobody is asked after a stop
		return plan, err
	}
	asked := l.Clock.Now()
	if l.Approve != nil {
		if err := l.Approve(ctx, plan); err != nil {
			return plan, err
		}
	}
	l.state.approved = &plan
	stop := sampling.Start(ctx, sampling.Ports{Sleep: l.Clock.Sleep, Sample: l.Clusters.Sample, Emit: l.emitEvent}, plan)
	defer stop()
	if wallTimeBetween(asked, l.Clock.Now()) > maxPlanAge {
		if plan, err = l.replanAndCheck(ctx, plan); err != nil {
			return plan, err
		}
	}
	return l.carryOut(ctx, plan)
}

// maxPlanAge is the time that approval may take. After a longer time the run
// plans again, because the facts are old.
const maxPlanAge = 5 * time.Second

// carryOut is the loop of a play. Each turn does one piece of work and then
// plans again, so that a batch begins with facts that were gathered directly
// before it.
func (l *playLoop) carryOut(ctx context.Context, plan engine.Plan) (engine.Plan, error) {
	for len(plan.Batches) > 0 || l.state.mustStageFirst(plan) || len(plan.Before) > 0 {
		if err := l.steps.mayGoOn(ctx); err != nil {
			return plan, err
		}
		if err := l.runTurn(ctx, plan); err != nil {
			return plan, err
		}
		next, err := l.replanAndCheck(ctx, plan)
		if err != nil {
			return next, err
		}
		plan = next
	}
	return plan, nil
}

// runTurn does the next piece of work, in this order: recover the hosts of a
// dead run, ask the before-run gates, stage all hosts once, stage again the hosts
// that lost the staged OS, take the snapshot of etcd, wait for the soak of
// canaries, ask the operator and the gates before a batch, run the batch. Most of
// these do not apply to a batch that disrupts nothing.
func (l *playLoop) runTurn(ctx context.Context, plan engine.Plan) error {
	var b engine.Batch
	if len(plan.Batches) > 0 {
		b = plan.Batches[0]
	}
	hasBatch := len(b.Hosts) > 0
	if hasBatch && onlyRecoversHosts(plan, b) {
		return l.runBatch(ctx, plan)
	}
	if !l.state.started && len(plan.Start) > 0 {
		l.state.started = true
		return asError(l.gates.askGates(ctx, batchOfAll(plan), plan.Start, 0))
	}
	playBegun := l.state.play == nil || !l.state.mustStageFirst(plan) && len(plan.Before) == 0
	isReady := hasBatch && isNonDisruptive(plan, b) && playBegun
	if !isReady {
		if done, err := l.prepareBatch(ctx, plan, b); done {
			return err
		}
	}
	if len(b.Before) > 0 && !slices.Equal(l.state.gated, b.Hosts) {
		if f := l.gates.askGatesBefore(ctx, b, l.state.batches+1); f != nil {
			return f
		}
		l.state.gated = b.Hosts
		return nil
	}
	return l.runBatch(ctx, plan)
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

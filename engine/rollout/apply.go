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

// progress is what a run has achieved so far.
type progress struct {
	approved engine.Plan
	saved    map[string]struct{} // clusters that have their snapshot

	mu      sync.Mutex
	staged  map[string]int // how often each host was
	updated []string
	failed  []string
}

// mostStagings is how often a host is staged in a run. What is staged can get
// lost, by a reboot that nobody planned; more often than that it is removed.
const mostStagings = 3

// mayStage counts the stagings of a host.
func (p *progress) mayStage(host string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.staged[host] == mostStagings {
		return fmt.Errorf("it was staged %d times, and what was staged is not there", mostStagings)
	}
	p.staged[host]++
	return nil
}

func (p *progress) done(host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.updated = append(p.updated, host)
}

func (p *progress) failedHost(host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = append(p.failed, host)
}

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

// check refuses what the operator did not see, and to do anything twice: a
// host that does not match after all went well never will.
func (p *progress) check(plan engine.Plan) error {
	if err := plan.Check(p.approved); err != nil {
		return &engine.Failure{Step: "check the plan", Cause: err.Error()}
	}
	for _, host := range p.updated {
		if hp := plan.Host(host); hp != nil {
			return &engine.Failure{Host: host, Step: "check the plan", Cause: "this run has updated it, and it does not match: " + whatIsLeft(*hp)}
		}
	}
	return nil
}

func whatIsLeft(hp engine.HostPlan) string {
	if len(hp.Changes) == 0 {
		return "run " + hp.Adopt + " holds it"
	}
	return hp.Changes[0].Resource + " " + hp.Changes[0].Before + " → " + hp.Changes[0].After
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

// finish turns how the loop ended into the outcome of the run.
func (r *Run) finish(ctx context.Context, p *progress, last engine.Plan, err error) engine.RunEnd {
	sort.Strings(p.updated)
	sort.Strings(p.failed)
	end := engine.RunEnd{Updated: p.updated, Failed: p.failed, Left: left(last, p)}
	var f *engine.Failure
	switch {
	case errors.Is(err, ErrDeclined):
		end.Exit, end.Reason = engine.ExitStopped, err.Error()
	case ctx.Err() != nil:
		end.Exit, end.Reason = engine.ExitStopped, "stopped at once by the operator; holds stay, and the next run goes on from here"
	case errors.As(err, &f):
		end.Exit, end.Reason = exitOf(f), f.Error()
	case err != nil:
		end.Exit, end.Reason = engine.ExitFailed, err.Error()
	default:
		end.Exit, end.Reason = verdict(last)
		if err := r.events.failed(); err != nil {
			end.Exit, end.Reason = engine.ExitFailed, err.Error()+"; apart from that: "+end.Reason
		}
	}
	return end
}

// verdict says how a plan ends on which nothing more can be done.
func verdict(plan engine.Plan) (engine.ExitCode, string) {
	exit := plan.Exit()
	switch {
	case len(plan.Refusals) > 0:
		return exit, "not safe to go on: " + strings.Join(plan.Refusals, "; ")
	case exit == engine.ExitOK:
		return exit, "every host matches"
	}
	var parts []string
	for _, x := range plan.Excluded {
		parts = append(parts, fmt.Sprintf("%s is %s (%s)", x.Host, x.Why, x.Reason))
	}
	return exit, "incomplete: " + strings.Join(parts, "; ")
}

// left names the hosts with work that this run did not finish.
func left(plan engine.Plan, p *progress) []string {
	done := map[string]bool{}
	for _, h := range append(append([]string(nil), p.updated...), p.failed...) {
		done[h] = true
	}
	var out []string
	for _, hp := range plan.Hosts {
		if !done[hp.Host] {
			out = append(out, hp.Host)
		}
	}
	for _, x := range plan.Excluded {
		if x.Why == engine.Blocked && !done[x.Host] {
			out = append(out, x.Host)
		}
	}
	sort.Strings(out)
	return out
}

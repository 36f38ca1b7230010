package change

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/hold"
	"holdfast/engine/hostscript"
)

// takeHoldFor takes the hold for a step, and reports whether the step is still the next. After a new hold, it observes the
// cluster again, because another run may have changed it before.
func (r *Run) takeHoldFor(ctx context.Context, step membership.MemberStep) (next bool, err error) {
	return r.takeHoldIf(ctx, step, func() (bool, error) { return r.isNext(ctx, step) })
}

// isNext observes the cluster, and reports whether a step is still the next.
func (r *Run) isNext(ctx context.Context, step membership.MemberStep) (bool, error) {
	s, err := r.Observe(ctx)
	if err != nil {
		return false, err
	}
	now, err := membership.Next(s)
	now.Reason = step.Reason
	switch {
	case err != nil:
		r.instead = " (" + err.Error() + ")"
	case now.Action == membership.Done:
		r.instead = " (no step is left)"
	default:
		r.instead = " (the next step is now: " + strings.TrimSpace(now.Action.String()+" "+now.Host) + ")"
	}
	return err == nil && now == step, nil // the next call of Next returns the refusal
}

// takeHoldIf takes the hold for a step. If the hold is new, or the facts are old, it calls isNext, which gathers new facts.
// A restart of etcd fails if these are old, too.
func (r *Run) takeHoldIf(ctx context.Context, step membership.MemberStep, isNext func() (bool, error)) (next bool, err error) {
	before := r.newHolds
	if err := r.takeHold(ctx, step); err != nil || r.newHolds == before && !r.areFactsOld() {
		return err == nil, err
	}
	next, err = isNext()
	if next && step.Action.RestartsEtcd() && r.areFactsOld() {
		err = &engine.Failure{
			Host: step.Host, Step: step.Action.String(), Kind: engine.UnsafeFailure,
			Cause: fmt.Sprintf("the facts were older than %s when they had been gathered again; etcd was not restarted. Run the command again", engine.Duration(maxFactsAge).Trimmed()),
		}
	}
	return next, err
}

// areFactsOld reports whether the last facts are too old for a step: the bastion was suspended since, or something was slow.
func (r *Run) areFactsOld() bool { return time.Now().Round(0).Sub(r.observed).Abs() > maxFactsAge }

// WarnOfHolds adds a warning for each hold that would stop the steps of a forecast now. It skips hosts that do not answer.
func (r *Run) WarnOfHolds(ctx context.Context, f *membership.Forecast) {
	if len(f.Steps) == 0 {
		return
	}
	for _, h := range r.Members {
		facts, err := r.readHold(ctx, h.Name)
		if err != nil {
			continue
		}
		if kind := r.classifyHolder(facts); kind == engine.HeldByOther || kind == engine.HeldByExpiredRun {
			f.Warnings = append(f.Warnings, fmt.Sprintf("holdfast etcd members apply stops: %v", heldFailure(h.Name, facts)))
		}
	}
}

// takeHold takes the hold of the host that a step changes. If that host does not answer and the step may go on without it,
// takeHold takes the hold of the first host that answers. Then it reads the holds of the other hosts of the cluster. In this
// order, at least one of two runs sees the other.
func (r *Run) takeHold(ctx context.Context, step membership.MemberStep) error {
	var errs []error
	for _, host := range r.holdOrder(step.Host) {
		err := r.holdHost(ctx, host)
		var f *engine.Failure
		if err != nil && errors.As(err, &f) && f.Kind == engine.UnreachableFailure && mayBeGone(step.Action) {
			errs = append(errs, err)
			continue
		}
		if err != nil {
			return err
		}
		if err := r.checkOthers(ctx, host); err != nil || !isDoneByEtcd(step.Action) {
			return err
		}
		return inOneText(host, r.keepHolds().Check(ctx, host))
	}
	return errors.Join(errs...)
}

// isDoneByEtcd reports whether a step changes the cluster without a script that checks the hold on a host that answers.
func isDoneByEtcd(a membership.MemberAction) bool {
	return a == membership.Promote || a == membership.MoveLeader || a == membership.Remove
}

// mayBeGone reports whether a step is possible although its host does not answer.
func mayBeGone(a membership.MemberAction) bool { return a == membership.Remove }

func (r *Run) holdOrder(first string) []string {
	var names []string
	if _, known := r.findHost(first); known {
		names = append(names, first)
	}
	for _, h := range r.Members {
		if h.Name != first {
			names = append(names, h.Name)
		}
	}
	return names
}

// renewHold renews the hold of a host if the run has it.
func (r *Run) renewHold(ctx context.Context, host string) error {
	if r.held[host].IsZero() {
		return nil
	}
	return r.holdHost(ctx, host)
}

// holdHost takes or renews the hold of a host. If it fails, the host may be held all the same, and releaseAll ends this hold.
func (r *Run) holdHost(ctx context.Context, host string) error {
	taken, before := r.held[host]
	if before && time.Since(taken).Abs() < renewTime {
		return nil
	}
	facts, err := r.readHold(ctx, host)
	if err != nil {
		return err
	}
	take, holder := engine.TakeHold{For: engine.Duration(holdTime)}, r.classifyHolder(facts)
	switch holder {
	case engine.HeldByNobody, engine.HeldByThisRun:
	case engine.HeldByDeadRun:
		take.Adopt, take.Renewed = facts.Hold.Run, facts.Hold.Renewed
	case engine.HeldByOther, engine.HeldByExpiredRun:
		delete(r.held, host)
		return heldFailure(host, facts)
	}
	h := engine.Hold{
		Kind: engine.RunHold, Holder: r.Holder, Run: r.Owner.Run, Bastion: r.Owner.Bastion, Cluster: r.Cluster.Name,
		Reason: "changing the members of etcd cluster " + r.Cluster.Name,
	}
	isNew := taken.IsZero() || holder != engine.HeldByThisRun
	if isNew {
		r.held[host] = time.Time{}
	}
	keeper, code := r.keepHolds(), 0
	keeper.Run = func(ctx context.Context, host string, s hold.Script) (engine.Output, error) {
		reply, err := r.runHoldScript(ctx, host, s)
		code = reply.Code
		return reply, err
	}
	if err := keeper.Take(ctx, host, h, take); err != nil {
		if code == hostscript.ScriptHeld || code == hostscript.ScriptBusy && !before { // a busy host keeps a hold of this run
			delete(r.held, host)
		}
		return inOneText(host, err)
	}
	if isNew {
		r.newHolds++
	}
	r.held[host] = time.Now().Round(0) // by the wall clock, which goes on while this machine is suspended
	return nil
}

// classifyHolder returns the holder of a host. A run whose hold has expired counts as dead if it changed the members of this
// cluster, so that this run adopts its hold. The hold of a roll-out needs the recovery of a roll-out.
func (r *Run) classifyHolder(facts engine.Facts) engine.HolderKind {
	holder := facts.ClassifyHolder(r.Owner, r.Dead)
	if holder == engine.HeldByExpiredRun && facts.Hold.Cluster == r.Cluster.Name {
		return engine.HeldByDeadRun
	}
	return holder
}

func heldFailure(host string, facts engine.Facts) error {
	f := &engine.Failure{Host: host, Step: "hold", Kind: engine.HeldFailure, Cause: facts.HoldProblem}
	if facts.Hold != nil {
		f.Cause = facts.Hold.String() + facts.DescribeClockSkew()
		f.Hint = "if nobody works there any more: holdfast release --force " + host
	}
	return f
}

func (r *Run) readHold(ctx context.Context, host string) (engine.Facts, error) {
	reading, err := r.keepHolds().Read(ctx, host)
	if err != nil {
		return engine.Facts{}, err
	}
	return reading.Facts, nil
}

func (r *Run) keepHolds() hold.Keeper { return hold.Keeper{Run: r.runHoldScript, Owner: r.Owner} }

// runHoldScript runs a script about a hold, and repeats it once if its answer is lost. A host that does not answer is read
// only once. If the repetition finds another script at work, the first one may have taken the hold, so its error counts.
func (r *Run) runHoldScript(ctx context.Context, host string, s hold.Script) (engine.Output, error) {
	h, ok := r.findHost(host)
	if !ok {
		return engine.Output{}, fmt.Errorf("%s is not a host of the cluster", host)
	}
	ctx, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	reply, err := r.Hosts.Run(ctx, h, Script{Purpose(s.Purpose), s.Text})
	if err != nil && s.Purpose != hold.ReadScript && ctx.Err() == nil {
		again, failed := r.Hosts.Run(ctx, h, Script{Purpose(s.Purpose), s.Text})
		if failed != nil || again.Code != hostscript.ScriptBusy || s.Purpose != hold.TakeScript {
			reply, err = again, failed
		}
	}
	if err != nil {
		err = &engine.Failure{Host: host, Step: "hold", Kind: engine.UnreachableFailure, Cause: err.Error()}
	}
	return reply, err
}

// inOneText returns a failure of package hold with its host, and with the end of the output of its script as a part of its cause.
func inOneText(host string, err error) error {
	var f *engine.Failure
	if !errors.As(err, &f) {
		return err
	}
	return &engine.Failure{Host: host, Step: f.Step, Kind: f.Kind, Cause: hold.DescribeError(&engine.Failure{Cause: f.Cause, Stderr: f.Stderr})}
}

// checkOthers refuses if anybody else holds another host of the cluster. It skips a host that does not answer: a run that
// holds that host also reads the other holds, and sees the hold of this run.
func (r *Run) checkOthers(ctx context.Context, own string) error {
	for _, h := range r.Members {
		if h.Name == own {
			continue
		}
		facts, err := r.readHold(ctx, h.Name)
		if err != nil {
			continue
		}
		switch r.classifyHolder(facts) {
		case engine.HeldByOther, engine.HeldByExpiredRun:
			return heldFailure(h.Name, facts)
		case engine.HeldByNobody, engine.HeldByThisRun, engine.HeldByDeadRun:
		}
	}
	return nil
}

func (r *Run) releaseHold(ctx context.Context, host string) error {
	if _, ok := r.held[host]; !ok {
		return nil
	}
	delete(r.held, host)
	if err := r.keepHolds().Release(ctx, host, engine.Release{}); err != nil {
		return fmt.Errorf("release %s: %w", host, inOneText(host, err))
	}
	return nil
}

func (r *Run) releaseAll(ctx context.Context) error {
	var errs []error
	for host := range r.held {
		errs = append(errs, r.releaseHold(ctx, host))
	}
	return errors.Join(errs...)
}

// releaseLeftovers adopts the holds of dead runs that changed members of this cluster, so that releaseAll ends them. No step
// is left for these holds.
func (r *Run) releaseLeftovers(ctx context.Context) error {
	for _, h := range r.Members {
		facts, err := r.readHold(ctx, h.Name)
		if err != nil || r.classifyHolder(facts) != engine.HeldByDeadRun {
			continue
		}
		if err := r.holdHost(ctx, h.Name); err != nil {
			return err
		}
	}
	return nil // releaseAll follows
}

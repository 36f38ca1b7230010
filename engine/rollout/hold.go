package rollout

import (
	"context"
	"time"

	"holdfast/engine"
	"holdfast/engine/hold"
)

func (o *Options) holdOwner() engine.HoldOwner {
	return engine.HoldOwner{Run: o.ID, Bastion: o.Start.Bastion}
}

// keepHolds returns the keeper of the holds of this run.
func (a hostAccess) keepHolds() hold.Keeper {
	return hold.Keeper{Run: a.runHoldScript, Now: a.Clock.Now, Owner: a.holdOwner(), Secrets: a.Secrets, Forks: a.Forks, ReadTimeout: 20 * time.Second}
}

func (a hostAccess) runHoldScript(ctx context.Context, host string, s hold.Script) (Reply, error) {
	return a.runIdempotent(ctx, host, Script{Purpose: Purpose(s.Purpose), Text: s.Text, Timeout: s.Timeout})
}

func (r *stepRunner) takeHold(ctx context.Context, hp engine.HostPlan, t engine.TakeHold) error {
	h := engine.Hold{Kind: engine.RunHold, Holder: r.Start.Holder, Run: r.ID, Bastion: r.Start.Bastion, Reason: r.redactForHold(t.Reason), PreviousOS: t.PreviousOS}
	if before := awaitedUnits(hp); before != nil {
		h.Units, h.FailedUnits = before.RunningUnits, append([]string{}, before.FailedUnits...)
	}
	return r.keepHolds().Take(ctx, hp.Host, h, t)
}

func awaitedUnits(hp engine.HostPlan) *engine.AwaitUnits {
	for _, s := range hp.Sequence {
		if s.Do.AwaitUnits != nil {
			return s.Do.AwaitUnits
		}
	}
	return nil
}

// checkHold proves that this run holds the host, directly before a step that
// disrupts the host from elsewhere. Scripts on the host check the hold
// themselves.
func (r *stepRunner) checkHold(ctx context.Context, hp engine.HostPlan, s engine.Step) error {
	if s.Do.Exec != nil || !s.ChangesHost && s.Do.MoveLeader == nil {
		return nil
	}
	k := r.keepHolds()
	k.Owner = r.ownerOf(hp.Host)
	err := k.Check(ctx, hp.Host)
	if err == nil || ctx.Err() != nil {
		return err
	}
	f, undone := *asFailure(err, "", ""), "; "+s.Name+" was not done"
	if f.Kind == engine.HeldFailure {
		f.Cause += undone
		return &f
	}
	return &engine.Failure{Kind: engine.CannotFailure, Cause: "ask whether the host is still held by this run: " + err.Error() + undone, Stderr: f.Stderr}
}

// checkStepConditions returns an error if a step must not begin: the hold is lost, or the quorum is not proved any more.
func (r *stepRunner) checkStepConditions(ctx context.Context, hp engine.HostPlan, s engine.Step) error {
	if err := r.checkHold(ctx, hp, s); err != nil {
		return err
	}
	return r.renewQuorumProof(ctx, hp, s)
}

package rollout

import (
	"context"

	"holdfast/engine"
)

// mayRollBack reports whether a host boots its previous OS because a step failed: its pool asks for
// that, and the step judges the OS. Other steps, such as the release, may fail on a good OS, and so
// may a probe whose connection is lost.
func (q sequenceState) mayRollBack(ctx context.Context, hp engine.HostPlan, s engine.Step, failure *engine.Failure) bool {
	switch failure.Kind {
	case KindHeld, KindStopped, KindJournal, KindUnreachable:
		return false
	}
	judges := s.Do.AwaitUnits != nil || s.Do.AwaitEtcd != nil || s.Do.Gate != nil || s.Do.Exec != nil // a task
	return q.back && judges && len(hp.Rollback) > 0 && ctx.Err() == nil
}

// rollBackHost boots the previous OS, once for each OS, because the host remembers the failed ones.
// If that fails as well, the host stays held.
func (r *Run) rollBackHost(ctx context.Context, p *runState, hp engine.HostPlan, passed sequenceState, cause *engine.Failure) *engine.Failure {
	r.emitWarning(hp.Host + ": " + cause.Step + ": " + firstLine(cause.Cause) + "; it is rolled back to the OS it ran before")
	said := "it could not be rolled back: "
	for _, s := range hp.Rollback {
		if f := r.runStep(ctx, hp, s); f != nil {
			failure := *cause
			failure.Cause += "; and " + said + f.Step + ": " + f.Cause
			return r.giveUpHost(ctx, p, hp, passed, &failure)
		}
		if s.Do.AwaitBoot != nil {
			said = "it is not well with the OS it ran before, to which it was rolled back: "
		}
	}
	r.failHostAs(p, hp, cause, engine.RolledBackOutcome, "it was rolled back to the OS it ran before, and is not held; it remembers that this OS failed")
	return cause
}

package rollout

import (
	"context"

	"holdfast/engine"
)

// mayRollBack reports whether a host that failed is to boot the OS it ran
// before: its pool says so, it runs the new one, and that is what failed, not
// the bastion or somebody with a hold of their own.
func (q sequence) mayRollBack(ctx context.Context, hp engine.HostPlan, failure *engine.Failure) bool {
	switch failure.Kind {
	case KindHeld, KindStopped, KindJournal:
		return false
	}
	return q.booted && len(hp.Rollback) > 0 && ctx.Err() == nil
}

// rollBack brings the OS back that the host ran before. It is done once for
// each OS, as the host keeps which ones failed there. A host on which that
// fails, too, stays held.
func (r *Run) rollBack(ctx context.Context, p *progress, hp engine.HostPlan, passed sequence, cause *engine.Failure) *engine.Failure {
	r.warn(hp.Host + ": " + cause.Step + ": " + firstLine(cause.Cause) + "; it is rolled back to the OS it ran before")
	said := "it could not be rolled back: "
	for _, s := range hp.Rollback {
		if f := r.step(ctx, hp, s); f != nil {
			failure := *cause
			failure.Cause += "; and " + said + f.Step + ": " + f.Cause
			return r.giveUp(ctx, p, hp, passed, &failure)
		}
		if s.Do.AwaitBoot != nil {
			said = "it is not well with the OS it ran before, to which it was rolled back: "
		}
	}
	r.fail(p, hp, cause, "it was rolled back to the OS it ran before, and is not held; it remembers that this OS failed")
	return cause
}

package rollout

import (
	"context"

	"holdfast/engine"
)

// mayRollBack reports whether a host that failed at a step is to boot the OS it
// ran before: its pool says so, and the new one was found not to do. What is
// only said about the host, such as that it is released, may fail on the best of
// OSes, and so may a look that does not come through.
func (q sequenceState) mayRollBack(ctx context.Context, hp engine.HostPlan, s engine.Step, failure *engine.Failure) bool {
	switch failure.Kind {
	case KindHeld, KindStopped, KindJournal, KindUnreachable:
		return false
	}
	judges := s.Do.AwaitUnits != nil || s.Do.AwaitEtcd != nil || s.Do.Gate != nil || s.Do.Exec != nil // a task
	return q.back && judges && len(hp.Rollback) > 0 && ctx.Err() == nil
}

// rollBackHost brings the OS back that the host ran before. It is done once for
// each OS, as the host keeps which ones failed there. A host on which that
// fails, too, stays held.
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
	r.failHostAs(p, hp, cause, engine.RolledBackFate, "it was rolled back to the OS it ran before, and is not held; it remembers that this OS failed")
	return cause
}

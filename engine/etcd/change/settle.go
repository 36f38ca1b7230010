package change

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/clock"
	"holdfast/engine/etcd/membership"
)

func (r *Run) nextSettled(ctx context.Context, last membership.MemberStep) (membership.MemberStep, error) {
	s, err := r.awaitSettled(ctx, last.Action != membership.Done)
	if err != nil {
		return membership.MemberStep{}, err
	}
	step, err := membership.Next(s)
	if err == nil && !r.mayDo(step) {
		return step, &engine.Failure{
			Host: step.Host, Step: step.Action.String(), Kind: engine.RefusedFailure,
			Cause: "the step was not in the plan: the cluster or its hosts have changed since; run it again, and read the new plan",
		}
	}
	return step, err
}

// Settled observes the cluster. If a killed run has left a change unfinished, Settled waits until the cluster has settled,
// because the run may have been killed a moment ago.
func (r *Run) Settled(ctx context.Context) (membership.State, error) {
	return r.awaitSettled(ctx, false)
}

// awaitSettled observes the cluster until no refusal is temporary. After a step, a promoted voter may lack a few entries, and
// a removed voter may have been the leader.
func (r *Run) awaitSettled(ctx context.Context, changed bool) (s membership.State, err error) {
	_, err = r.waitUnderHold(ctx, "", settleTime, func() (bool, error) {
		if s, err = r.Observe(ctx); err != nil {
			return false, err
		}
		_, refusal := membership.Next(s)
		return !mayPass(refusal, s) || !changed && !hasRecord(s), nil
	})
	return s, err
}

// waitUnderHold calls done each second until it returns true or an error, and returns false at the limit. Meanwhile it renews
// the hold of the host, if the run has it.
func (r *Run) waitUnderHold(ctx context.Context, host string, limit time.Duration, done func() (bool, error)) (bool, error) {
	until := time.Now().Add(limit)
	for {
		if ok, err := done(); ok || err != nil {
			return ok, err
		}
		if time.Now().After(until) {
			return false, nil
		}
		if err := r.renewHold(ctx, host); err != nil {
			return false, err
		}
		if err := clock.Sleep(ctx, waitTime); err != nil {
			return false, err
		}
	}
}

// Accept lets the run carry out the steps that a person has approved.
func (r *Run) Accept(f membership.Forecast) {
	r.accepted = map[membership.MemberStep]bool{}
	for _, step := range f.Steps {
		step.Reason = ""
		r.accepted[step.MemberStep] = true
	}
}

// mayDo reports whether a run may carry out a step. Steps that follow from approved steps need no approval, such as the
// removal of a learner that failed, or setting data aside.
func (r *Run) mayDo(step membership.MemberStep) bool {
	switch step.Action {
	case membership.Create, membership.AddLearner, membership.Remove, membership.TrustCA, membership.DropCA, membership.Configure:
		step.Reason = ""
		return r.accepted[step] || r.failed[step.Host] != ""
	default:
		return true
	}
}

// mayPass reports whether a refusal may be temporary, because the cluster has just changed.
func mayPass(err error, s membership.State) bool {
	var refusal *membership.Refusal
	if !errors.As(err, &refusal) {
		return false
	}
	switch refusal.Kind {
	case membership.UnhealthyVoter, membership.QuorumLost, membership.MembersUnknown:
		return true
	case membership.HostNotReady: // its etcd has just been started, and has not written its ID yet
		i := slices.IndexFunc(s.Hosts, func(h membership.Host) bool { return h.Name == refusal.Host })
		return i >= 0 && s.Hosts[i].Running && s.Hosts[i].Record == membership.Adding
	case membership.NothingWanted, membership.HasAlarm, membership.SeveralLearners, membership.UnclaimedMember, membership.HealthyNamed, membership.NoMargin,
		membership.SettingsClash, membership.SettingFixed, membership.UnknownCA:
	}
	return false
}

// markHook records that the hook is due, if the voters are about to change.
func (r *Run) markHook(changes bool) error {
	if r.Hook == nil || !changes {
		return nil
	}
	r.hookDone = false
	return r.Hook.MarkDue()
}

func (r *Run) runHook(ctx context.Context) error {
	err := r.Hook.RunCommand(ctx)
	r.hookDone = err == nil
	return err
}

// observeHook adds to a state whether the hook is due. If another bastion has changed the voters, only the record on the host
// shows it. The record stays until the hook has succeeded.
func (o observer) observeHook(s *membership.State) (err error) {
	if o.Hook == nil {
		return nil
	}
	s.HasHook = true
	s.HookDue, err = o.Hook.IsDue()
	s.HookDue = s.HookDue || !o.hookDone && s.HasChangedVoters()
	return err
}

// hasRecord reports whether a run has left a change unfinished.
func hasRecord(s membership.State) bool {
	return slices.ContainsFunc(s.Hosts, func(h membership.Host) bool { return h.Record != membership.NoRecord })
}

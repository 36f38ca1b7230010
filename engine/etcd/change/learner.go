package change

import (
	"context"
	"fmt"

	"holdfast/engine"
	"holdfast/engine/etcd"
	"holdfast/engine/etcd/membership"
)

func (r *Run) promoteLearner(ctx context.Context, step membership.MemberStep) error {
	err := r.retryRefused(ctx, step.Host, func() error { return r.Etcd.Promote(ctx, step.Member) })
	if err != nil && etcd.IsPassing(err) { // it does not catch up: the next step removes it again
		r.failed[step.Host] = "etcd does not promote its learner: " + err.Error()
		return nil
	}
	return err
}

// startMember starts the etcd of a member, and waits until it has data. If etcd does not start, the next step removes the
// member again.
func (r *Run) startMember(ctx context.Context, step membership.MemberStep) (string, error) {
	if err := r.startEtcd(ctx, step.Host, r.joinSettings(step)); err != nil {
		return "", err
	}
	started, err := r.waitUnderHold(ctx, step.Host, settleTime, func() (bool, error) {
		s, err := r.Observe(ctx)
		if err != nil {
			return false, err
		}
		next, refusal := membership.Next(s)
		return !mayPass(refusal, s) && (refusal != nil || next.Action != membership.Start), nil // the next call of Next returns the refusal
	})
	if err != nil || started {
		return "", err
	}
	r.failed[step.Host] = fmt.Sprintf("etcd does not start within %s: journalctl -u %s", engine.Duration(settleTime).Trimmed(), r.Cluster.Managed.Unit)
	return r.failed[step.Host], nil
}

// awaitLearner waits until the learner may be promoted. If it takes too long, the next step removes it again.
func (r *Run) awaitLearner(ctx context.Context, step membership.MemberStep) (string, error) {
	ended, err := r.waitUnderHold(ctx, step.Host, r.Timeout, func() (bool, error) {
		s, err := r.Observe(ctx)
		if err != nil {
			return false, err
		}
		next, refusal := membership.Next(s)
		return refusal != nil || next.Action != membership.Await || next.Member != step.Member, nil // the next call of Next returns the refusal
	})
	if err != nil || ended {
		return "", err
	}
	r.failed[step.Host] = fmt.Sprintf("its learner did not catch up within %s", engine.Duration(r.Timeout).Trimmed())
	return r.failed[step.Host], nil
}

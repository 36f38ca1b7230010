package change

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd"
	"holdfast/engine/etcd/membership"
)

func (r *Run) promoteLearner(ctx context.Context, step membership.MemberStep) error {
	err := r.retryRefused(ctx, func() error { return r.Etcd.Promote(ctx, step.Member) })
	if err != nil && etcd.IsPassing(err) { // it does not catch up: the next step takes it back
		r.failed[step.Host] = "etcd does not promote its learner: " + err.Error()
		return nil
	}
	return err
}

// startMember starts the etcd of a member, and waits until it has data. An etcd that does not start is taken back by the next
// step.
func (r *Run) startMember(ctx context.Context, step membership.MemberStep) (string, error) {
	if err := r.runScript(ctx, step.Host, startScript(r.Owner, *r.Cluster.Managed, r.joinSettings(step).String())); err != nil {
		return "", err
	}
	until := time.Now().Add(settleTime)
	for {
		s, err := r.Observe(ctx)
		if err != nil {
			return "", err
		}
		next, err := membership.Next(s)
		if !mayPass(err, s) && (err != nil || next.Action != membership.Start) {
			return "", nil // the next step tells
		}
		if time.Now().After(until) {
			r.failed[step.Host] = fmt.Sprintf("etcd does not start within %s: journalctl -u %s", engine.Duration(settleTime).Trimmed(), r.Cluster.Managed.Unit)
			return r.failed[step.Host], nil
		}
		if err := waitPoll(ctx); err != nil {
			return "", err
		}
	}
}

// awaitLearner waits until the learner may be promoted. One that takes too long is taken back by the next step.
func (r *Run) awaitLearner(ctx context.Context, step membership.MemberStep) (string, error) {
	began := time.Now()
	for {
		s, err := r.Observe(ctx)
		if err != nil {
			return "", err
		}
		next, err := membership.Next(s)
		if err != nil || next.Action != membership.Await || next.Member != step.Member {
			return "", nil // the next step tells
		}
		if time.Since(began) > r.Timeout {
			r.failed[step.Host] = fmt.Sprintf("its learner did not catch up within %s", engine.Duration(r.Timeout).Trimmed())
			return r.failed[step.Host], nil
		}
		if err := errors.Join(r.renewHold(ctx, step.Host), waitPoll(ctx)); err != nil {
			return "", err
		}
	}
}

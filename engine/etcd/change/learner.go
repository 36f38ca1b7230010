package change

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"holdfast/engine"
	"holdfast/engine/etcd"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/textutil"
)

func (a actions) promoteLearner(ctx context.Context, step membership.MemberStep) error {
	err := a.retryRefused(ctx, step.Host, func() error { return a.Etcd.Promote(ctx, step.Member) })
	if err != nil && etcd.IsPassing(err) { // it does not catch up: the next step removes it again
		a.failed[step.Host] = "etcd does not promote its learner: " + err.Error()
		return nil
	}
	return err
}

// startMember waits until the member has data. If etcd does not start, the next step removes the member again.
func (a actions) startMember(ctx context.Context, step membership.MemberStep) (string, error) {
	settings := a.joinSettings(step)
	if strings.ContainsFunc(settings.cluster+settings.peerURL, isSpecial) {
		return "", fmt.Errorf("the list of members has a name or a peer URL that cannot be in a file of settings: %q; if you have not given it, "+
			"somebody else may be root on a member", textutil.Secrets{}.KeepTail(settings.cluster, 1000))
	}
	if err := a.startEtcd(ctx, step.Host, settings); err != nil {
		return "", err
	}
	started, err := a.waitUnderHold(ctx, step.Host, settleTime, func() (bool, error) {
		s, err := a.Observe(ctx)
		if err != nil {
			return false, err
		}
		next, refusal := membership.Next(s)
		return !mayPass(refusal, s) && (refusal != nil || next.Action != membership.Start), nil // the next call of Next returns the refusal
	})
	if err != nil || started {
		return "", err
	}
	a.failed[step.Host] = fmt.Sprintf("etcd does not start within %s: journalctl -u %s", engine.Duration(settleTime).Trimmed(), a.Cluster.Managed.Unit)
	return a.failed[step.Host], nil
}

// isSpecial reports whether a character of a value can end it, or make it go on in the next line of a file of settings (systemd.exec).
func isSpecial(c rune) bool { return unicode.IsControl(c) || strings.ContainsRune(`"'\`, c) }

// awaitLearner waits until the learner may be promoted. If it takes too long, the next step removes it again.
func (a actions) awaitLearner(ctx context.Context, step membership.MemberStep) (string, error) {
	ended, err := a.waitUnderHold(ctx, step.Host, a.Timeout, func() (bool, error) {
		s, err := a.Observe(ctx)
		if err != nil {
			return false, err
		}
		next, refusal := membership.Next(s)
		return refusal != nil || next.Action != membership.Await || next.Member != step.Member, nil // the next call of Next returns the refusal
	})
	if err != nil || ended {
		return "", err
	}
	a.failed[step.Host] = fmt.Sprintf("its learner did not catch up within %s", engine.Duration(a.Timeout).Trimmed())
	return a.failed[step.Host], nil
}

package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
)

func (r *Run) removeMember(ctx context.Context, step membership.MemberStep) (string, error) {
	waited, err := r.awaitDisconnect(ctx, step)
	if err != nil {
		return "", err
	}
	if waited != "" { // the member may be back
		if next, err := r.isNext(ctx, step); err != nil || !next {
			return nothingDone, err
		}
	}
	if h, ok := r.findHost(step.Host); ok {
		err := r.runScript(ctx, step.Host, recordScript(r.Owner, *r.Cluster.Managed, membership.Removing))
		var f *engine.Failure
		if errors.As(err, &f) && f.Kind == engine.UnreachableFailure && r.held[h.Name].IsZero() {
			err = nil // a dead host cannot have a record
		}
		if err != nil {
			return "", err
		}
	}
	return waited, r.retryRefused(ctx, step.Host, func() error { return r.Etcd.RemoveMember(ctx, step.Member) })
}

const (
	disconnectTime = time.Minute // until the leader counts messages to a dead member as failed
	failedHere     = 6           // failed messages that show that no connection is left
)

// awaitDisconnect waits until the leader has no connection to a member that does not answer, and returns a message about the
// wait. A host that loses power leaves its connections open. The leader writes to them until they block, and closes
// each 5 s later (ConnWriteTimeout in etcd's rafthttp). etcd that removes a member waits for such a write, and meanwhile
// commits nothing. Once the connections are closed, each heartbeat of the leader counts as failed.
//
// Connections to a host that answers do not block, because it receives the messages of the leader.
//
// The wait ends after disconnectTime, or if the metrics of the leader cannot be read: then the removal may stop the
// cluster for up to 5 s.
func (r *Run) awaitDisconnect(ctx context.Context, step membership.MemberStep) (string, error) {
	leader := slices.IndexFunc(r.members, func(m membership.Member) bool { return m.Leader && m.ID != step.Member })
	dead := slices.ContainsFunc(r.members, func(m membership.Member) bool { return m.ID == step.Member && !m.Healthy })
	if hostAnswers := !r.held[step.Host].IsZero(); leader < 0 || !dead || hostAnswers {
		return "", nil
	}
	began := time.Now()
	var first *uint64
	var unread error // of the metrics; the removal must not depend on them
	closed, err := r.waitUnderHold(ctx, step.Host, disconnectTime, func() (bool, error) {
		failed, err := r.Etcd.FailedMessages(ctx, r.members[leader].Host, step.Member)
		if err != nil {
			unread = err
			return true, nil
		}
		if first == nil || failed < *first { // the leader's etcd has restarted
			first = &failed
		}
		return failed >= *first+failedHere, nil
	})
	took := time.Since(began).Round(time.Second)
	if err != nil || took <= 2*waitTime {
		return "", err
	}
	text := engine.Duration(took).Trimmed()
	switch {
	case unread != nil:
		return fmt.Sprintf("waited %s; then the metrics of the leader could not be read: %v", text, unread), nil
	case !closed:
		return fmt.Sprintf("the leader still had a connection to it after %s", text), nil
	}
	return fmt.Sprintf("waited %s until the leader had no connection to it", text), nil
}

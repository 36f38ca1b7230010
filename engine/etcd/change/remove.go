package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/event"
)

func (a actions) removeMember(ctx context.Context, step membership.MemberStep) (string, error) {
	waited, err := a.awaitDisconnect(ctx, step)
	if err != nil {
		return "", err
	}
	if waited != "" { // the member may be back
		if next, err := a.isNext(ctx, step); err != nil || !next {
			return nothingDone + a.instead, err
		}
	}
	if err := a.markHook(true); err != nil { // not before the wait: clients need nothing if the removal is given up
		return "", err
	}
	if h, ok := a.findHost(step.Host); ok {
		err := a.runScript(ctx, step.Host, recordScript(a.Owner, *a.Cluster.Managed, membership.Removing))
		var f *engine.Failure
		if errors.As(err, &f) && f.Kind == engine.UnreachableFailure && a.held[h.Name].IsZero() {
			err = nil // a dead host cannot have a record
		}
		if err != nil {
			return "", err
		}
	}
	return waited, a.retryRefused(ctx, step.Host, func() error { return a.Etcd.RemoveMember(ctx, step.Member) })
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
func (a actions) awaitDisconnect(ctx context.Context, step membership.MemberStep) (string, error) {
	leader := slices.IndexFunc(a.members, func(m membership.Member) bool { return m.Leader && m.ID != step.Member })
	dead := slices.ContainsFunc(a.members, func(m membership.Member) bool { return m.ID == step.Member && !m.Healthy })
	if hostAnswers := !a.held[step.Host].IsZero(); leader < 0 || !dead || hostAnswers {
		return "", nil
	}
	began := time.Now()
	var first *uint64
	var unread error // of the metrics; the removal must not depend on them
	told := false
	closed, err := a.waitUnderHold(ctx, step.Host, disconnectTime, func() (bool, error) {
		failed, err := a.Etcd.FailedMessages(ctx, a.members[leader].Host, step.Member)
		if err != nil {
			unread = err
			return true, nil
		}
		if first == nil || failed < *first { // the leader's etcd has restarted
			first = &failed
		}
		closed := failed >= *first+failedHere
		if !closed && !told && time.Since(began) > 2*waitTime && a.Emit != nil {
			told = true
			return false, a.Emit(event.Event{
				Type: event.StepProgress, Cluster: a.Cluster.Name, Host: step.Host, Member: step.Member, Step: step.Action.String(),
				Message: fmt.Sprintf("waits until the leader has no connection to it, at most %s", engine.Duration(disconnectTime).Trimmed()),
			})
		}
		return closed, nil
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

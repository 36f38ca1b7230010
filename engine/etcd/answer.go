package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"holdfast/engine/clock"
)

// answer is the answer of the member on one host.
type answer struct {
	host, address string
	retired       bool  // the host need not have a member
	err           error // the reason why there is no answer

	status  *clientv3.StatusResponse
	members []*pb.Member // its member list, or nil
	listErr error        // the reason why there is no list

	committed uint64 // its committed raft index before the read
	readAsked bool   // a linearizable read was requested
	readErr   error  // the reason why the read failed
}

func (a answer) memberID() uint64  { return a.status.Header.MemberId }
func (a answer) clusterID() uint64 { return a.status.Header.ClusterId }

func (a answer) readsLinearizably() bool { return a.readAsked && a.readErr == nil }

// askIdentity asks the member for its ID, status and member list. It needs no quorum.
func (s *session) askIdentity(ctx context.Context, a *answer) {
	said, err := s.Status(ctx, "")
	if err != nil {
		a.err = unansweredError("status", err)
		return
	}
	if said.Header == nil || said.Header.MemberId == 0 {
		a.err = errors.New("status: the answer has no member ID")
		return
	}
	a.status, a.committed = said, said.RaftIndex
	list, err := s.MemberList(ctx, clientv3.WithSerializable())
	if err != nil {
		a.listErr = unansweredError("member list", err) // a learner returns no list
		return
	}
	if len(list.Members) > maxMembers {
		a.listErr = fmt.Errorf("member list: it has %d members, and no cluster has more than %d", len(list.Members), maxMembers)
		return
	}
	a.members = list.Members
}

// checkRead requests one linearizable read, and then the status again. A member answers the read only with the consent
// of a quorum, and after it has applied all entries that were committed before the request.
func (s *session) checkRead(ctx context.Context, a *answer) {
	a.readAsked = true
	err := s.readLinearizably(ctx)
	if err != nil && !refusedAfterRead(err) {
		a.readErr = unansweredError("linearizable read", err)
		return
	}
	said, err := s.Status(ctx, "")
	if err != nil {
		a.readErr = unansweredError("status", err)
		return
	}
	if h := said.Header; h == nil || h.MemberId != a.memberID() || h.ClusterId != a.clusterID() {
		a.readErr = errors.New("status: the answer names another member than before")
		return
	}
	a.status = said
}

// readPause is the time between two reads while the cluster changes its leader.
const readPause = 100 * time.Millisecond

// readLinearizably reads again, until the context ends, if the leader changes during the read. Members refuse all reads then,
// and the refusal says nothing about their health. Elections are common where disks are slow, and after the restart of a leader.
func (s *session) readLinearizably(ctx context.Context) error {
	var changed error
	for {
		switch _, err := s.Get(ctx, "health", clientv3.WithCountOnly()); {
		case errors.Is(err, rpctypes.ErrLeaderChanged):
			changed = err
		case err != nil && changed != nil && (ctx.Err() != nil || isLate(err)): // the time has ended during a further read
			return changed
		default:
			return err
		}
		if clock.Sleep(ctx, readPause) != nil {
			return changed
		}
	}
}

// refusedAfterRead reports whether err denies the user the key. A member checks the user after the linearizable part of
// the read, so the member is healthy, as if it had answered. etcdctl endpoint health decides in the same way.
func refusedAfterRead(err error) bool {
	return errors.Is(err, rpctypes.ErrPermissionDenied) || errors.Is(err, rpctypes.ErrUserEmpty)
}

func unansweredError(question string, err error) error {
	err = inWords(rpctypes.Error(err)) // the client does not translate errors of streams
	if isForbidden(err) {
		return fmt.Errorf("%s: %w: the cluster has authentication enabled; "+
			"the client certificate's common name must be a user with the role root", question, err)
	}
	return fmt.Errorf("%s: %w", question, err)
}

// wordedError has another text than its cause.
type wordedError struct {
	words string
	cause error
}

func (e *wordedError) Error() string { return e.words }

func (e *wordedError) Unwrap() error { return e.cause }

// isLate reports whether err is the end of a request's time. gRPC has an error of its own for a deadline that the member
// notices first, and the context of the client may not have ended then.
func isLate(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded
}

// inWords removes the words of gRPC from an error. It replaces gRPC's error for a missed deadline with the error of the
// context.
func inWords(err error) error {
	const late = "no answer in time"
	said, is := status.FromError(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &wordedError{late, err}
	case isLate(err):
		return &wordedError{late, context.DeadlineExceeded}
	case is && said.Message() != "":
		return &wordedError{said.Message(), err}
	}
	return err
}

// isForbidden reports whether err denies the user the request. In a stream, etcd 3.5 returns untranslated text such as
// "auth: permission denied".
func isForbidden(err error) bool {
	return refusedAfterRead(err) || errors.Is(err, rpctypes.ErrUserNotFound) ||
		strings.HasPrefix(status.Convert(err).Message(), "auth: ")
}

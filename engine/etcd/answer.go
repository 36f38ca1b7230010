package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// answer is what the member on one host said.
type answer struct {
	host, address string
	err           error // why it said nothing

	status  *clientv3.StatusResponse
	members []*pb.Member // its member list; nil if it has none to give
	listErr error        // why not

	committed uint64 // raft index it knew committed before the read
	readAsked bool   // was asked for a linearizable read
	readErr   error  // why that went wrong
}

func (a answer) memberID() uint64  { return a.status.Header.MemberId }
func (a answer) clusterID() uint64 { return a.status.Header.ClusterId }

// readsLinearizably reports whether the member answered a linearizable read.
func (a answer) readsLinearizably() bool { return a.readAsked && a.readErr == nil }

// askIdentity asks who the member is and what it knows, without needing a quorum.
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
		a.listErr = unansweredError("member list", err) // a learner has none to give
		return
	}
	if len(list.Members) > maxMembers {
		a.listErr = fmt.Errorf("member list: it has %d members, and no cluster has more than %d", len(list.Members), maxMembers)
		return
	}
	a.members = list.Members
}

// checkRead asks for one linearizable read, which the member can answer only with
// the consent of a quorum and after it has applied all that was committed when
// it was asked; then again for its status.
func (s *session) checkRead(ctx context.Context, a *answer) {
	a.readAsked = true
	_, err := s.Get(ctx, "health", clientv3.WithCountOnly())
	if err != nil && !refusedAfterRead(err) {
		a.readErr = unansweredError("linearizable read", err)
		return
	}
	said, err := s.Status(ctx, "")
	if err != nil {
		a.readErr = unansweredError("status", err)
		return
	}
	a.status = said
}

// refusedAfterRead reports whether err says that the user may not read the
// key. A member decides that only after the linearizable part of a read, so it
// is as healthy as if it had answered: etcdctl endpoint health says the same.
func refusedAfterRead(err error) bool {
	return errors.Is(err, rpctypes.ErrPermissionDenied) || errors.Is(err, rpctypes.ErrUserEmpty)
}

// unansweredError names the question that was not answered, and why in words.
func unansweredError(question string, err error) error {
	err = inWords(rpctypes.Error(err)) // a stream's are not translated by the client
	if isForbidden(err) {
		return fmt.Errorf("%s: %w: the cluster has authentication enabled; "+
			"the client certificate's common name must be a user with the role root", question, err)
	}
	return fmt.Errorf("%s: %w", question, err)
}

// wordedError is an error in other words than its own.
type wordedError struct {
	words string
	cause error
}

func (e *wordedError) Error() string { return e.words }

func (e *wordedError) Unwrap() error { return e.cause }

// inWords takes what gRPC adds off an error. A deadline that the member's
// clock saw first comes as gRPC's own: it is made the context's.
func inWords(err error) error {
	const late = "no answer in time"
	said, is := status.FromError(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &wordedError{late, err}
	case is && said.Code() == codes.DeadlineExceeded:
		return &wordedError{late, context.DeadlineExceeded}
	case is && said.Message() != "":
		return &wordedError{said.Message(), err}
	}
	return err
}

// isForbidden reports whether err says that the user may not do it. An etcd 3.5
// says so untranslated in a stream: "auth: permission denied" and the like.
func isForbidden(err error) bool {
	return refusedAfterRead(err) || errors.Is(err, rpctypes.ErrUserNotFound) ||
		strings.HasPrefix(status.Convert(err).Message(), "auth: ")
}

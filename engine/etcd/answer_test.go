package etcd

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestForbidden tests the errors of etcd 3.5.16 for a snapshot by a user
// without the role root, and by an unknown user.
func TestForbidden(t *testing.T) {
	for _, text := range []string{"auth: permission denied", "auth: user not found"} {
		err := unansweredError("stream", status.Error(codes.Unknown, text))
		if !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "role root") {
			t.Errorf("%v says not what to do", err)
		}
	}
	if err := unansweredError("stream", status.Error(codes.Unavailable, "closing")); strings.Contains(err.Error(), "role root") {
		t.Errorf("%v is not about permission", err)
	}
}

// TestTooLate checks that an error is the same, whether the bastion or the
// member notices the deadline first.
func TestTooLate(t *testing.T) {
	for _, err := range []error{
		context.DeadlineExceeded,
		status.FromContextError(context.DeadlineExceeded).Err(),
	} {
		said := unansweredError("linearizable read", err)
		if said.Error() != "linearizable read: no answer in time" || !errors.Is(said, context.DeadlineExceeded) {
			t.Errorf("%v: %v", err, said)
		}
	}
}

// TestWords checks that an error has the words of the member, without the words
// that gRPC adds.
func TestWords(t *testing.T) {
	said := unansweredError("status", status.Error(codes.Unavailable, "the connection broke"))
	if said.Error() != "status: the connection broke" || status.Code(said) != codes.Unavailable {
		t.Error(said)
	}
}

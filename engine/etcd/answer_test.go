package etcd

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestForbidden: what an etcd 3.5.16 was seen to answer to a snapshot by a
// user without the role root, or by nobody it knows.
func TestForbidden(t *testing.T) {
	for _, text := range []string{"auth: permission denied", "auth: user not found"} {
		err := silence("stream", status.Error(codes.Unknown, text))
		if !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "role root") {
			t.Errorf("%v says not what to do", err)
		}
	}
	if err := silence("stream", status.Error(codes.Unavailable, "closing")); strings.Contains(err.Error(), "role root") {
		t.Errorf("%v is not about permission", err)
	}
}

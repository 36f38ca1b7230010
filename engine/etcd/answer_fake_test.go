package etcd_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"holdfast/engine/etcdfacts"
)

// TestReadDuringAnElection: members refuse reads while their leader changes, for a moment. They are healthy. Another refusal, or
// elections without end, are told.
func TestReadDuringAnElection(t *testing.T) {
	t.Parallel()
	late := status.Error(codes.DeadlineExceeded, "late")
	for name, c := range map[string]struct {
		reads   []error
		problem string // "" is a healthy member
	}{
		"one election":       {[]error{rpctypes.ErrGRPCLeaderChanged, rpctypes.ErrGRPCLeaderChanged}, ""},
		"the member ends it": {[]error{rpctypes.ErrGRPCLeaderChanged, late}, "leader changed"},
		"no leader":          {[]error{rpctypes.ErrGRPCNoLeader}, "no leader"},
		"an error":           {[]error{errors.New("disk")}, "disk"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := findMember(t, gatherRefusal(t, time.Minute, c.reads), "b") // a busy machine needs seconds for an answer
			if b.Healthy != (c.problem == "") || !strings.Contains(b.Problem, c.problem) {
				t.Errorf("healthy is %v, with the problem %q, not %q", b.Healthy, b.Problem, c.problem)
			}
		})
	}
	t.Run("no end", func(t *testing.T) {
		t.Parallel()
		for timeout := time.Second; ; timeout *= 4 { // on a busy machine, the first read may come later
			facts := gatherRefusal(t, timeout, slices.Repeat([]error{rpctypes.ErrGRPCLeaderChanged}, 10_000))
			if strings.Contains(fmt.Sprint(facts), "leader changed") && facts.CountHealthy() == 2 {
				return
			}
			if facts.CountHealthy() == 3 || timeout > time.Minute {
				t.Fatalf("facts %+v", facts)
			}
		}
	})
}

// gatherRefusal gathers the facts of members on a, b and c. The next reads of b end in errors.
func gatherRefusal(t *testing.T, timeout time.Duration, reads []error) etcdfacts.ClusterFacts {
	t.Helper()
	members, cfg := fakeCluster(t, "a", "b", "c")
	cfg.Timeout = timeout
	members[1].change(func(m *fakeMember) { m.reads = reads })
	return openCluster(t, cfg).Gather(t.Context())
}

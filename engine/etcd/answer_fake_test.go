package etcd_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestReadDuringAnElection: members refuse reads while their leader changes, for a moment. They are healthy. Another refusal, or
// elections without end, are told.
func TestReadDuringAnElection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reads   []error
		healthy int
		problem string
	}{
		"one election":       {[]error{rpctypes.ErrGRPCLeaderChanged, rpctypes.ErrGRPCLeaderChanged}, 3, ""},
		"no end":             {slices.Repeat([]error{rpctypes.ErrGRPCLeaderChanged}, 1000), 2, "leader changed"},
		"the member ends it": {[]error{rpctypes.ErrGRPCLeaderChanged, status.Error(codes.DeadlineExceeded, "late")}, 2, "leader changed"},
		"no leader":          {[]error{rpctypes.ErrGRPCNoLeader}, 2, "no leader"},
		"an error":           {[]error{errors.New("disk")}, 2, "disk"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			members, cfg := fakeCluster(t, "a", "b", "c")
			cfg.Timeout = 2 * time.Second
			members[1].change(func(m *fakeMember) { m.reads = c.reads })
			facts := openCluster(t, cfg).Gather(t.Context())
			var said []string
			for _, m := range facts.Members {
				said = append(said, m.Problem)
			}
			if facts.CountHealthy() != c.healthy || !strings.Contains(strings.Join(said, "\n"), c.problem) {
				t.Errorf("%d are healthy, not %d: %q", facts.CountHealthy(), c.healthy, said)
			}
		})
	}
}

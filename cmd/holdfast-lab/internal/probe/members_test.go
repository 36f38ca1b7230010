package probe

import (
	"context"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"holdfast/engine/etcd/etcdtest"
)

const waitTime = 30 * time.Second

func awaitSuccess(t *testing.T, check func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTime)
	defer cancel()
	for !check(ctx) {
		select {
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func awaitVoters(t *testing.T, p *Probe, want int) {
	t.Helper()
	awaitSuccess(t, func(context.Context) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.lists[len(p.lists)-1].listVoters()) == want
	})
}

// The probe follows a cluster that grows and shrinks. No write fails, because the
// client leaves members before they are removed.
func TestProbeFollowsTheMembers(t *testing.T) {
	cluster := etcdtest.Start(t, 1, etcdtest.Options{})
	client := cluster.Client(t)
	p, err := Start(t.Context(), Config{Etcd: clientv3.Config{Endpoints: client.Endpoints(), Logger: zap.NewNop()}, Timeout: waitTime})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		m := cluster.AddLearner(t)
		awaitSuccess(t, func(ctx context.Context) bool {
			_, err := client.MemberPromote(ctx, m.ID())
			return err == nil
		})
		awaitVoters(t, p, 2+i)
	}
	if got := len(p.writer.Endpoints()); got != 3 {
		t.Errorf("the client writes through %d members, not 3", got)
	}
	p.Avoid("etcd-1", "etcd-2")
	if got := p.writer.Endpoints(); !slices.Equal(got, client.Endpoints()) {
		t.Errorf("the client writes through %v", got)
	}
	for i, m := range cluster.Members[1:] {
		awaitSuccess(t, func(ctx context.Context) bool {
			_, err := client.MemberRemove(ctx, m.ID())
			return err == nil
		})
		awaitVoters(t, p, 2-i)
		m.Stop()
	}
	lost, err := p.LostKeys(t.Context())
	r, stopErr := p.Stop()
	if err != nil || stopErr != nil || len(lost) > 0 {
		t.Errorf("lost %v, %v, %v", lost, err, stopErr)
	}
	if r.Writes == 0 || r.Failed > 0 {
		t.Errorf("%d of %d writes failed: %v", r.Failed, r.Writes, r.Errors)
	}
	if got := r.Sizes(); got != "1→2→3→2→1" {
		t.Errorf("voters %s", got)
	}
	if len(r.Members) != 3 || r.LeaderChanges != 0 {
		t.Errorf("members %v, %d leader changes", r.Members, r.LeaderChanges)
	}
}

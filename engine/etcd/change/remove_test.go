package change

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/event"
)

// countingEtcd is a cluster whose leader on host "a" has lost the member on host "b". The leader counts failed messages once
// its last connection is closed.
type countingEtcd struct {
	fakeEtcd

	closed    time.Time // when the last connection is closed
	err       error     // of each scrape after errAt
	errAt     time.Time
	back      time.Time // when the lost member is healthy again; zero: never
	removedAt time.Time
}

func (e *countingEtcd) FailedMessages(_ context.Context, host, member string) (uint64, error) {
	if host != "a" || member != "2" {
		return 0, errors.New("asked another member")
	}
	if e.err != nil && !time.Now().Before(e.errAt) {
		return 0, e.err
	}
	return 3 + uint64(max(time.Since(e.closed), 0)/(200*time.Millisecond)), nil
}

func (e *countingEtcd) Members(context.Context, ...string) etcd.MemberList {
	isBack := !e.back.IsZero() && time.Now().After(e.back)
	return etcd.MemberList{Members: []membership.Member{
		{ID: "1", Name: "a", Host: "a", Healthy: true, Leader: true},
		{ID: "2", Name: "b", Healthy: isBack},
		{ID: "3", Name: "c", Host: "c", Healthy: true},
	}}
}

func (e *countingEtcd) RemoveMember(context.Context, string) error {
	e.removedAt = time.Now()
	return nil
}

// TestRemovalWaitsForConnections: a dead member is removed only after the leader has closed its connections to it, because
// etcd commits nothing while it waits for a write to one of them. Without metrics, or after a minute, it is removed anyway.
// A member that is back by then is not removed without a new look at the cluster.
func TestRemovalWaitsForConnections(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		closed, back, errAt  time.Duration
		err                  error
		soonest, latest      time.Duration // of the removal; 0: there is none
		message              string
		healthy, otherLeader bool
		hostAnswers          bool
	}{
		"closed after 20 s":  {closed: 20 * time.Second, soonest: 20 * time.Second, latest: 23 * time.Second, message: "waited 22s until the leader had no connection to it"},
		"closed long ago":    {closed: -time.Hour, soonest: time.Second, latest: 3 * time.Second},
		"never closed":       {closed: time.Hour, soonest: time.Minute, latest: 63 * time.Second, message: "the leader still had a connection to it after"},
		"no metrics":         {closed: time.Hour, err: errors.New("404"), latest: time.Millisecond},
		"metrics fail later": {closed: time.Hour, err: errors.New("404"), errAt: 10 * time.Second, soonest: 10 * time.Second, latest: 11 * time.Second, message: "waited 10s; then the metrics of the leader could not be read: 404"},
		"back, no metrics":   {closed: time.Hour, err: errors.New("404"), errAt: 10 * time.Second, back: 5 * time.Second, message: nothingDone},
		"it is back":         {closed: 20 * time.Second, back: 10 * time.Second, message: nothingDone},
		"its host answers":   {closed: time.Hour, hostAnswers: true, latest: time.Millisecond},
		"it answers":         {closed: time.Hour, healthy: true, latest: time.Millisecond},
		"it leads by itself": {closed: time.Hour, otherLeader: true, latest: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				cluster := &countingEtcd{closed: began.Add(x.closed), err: x.err, errAt: began.Add(x.errAt)}
				if x.back > 0 {
					cluster.back = began.Add(x.back)
				}
				r := newFakeRun(&fakeHosts{data: []string{"a", "c"}}, &cluster.fakeEtcd)
				r.Etcd, r.Members = cluster, []engine.Host{{Name: "a"}, {Name: "c"}} // the host of the dead member is lost
				r.Named, r.saved = []string{"b"}, true
				s, err := r.Observe(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				step, err := membership.Next(s)
				if err != nil || step.Action != membership.Remove {
					t.Fatal(step, err)
				}
				if x.hostAnswers {
					r.held[step.Host] = began
				}
				if x.back > 0 {
					r.Named, r.names = nil, nil // nobody has said that it is dead
				}
				r.members[1].Healthy, r.members[0].Leader = x.healthy, !x.otherLeader
				var done []string
				told := 0
				r.Hook = &fakeHook{done: &done}
				r.Emit = func(e event.Event) error {
					if e.Type == event.StepProgress && e.Message == "waits until the leader has no connection to it, at most 1m" {
						told++
					}
					return nil
				}
				message, err := actions{r}.removeMember(t.Context(), step)
				if removed := !cluster.removedAt.IsZero(); (len(done) > 0) != removed {
					t.Errorf("removed: %t, and the hook is marked: %v", removed, done)
				}
				if waits := time.Since(began) > 5*time.Second; told > 1 || waits != (told == 1) {
					t.Errorf("the wait of %s is told %d times", time.Since(began), told)
				}
				if err != nil || !strings.HasPrefix(message, x.message) || x.message == "" && message != "" {
					t.Errorf("%q, %v", message, err)
				}
				took := cluster.removedAt.Sub(began)
				if removed := !cluster.removedAt.IsZero(); removed != (x.latest > 0) || removed && (took < x.soonest || took > x.latest) {
					t.Errorf("removed: %t, after %s", removed, took)
				}
			})
		})
	}
}

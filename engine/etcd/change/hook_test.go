package change

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
)

// fakeHook is a hook in memory. It notes when it is marked and run.
type fakeHook struct {
	due  bool
	fail error
	done *[]string
}

func (h *fakeHook) IsDue() (bool, error) { return h.due, nil }

func (h *fakeHook) MarkDue() error {
	h.due = true
	*h.done = append(*h.done, "mark")
	return h.fail
}

func (h *fakeHook) RunCommand(context.Context) error {
	if h.fail == nil {
		h.due = false
	}
	*h.done = append(*h.done, "hook")
	return h.fail
}

// TestHookIsRemembered checks that a change of the voters is not begun before the hook is remembered, and that a failed hook fails the run.
func TestHookIsRemembered(t *testing.T) {
	t.Parallel()
	var done []string
	hosts, cluster := &fakeHosts{}, &fakeEtcd{members: []membership.Member{
		{ID: "1", Name: "a", Host: "a", Healthy: true, Leader: true}, {ID: "2", Name: "b", Host: "b", Healthy: true, Learner: true, CaughtUp: true},
	}}
	r := newFakeRun(hosts, cluster)
	h := &fakeHook{done: &done, fail: errors.New("the disk is full")}
	r.Hook, r.Emit, r.held["b"] = h, func(engine.Event) error { return nil }, time.Now()
	promote := membership.MemberStep{Action: membership.Promote, Host: "b", Member: "2"}
	if _, err := r.carryOut(t.Context(), promote); !errors.Is(err, h.fail) || cluster.changes != 0 {
		t.Errorf("%v, %d changes", err, cluster.changes)
	}
	h.fail = nil
	if _, err := r.carryOut(t.Context(), promote); err != nil || cluster.changes != 1 || !h.due {
		t.Errorf("%v, %d changes, due %t", err, cluster.changes, h.due)
	}
	cluster.members[1].Learner = false
	h.fail = errors.New("exit status 3")
	if err := r.Apply(t.Context()); !errors.Is(err, h.fail) || !h.due {
		t.Errorf("%v, due %t", err, h.due)
	}
	h.fail = nil
	if err := r.Apply(t.Context()); err != nil || h.due {
		t.Errorf("%v, due %t", err, h.due)
	}
	if want := []string{"mark", "mark", "hook", "hook"}; !slices.Equal(done, want) {
		t.Errorf("%q", done)
	}
}

package change

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/event"
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
	hosts, cluster := &fakeHosts{data: []string{"a", "b"}}, &fakeEtcd{members: []membership.Member{
		{ID: "1", Name: "a", Host: "a", Healthy: true, Leader: true}, {ID: "2", Name: "b", Host: "b", Healthy: true, Learner: true, CaughtUp: true},
	}}
	r := newFakeRun(hosts, cluster)
	h := &fakeHook{done: &done, fail: errors.New("the disk is full")}
	r.Hook, r.Emit, r.held["b"] = h, func(event.Event) error { return nil }, time.Now()
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

// recordingHosts are hosts of which one has a record.
type recordingHosts struct {
	fakeHosts
	host   string
	record membership.Record
	done   *[]string
}

// Run answers probes, and removes the record.
func (f *recordingHosts) Run(ctx context.Context, h engine.Host, script Script) (engine.Output, error) {
	switch {
	case script.Purpose == ProbeHost && h.Name == f.host && f.record != membership.NoRecord:
		return engine.Output{Stdout: "running\ndata\nrecord " + string(f.record) + "\n"}, nil
	case script.Purpose == ProbeHost:
		return engine.Output{Stdout: "running\ndata\n"}, nil
	case h.Name == f.host && (script.Purpose == EndChange || script.Purpose == SetDataAside):
		f.record = membership.NoRecord
		*f.done = append(*f.done, "end")
	}
	return f.fakeHosts.Run(ctx, h, script)
}

// TestAnotherBastionRunsTheHook checks that the record of a change on a host tells another bastion that the hook may be due. It runs once,
// before the record is removed.
func TestAnotherBastionRunsTheHook(t *testing.T) {
	t.Parallel()
	a := membership.Member{ID: "1", Name: "a", Host: "a", Healthy: true, Leader: true}
	b := membership.Member{ID: "2", Name: "b", Host: "b", Healthy: true}
	learner := b
	learner.Learner, learner.CaughtUp = true, true
	for _, x := range []struct {
		record  membership.Record
		members []membership.Member
		want    string
	}{
		{membership.Adding, []membership.Member{a, b}, "hook end"},
		{membership.Creating, []membership.Member{a, b}, "hook end"},
		{membership.Restoring, []membership.Member{a, b}, "hook end"},
		{membership.Removing, []membership.Member{a}, "hook end"},
		{membership.Removing, []membership.Member{a, b}, ""},
		{membership.Adding, []membership.Member{a, learner}, ""}, // it does not vote yet
		{membership.NoRecord, []membership.Member{a, b}, ""},
	} {
		var done []string
		hosts := &recordingHosts{host: "b", record: x.record, done: &done}
		r := newFakeRun(&hosts.fakeHosts, &fakeEtcd{members: x.members})
		r.Hosts, r.Hook, r.Emit = hosts, &fakeHook{done: &done}, func(event.Event) error { return nil }
		r.Members[1].Retired = x.record == membership.Removing
		s, err := r.Observe(t.Context())
		if err != nil || s.HookDue != (x.want != "") {
			t.Errorf("%s, %d members: due %t, %v", x.record, len(x.members), s.HookDue, err)
		}
		if x.want == "" {
			continue
		}
		err = r.Apply(t.Context())
		if got := strings.Join(done, " "); got != x.want || err != nil {
			t.Errorf("%s, %d members: %q, want %q; %v", x.record, len(x.members), got, x.want, err)
		}
	}
}

package membership_test

import (
	"fmt"
	"slices"
	"testing"

	"holdfast/engine/etcd/carotation"
	"holdfast/engine/etcd/membership"
)

// TestHookComesFirst checks that clients are told of each change of the voters before the next one, also of one that an earlier run made.
func TestHookComesFirst(t *testing.T) {
	t.Parallel()
	w := newTrustWorld(1, 2, true)
	s := w.state(carotation.Wanted{Issuer: "old"})
	s.HasHook, s.HookDue = true, true
	f := membership.Plan(s)
	due := true
	var list []string
	for _, step := range f.Steps {
		list = append(list, fmt.Sprint(step.Action, " ", step.Host))
		switch {
		case step.Action == membership.RunHook && !due:
			t.Errorf("a hook for nothing: %q", list)
		case step.Action != membership.RunHook && due:
			t.Errorf("the clients are not told: %q", list)
		}
		due = step.Action == membership.Promote
	}
	if due || f.Refusal != nil || len(list) < 8 || slices.Index(list, "promote h2") < 0 {
		t.Errorf("%q, %v", list, f.Refusal)
	}
	s.HasHook, s.HookDue = false, false
	if f := membership.Plan(s); slices.ContainsFunc(f.Steps, func(p membership.PlannedStep) bool { return p.Action == membership.RunHook }) {
		t.Errorf("a hook although there is none: %+v", f.Steps)
	}
}

// TestHookWaitsForAQuorum checks that nothing is told while the voters are not known.
func TestHookWaitsForAQuorum(t *testing.T) {
	t.Parallel()
	s := newTrustWorld(3, 0, false).state(carotation.Wanted{Issuer: "old"})
	s.HasHook, s.HookDue = true, true
	s.Members[0].Healthy, s.Members[1].Healthy = false, false
	if step, err := membership.Next(s); err == nil {
		t.Errorf("%+v", step)
	}
	s.Members[1].Healthy = true
	if step, err := membership.Next(s); err != nil || step.Action != membership.RunHook {
		t.Errorf("%+v, %v", step, err)
	}
}

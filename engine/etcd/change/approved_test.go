package change

import (
	"testing"

	"holdfast/engine/etcd/membership"
)

// TestOnlyApprovedSteps: a step that adds or removes a member is only carried out if a person saw it in the plan; one that
// follows from it needs no approval of its own.
func TestOnlyApprovedSteps(t *testing.T) {
	t.Parallel()
	r := &Run{}
	r.Prepare()
	remove := membership.MemberStep{Action: membership.Remove, Host: "a", Member: "1"}
	planned := remove
	planned.Reason = "its voter is to go"
	r.Accept(membership.Forecast{Steps: []membership.PlannedStep{{MemberStep: planned}, {MemberStep: membership.MemberStep{Action: membership.AddLearner, Host: "b"}}}})
	for _, c := range []struct {
		step membership.MemberStep
		want bool
	}{
		{remove, true},
		{membership.MemberStep{Action: membership.Remove, Host: "a", Member: "2"}, false}, // another member, which has been added there since
		{membership.MemberStep{Action: membership.Remove, Host: "c", Member: "3"}, false},
		{membership.MemberStep{Action: membership.AddLearner, Host: "b"}, true},
		{membership.MemberStep{Action: membership.AddLearner, Host: "c"}, false},
		{membership.MemberStep{Action: membership.Create, Host: "c"}, false},
		{membership.MemberStep{Action: membership.Promote, Host: "b", Member: "4"}, true},
		{membership.MemberStep{Action: membership.Await, Host: "b", Member: "4"}, true},
	} {
		if got := r.mayDo(c.step); got != c.want {
			t.Errorf("%+v: %t", c.step, got)
		}
	}
	r.failed["b"] = "it did not catch up"
	if !r.mayDo(membership.MemberStep{Action: membership.Remove, Host: "b", Member: "4"}) {
		t.Error("the learner that the run has added is not taken back")
	}
}

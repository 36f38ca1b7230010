package etcd

import (
	"strings"
	"testing"

	"holdfast/engine/etcdfacts"
)

// TestSuccessor checks that the healthy voter that has applied most becomes the
// leader. A member that is not healthy, a learner, and a member on an unknown
// host cannot lead, and the error has the reasons.
func TestSuccessor(t *testing.T) {
	facts := etcdfacts.ClusterFacts{Members: []etcdfacts.Member{
		{Name: "a", Host: "h1", Healthy: true, Leader: true, RaftIndex: 90},
		{Name: "b", Host: "h2", Healthy: true, RaftIndex: 80},
		{Name: "c", Host: "h3", Healthy: true, RaftIndex: 85},
		{Name: "d", Host: "h4", Problem: "it is 7 entries behind", RaftIndex: 99},
		{Name: "e", Healthy: true, RaftIndex: 99},
		{Name: "f", Host: "h5", Learner: true, Healthy: true, RaftIndex: 99},
	}}
	if to, err := chooseSuccessor(facts, "h1"); err != nil || to.Name != "c" {
		t.Errorf("%s, %v", to.Name, err)
	}
	facts.Members = append(facts.Members[:1:1], facts.Members[3:]...)
	_, err := chooseSuccessor(facts, "h1")
	if err == nil {
		t.Fatal("found one")
	}
	for _, part := range []string{"no other healthy voter", "d on h4 is not healthy: it is 7 entries behind", "e is on no host"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
}

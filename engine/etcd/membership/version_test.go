package membership_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/engine/etcd/membership"
)

// TestVersionOfNewMember: a host gets a member if its etcd has the minor version of the cluster or the next one. For every pair of minor
// versions, the plan has the versions, or a refusal with the arithmetic.
func TestVersionOfNewMember(t *testing.T) {
	t.Parallel()
	for runs := range 12 {
		for has := range 12 {
			s := stateOf("hhf")
			s.Version, s.Hosts[2].Etcd = fmt.Sprintf("3.%d.0", runs), fmt.Sprintf("3.%d.7", has)
			f := membership.Plan(s)
			fits := has == runs || has == runs+1
			text := fmt.Sprintf("its etcd is 3.%d.7, and the cluster is at 3.%d: ", has, runs)
			switch {
			case fits && (f.Refusal != nil || f.Steps[0].Action != membership.AddLearner || f.Steps[0].Reason != fmt.Sprintf("its etcd is 3.%d.7, the cluster is at 3.%d.0", has, runs)):
				t.Errorf("etcd 3.%d in a cluster at 3.%d: %+v", has, runs, f)
			case !fits && (f.Refusal == nil || f.Refusal.Kind != membership.HostNotReady || len(f.Steps) > 0 || !strings.Contains(f.Refusal.Text, text)):
				t.Errorf("etcd 3.%d in a cluster at 3.%d: %+v", has, runs, f)
			}
		}
	}
	for _, x := range []struct {
		has, runs string
		any       bool
		fits      bool
	}{
		{"", "3.6.0", false, true}, {"3.4.30", "", false, true}, {"4.0.0", "3.6.0", false, false}, {"3.8.0", "3.6.0", true, true}, {"3.5.20-rc.0", "3.5.16", false, true},
	} {
		s := stateOf("hhf")
		s.Hosts[2].Etcd, s.Version, s.AnyVersion = x.has, x.runs, x.any
		if f := membership.Plan(s); (f.Refusal == nil) != x.fits {
			t.Errorf("%+v: %+v", x, f)
		}
	}
	fresh := stateOf("fff")
	fresh.Hosts[0].Etcd, fresh.Hosts[1].Etcd, fresh.Hosts[2].Etcd = "3.6.4", "3.5.16", "3.6.4"
	if f := membership.Plan(fresh); f.Refusal == nil || !strings.Contains(f.Refusal.Text, "h2: its etcd is 3.5.16, and the cluster is at 3.6: ") {
		t.Errorf("the plan of a new cluster hides that one of its hosts has an older etcd: %+v", f)
	}
	one := stateOf("hff") // the other one alone would make the number of voters even
	one.Version, one.Hosts[1].Etcd, one.Hosts[2].Etcd = "3.6.0", "3.5.16", "3.6.4"
	if f := membership.Plan(one); f.Refusal == nil || len(f.Steps) > 0 || !strings.Contains(f.Refusal.Text, "an older etcd does not start there") {
		t.Errorf("%+v", f)
	}
}

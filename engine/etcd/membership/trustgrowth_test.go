package membership_test

import (
	"fmt"
	"slices"
	"testing"

	"holdfast/engine/etcd/carotation"
	"holdfast/engine/etcd/membership"
)

// TestClusterGrowsBeforeItRestarts: the only voter trusts a CA too many, and cannot restart without an outage. Members are added first;
// then it can. While it does not trust the new CA yet, no member with its certificates can be added.
func TestClusterGrowsBeforeItRestarts(t *testing.T) {
	t.Parallel()
	for _, trusted := range []cas{oldCA | newCA, oldCA} {
		w := newTrustWorld(1, 2, false)
		w.hosts[0].file, w.hosts[0].loaded, w.hosts[0].issuer = trusted, trusted, max(trusted&newCA, oldCA)
		f := membership.Plan(w.state(carotation.Wanted{Issuer: "new"}))
		var list []string
		for _, step := range f.Steps {
			list = append(list, fmt.Sprint(step.Action, " ", step.Host))
		}
		if trusted == oldCA {
			if len(list) > 0 || f.Refusal == nil || f.Refusal.Kind != membership.NoMargin {
				t.Errorf("%q, %v", list, f.Refusal)
			}
			continue
		}
		promoted, dropped := slices.Index(list, "promote h2"), slices.Index(list, "drop CA h0")
		if f.Refusal != nil || promoted < 0 || dropped < promoted || list[0] != "issue certificates h1" {
			t.Errorf("%q, %v", list, f.Refusal)
		}
	}
}

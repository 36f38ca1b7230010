package engine_test

import (
	"reflect"
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
)

// The verdict on two parts has every finding of both parts once.
func TestVerdictOnTwoPartsNamesAllOnce(t *testing.T) {
	first := engine.NewVerdict(engine.Findings{
		Work: []string{"a", "b"}, Drift: []string{"a"},
		UnhealthyClusters: []etcdfacts.UnhealthyCluster{{Cluster: "main"}, {Cluster: "other"}},
	})
	second := engine.NewVerdict(engine.Findings{
		Work: []string{"b", "c"}, Refusals: []string{"no"},
		UnhealthyClusters: []etcdfacts.UnhealthyCluster{{Cluster: "main"}, {Cluster: "third"}},
	})
	both := first.And(second)
	want := engine.Findings{
		Work: []string{"a", "b", "c"}, Drift: []string{"a"}, Refusals: []string{"no"},
		UnhealthyClusters: []etcdfacts.UnhealthyCluster{{Cluster: "main"}, {Cluster: "other"}, {Cluster: "third"}},
	}
	if !reflect.DeepEqual(both.Findings, want) {
		t.Errorf("got %+v\nwant %+v", both.Findings, want)
	}
	if both.Exit != engine.ExitFailed || both.Complete {
		t.Errorf("exit %d, complete %t", both.Exit, both.Complete)
	}
}

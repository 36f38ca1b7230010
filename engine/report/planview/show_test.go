package planview_test

import (
	"bytes"
	"testing"

	"holdfast/engine"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/report/termtext"
)

func TestWritePlan(t *testing.T) {
	refused := reporttest.ExamplePlan()
	refused.Refusals, refused.Lanes, refused.Batches = []string{"etcd cluster main: member etcd-1 is not healthy: no answer in time"}, nil, nil
	for name, c := range map[string]struct {
		plan    engine.Plan
		verbose bool
	}{
		"plan": {reporttest.ExamplePlan(), false}, "plan-verbose": {reporttest.ExamplePlan(), true}, "plan-refused": {refused, false},
		"plan-nothing": {engine.Plan{Total: 5, Matching: []string{"a", "b", "c", "d", "e"}}, false},
	} {
		var b bytes.Buffer
		if err := planview.Write(&b, c.plan, termtext.Style{}, c.verbose); err != nil {
			t.Fatal(err)
		}
		reporttest.CompareGolden(t, name, b.String())
	}
}

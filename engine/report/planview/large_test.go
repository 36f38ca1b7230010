package planview_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"holdfast/engine"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/report/termtext"
)

// TestWriteLargePlan checks that the plan of a large site is readable.
func TestWriteLargePlan(t *testing.T) {
	var b bytes.Buffer
	if err := planview.Write(&b, reporttest.LargePlan(), termtext.Style{}, false); err != nil {
		t.Fatal(err)
	}
	reporttest.CompareGolden(t, "plan-large", b.String())
}

// BenchmarkWriteConfigPlan writes a plan of many hosts with many changes each.
func BenchmarkWriteConfigPlan(b *testing.B) {
	var p engine.Plan
	for i := range 500 {
		p.Hosts = append(p.Hosts, reporttest.HostWithChanges(fmt.Sprintf("worker-%03d", i), reporttest.ReloadCrio, reporttest.InDirectory("create", "/etc/containers/registries.d", 500)...))
	}
	for b.Loop() {
		if err := planview.Write(io.Discard, p, termtext.Style{}, false); err != nil {
			b.Fatal(err)
		}
	}
}

package report_test

import (
	"fmt"
	"io"
	"testing"

	"holdfast/engine"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/report/termtext"
)

// BenchmarkWritePlan writes a plan for 10,000 alike hosts.
func BenchmarkWritePlan(b *testing.B) {
	p := engine.Plan{}
	for i := range 10_000 {
		hp := reporttest.OSPlan(fmt.Sprintf("worker-%05d", i), "worker", "", "")
		p.Hosts = append(p.Hosts, hp)
		p.Batches = append(p.Batches, engine.Batch{Pools: []string{"worker"}, Hosts: []string{hp.Host}})
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := planview.Write(io.Discard, p, termtext.Style{}, false); err != nil {
			b.Fatal(err)
		}
	}
}

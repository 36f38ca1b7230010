package planview_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/report/termtext"
)

// TestWriteRollout checks that the plan shows canaries, soaks, gates, windows,
// rollbacks, and an unfinished roll-out.
func TestWriteRollout(t *testing.T) {
	windowsOnly := reporttest.RollingPlan()
	windowsOnly.Hosts, windowsOnly.Lanes = windowsOnly.Hosts[11:], windowsOnly.Lanes[11:]
	windowsOnly.Batches, windowsOnly.Start, windowsOnly.Play, windowsOnly.Excluded = nil, nil, "", windowsOnly.Excluded[:3]
	soaking := reporttest.RollingPlan()
	soaking.Batches, soaking.Start = soaking.Batches[1:], nil
	soaking.Batches[0].Soak = engine.Duration(4*time.Minute + 30*time.Second)
	unfinished := reporttest.RollingPlan()
	unfinished.Lanes, unfinished.Batches, unfinished.Start, unfinished.Play = nil, nil, nil, ""
	for i := range 3 {
		unfinished.Unfinished = append(unfinished.Unfinished, engine.UnfinishedHost{Host: fmt.Sprintf("worker-%02d", i+1), Reason: "runs ffe304ca31ef, and not bc30253b4147 of run 20261120-220000-aa11c35e7f90d284", Target: strings.Repeat("bc30253b41475566", 4)})
	}
	unfinished.Unfinished = append(unfinished.Unfinished, engine.UnfinishedHost{Host: "gpu-0", Reason: "is not known to run bc30253b4147 of run 20261120-220000-aa11c35e7f90d284"})
	for i := range 8 {
		unfinished.RecordedOn = append(unfinished.RecordedOn, fmt.Sprintf("worker-%02d", i+4))
	}
	canaries := engine.Plan{}
	for i := range 9 {
		name := fmt.Sprintf("worker-%d", i)
		canaries.Hosts = append(canaries.Hosts, reporttest.OSPlan(name, "worker", "", ""))
		canaries.Batches = append(canaries.Batches, engine.Batch{Pools: []string{"worker"}, Hosts: []string{name}})
		if i < 4 {
			canaries.Batches[i].Canaries = []string{"worker"}
		}
	}
	canaries.Batches[4].Soak = engine.Duration(90 * time.Minute)
	canaries.Hosts = append(canaries.Hosts, reporttest.OSPlan("edge-0", "edge", "", ""), reporttest.OSPlan("edge-1", "edge", "", ""))
	canaries.Batches = append(canaries.Batches, engine.Batch{Pools: []string{"edge", "worker"}, Hosts: []string{"edge-0", "worker-9"}, Canaries: []string{"edge"}})
	canaries.Hosts = append(canaries.Hosts, reporttest.OSPlan("worker-9", "worker", "", ""))
	for name, c := range map[string]struct {
		plan    engine.Plan
		verbose bool
	}{
		"rollout-canaries": {canaries, false},
		"rollout":          {reporttest.RollingPlan(), false}, "rollout-verbose": {reporttest.RollingPlan(), true}, "rollout-window": {windowsOnly, false},
		"rollout-soaking": {soaking, false}, "rollout-unfinished": {unfinished, false},
	} {
		var b bytes.Buffer
		if err := planview.Write(&b, c.plan, termtext.Style{}, c.verbose); err != nil {
			t.Fatal(err)
		}
		reporttest.CompareGolden(t, name, b.String())
	}
}

// TestManyUnfinished checks that unfinished hosts with the same reason are
// folded, and that a long list of reasons is cut.
func TestManyUnfinished(t *testing.T) {
	var p engine.Plan
	for i := range 500 {
		p.Unfinished = append(p.Unfinished, engine.UnfinishedHost{Host: fmt.Sprintf("worker-%03d", i), Reason: fmt.Sprintf("runs %012d, and not bc30253b4147 of run r", i%40)})
	}
	for verbose, want := range map[bool]string{false: "and 370 hosts more (--verbose shows all)", true: "(13 hosts): each runs 000000000019, and not bc30253b4147 of run r"} {
		var b bytes.Buffer
		if err := planview.Write(&b, p, termtext.Style{}, verbose); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); !strings.Contains(text, want) || !strings.Contains(text, "--continue-over-incomplete") {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

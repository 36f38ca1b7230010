package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/termtext"
)

func gateStep(name, on string, g engine.Gate) engine.Step {
	g.Name = name
	return engine.Step{Name: "gate " + name, On: on, Do: engine.Op{Gate: &g}, Timeout: engine.Duration(5 * time.Minute)}
}

// rollingPlan returns a plan with a canary, a soak, gates, a window and a rollback.
func rollingPlan() engine.Plan {
	p := engine.Plan{Schema: 1, Site: "berlin", Total: 20, Play: "upgrade the workers", Matching: []string{"etcd-0"}}
	ceph := gateStep("ceph", engine.Bastion, engine.Gate{Command: "ceph health | grep -q HEALTH_OK"})
	p.Start = []engine.Step{gateStep("no alerts", engine.Bastion, engine.Gate{PromQL: &engine.PromQLGate{URL: "http://prom.example:9090", Query: "absent(ALERTS)"}})}
	worker := func(i int) string {
		name := fmt.Sprintf("worker-%02d", i)
		hp := osPlan(name, "worker", "", "")
		hp.Rollback = []engine.Step{{Name: "roll back", On: name, Timeout: engine.Duration(2 * time.Minute)}, {Name: "wait for boot", On: name, Timeout: engine.Duration(20 * time.Minute)}}
		p.Hosts = append(p.Hosts, hp)
		p.Lanes = append(p.Lanes, engine.Lane{Hosts: []string{name}})
		return name
	}
	p.Batches = []engine.Batch{{Pools: []string{"worker"}, Hosts: []string{worker(1)}, Canaries: []string{"worker"}, Before: []engine.Step{ceph}}}
	for i := range 5 {
		p.Batches = append(p.Batches, engine.Batch{Pools: []string{"worker"}, Hosts: []string{worker(2*i + 2), worker(2*i + 3)}, After: []engine.Step{gateStep("console", engine.Bastion, engine.Gate{HTTP: &engine.HTTPGate{URL: "https://{pool}.example/healthz"}})}})
	}
	p.Batches[1].Soak = engine.Duration(10 * time.Minute)
	closed := "pool edge: outside its maintenance window for a batch of 30m (Sat 22:00-04:00 Europe/Berlin); the next may begin on Sat 2026-11-21 22:00 CET"
	for i := range 3 {
		name := fmt.Sprintf("edge-%d", i)
		hp := osPlan(name, "edge", "", "")
		if i < 2 {
			p.Lanes = append(p.Lanes, engine.Lane{Hosts: []string{name}})
		} else {
			hp.Stage = nil
		}
		p.Hosts = append(p.Hosts, hp)
		p.Excluded = append(p.Excluded, engine.Exclusion{Host: name, Kind: engine.Closed, Reason: closed})
	}
	p.Excluded = append(p.Excluded,
		engine.Exclusion{Host: "gpu-0", Kind: engine.Paused, Reason: "the inventory pauses pool gpu"},
		engine.Exclusion{Host: "gpu-1", Kind: engine.Paused, Reason: "the inventory pauses pool gpu"},
		engine.Exclusion{Host: "worker-12", Kind: engine.RolledBack, Reason: "it was rolled back from bc30253b4147, which failed there; give it another OS, or try again with --retry-rolled-back"},
		engine.Exclusion{Host: "worker-13", Kind: engine.Failed, Reason: "gate ceph: exit status 1"},
	)
	return p
}

// TestWriteRollout: the plan shows canaries, soaks, gates, windows, rollbacks, and an unfinished roll-out.
func TestWriteRollout(t *testing.T) {
	windowsOnly := rollingPlan()
	windowsOnly.Hosts, windowsOnly.Lanes = windowsOnly.Hosts[11:], windowsOnly.Lanes[11:]
	windowsOnly.Batches, windowsOnly.Start, windowsOnly.Play, windowsOnly.Excluded = nil, nil, "", windowsOnly.Excluded[:3]
	soaking := rollingPlan()
	soaking.Batches, soaking.Start = soaking.Batches[1:], nil
	soaking.Batches[0].Soak = engine.Duration(4*time.Minute + 30*time.Second)
	unfinished := rollingPlan()
	unfinished.Lanes, unfinished.Batches, unfinished.Start, unfinished.Play = nil, nil, nil, ""
	for i := range 3 {
		unfinished.Unfinished = append(unfinished.Unfinished, engine.UnfinishedHost{Host: fmt.Sprintf("worker-%02d", i+1), Reason: "runs ffe304ca31ef, and not bc30253b4147 of run 20261120-220000-aa11c35e7f90d284", Target: strings.Repeat("bc30253b41475566", 4)})
	}
	unfinished.Unfinished = append(unfinished.Unfinished, engine.UnfinishedHost{Host: "gpu-0", Reason: "is not known to run bc30253b4147 of run 20261120-220000-aa11c35e7f90d284"})
	canaries := engine.Plan{}
	for i := range 9 {
		name := fmt.Sprintf("worker-%d", i)
		canaries.Hosts = append(canaries.Hosts, osPlan(name, "worker", "", ""))
		canaries.Batches = append(canaries.Batches, engine.Batch{Pools: []string{"worker"}, Hosts: []string{name}})
		if i < 4 {
			canaries.Batches[i].Canaries = []string{"worker"}
		}
	}
	canaries.Batches[4].Soak = engine.Duration(90 * time.Minute)
	canaries.Hosts = append(canaries.Hosts, osPlan("edge-0", "edge", "", ""), osPlan("edge-1", "edge", "", ""))
	canaries.Batches = append(canaries.Batches, engine.Batch{Pools: []string{"edge", "worker"}, Hosts: []string{"edge-0", "worker-9"}, Canaries: []string{"edge"}})
	canaries.Hosts = append(canaries.Hosts, osPlan("worker-9", "worker", "", ""))
	for name, c := range map[string]struct {
		plan    engine.Plan
		verbose bool
	}{
		"rollout-canaries": {canaries, false},
		"rollout":          {rollingPlan(), false}, "rollout-verbose": {rollingPlan(), true}, "rollout-window": {windowsOnly, false},
		"rollout-soaking": {soaking, false}, "rollout-unfinished": {unfinished, false},
	} {
		var b bytes.Buffer
		if err := planview.Write(&b, c.plan, termtext.Style{}, c.verbose); err != nil {
			t.Fatal(err)
		}
		compareGolden(t, name, b.String())
	}
}

// TestManyUnfinished: unfinished hosts with the same reason are folded, and a long list of reasons is cut.
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

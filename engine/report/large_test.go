package report_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"holdfast/engine"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/termtext"
)

// largePlan returns a site of two etcd clusters and 480 workers, some of them unreachable, some staged.
func largePlan() engine.Plan {
	p := engine.Plan{Schema: 1, Site: "berlin", Total: 520}
	for _, cluster := range []string{"events", "main"} {
		var hosts []string
		for i := range 3 {
			name := fmt.Sprintf("%s-%d", cluster, i)
			hosts = append(hosts, name)
			p.Hosts = append(p.Hosts, osPlan(name, "etcd", cluster, fmt.Sprintf("rack-%c", 'a'+i)))
			p.Batches = append(p.Batches, engine.Batch{Pools: []string{"etcd"}, Hosts: []string{name}})
		}
		p.Before = append(p.Before, engine.Step{Name: "snapshot etcd", On: cluster, Do: engine.Op{Snapshot: &engine.Snapshot{Cluster: cluster}}})
		p.Lanes = append(p.Lanes, engine.Lane{Cluster: cluster, Hosts: hosts})
	}
	for i := range 480 {
		name := fmt.Sprintf("worker-%03d", i)
		hp := osPlan(name, "worker", "", "")
		if i < 8 {
			hp.Stage = nil
		} else {
			p.Lanes = append(p.Lanes, engine.Lane{Hosts: []string{name}})
		}
		p.Hosts = append(p.Hosts, hp)
		if i%20 == 0 {
			p.Batches = append(p.Batches, engine.Batch{Pools: []string{"worker"}})
		}
		last := &p.Batches[len(p.Batches)-1]
		last.Hosts = append(last.Hosts, name)
	}
	for i := range 30 {
		p.Excluded = append(p.Excluded, engine.Exclusion{Host: fmt.Sprintf("edge-%02d", i), Kind: engine.Unreachable, Reason: fmt.Sprintf("connect to 10.0.9.%d:22: no route to host", i)})
	}
	for i := range 3 {
		p.Excluded = append(p.Excluded, engine.Exclusion{Host: fmt.Sprintf("gpu-%d", i), Kind: engine.Blocked, Reason: "pool gpu comes after pool worker, where edge-00 is not updated"})
	}
	p.Excluded = append(p.Excluded, engine.Exclusion{Host: "gpu-3", Kind: engine.Held, Reason: "held by ann@bastion since 2026-11-21 07:00 UTC for \"fans\""})
	return p
}

// TestWriteLargePlan: the plan of a large site is readable.
func TestWriteLargePlan(t *testing.T) {
	var b bytes.Buffer
	if err := planview.Write(&b, largePlan(), termtext.Style{}, false); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "plan-large", b.String())
}

// BenchmarkWriteConfigPlan writes a plan of many hosts with many changes each.
func BenchmarkWriteConfigPlan(b *testing.B) {
	var p engine.Plan
	for i := range 500 {
		p.Hosts = append(p.Hosts, hostWithChanges(fmt.Sprintf("worker-%03d", i), reloadCrio, inDirectory("create", "/etc/containers/registries.d", 500)...))
	}
	for b.Loop() {
		if err := planview.Write(io.Discard, p, termtext.Style{}, false); err != nil {
			b.Fatal(err)
		}
	}
}

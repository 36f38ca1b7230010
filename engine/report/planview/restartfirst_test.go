package planview_test

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/report/termtext"
)

// hostThatRestarts returns a host that is to boot another OS, and whose services run from a deployment that this OS would remove.
func hostThatRestarts(host string, units ...string) engine.HostPlan {
	const rule = "built-in: a service that has survived a soft reboot restarts into the booted OS"
	hp := reporttest.OSPlan(host, "etcd", "main", "")
	for _, unit := range units {
		restart := engine.Action{Type: engine.RestartUnit, Unit: unit}
		hp.Changes = append(hp.Changes, engine.Change{Module: "survivors", Resource: "process of " + unit, Before: "an earlier deployment", After: "1.0", Rule: rule, Actions: []engine.Action{restart}})
	}
	hp.RestartsFirst, hp.Stage, hp.Rollback, hp.Reboot = true, nil, nil, nil
	hp.Sequence = []engine.Step{{Name: "hold", Do: engine.Op{TakeHold: &engine.TakeHold{}}}, {Name: "restart survivors", Do: engine.Op{RestartSurvivors: &engine.RestartSurvivors{Units: units}}}}
	return hp
}

// TestServicesRestartFirst: a plan says that a host only restarts services in its batch. It does not call the OS staged, nor the
// restart replaced by the reboot, and its totals and its forecast promise no reboot in that batch.
func TestServicesRestartFirst(t *testing.T) {
	batch := func(hosts ...string) engine.Batch { return engine.Batch{Pools: []string{"etcd"}, Hosts: hosts} }
	p := engine.Plan{
		Hosts:    []engine.HostPlan{hostThatRestarts("etcd-0", "etcd.service", "app.service"), hostThatRestarts("etcd-1", "app.service"), reporttest.OSPlan("etcd-2", "etcd", "main", "")},
		Batches:  []engine.Batch{batch("etcd-0", "etcd-2"), batch("etcd-1")},
		Forecast: &engine.Forecast{Replanned: []string{"etcd-0", "etcd-1"}},
	}
	var b strings.Builder
	if err := planview.Write(&b, p, termtext.Style{}, false); err != nil {
		t.Fatal(err)
	}
	reporttest.CompareGolden(t, "plan-restarts-first", b.String())
	b.Reset()
	p.Hosts, p.Batches, p.Forecast = p.Hosts[:1], []engine.Batch{batch("etcd-0")}, nil
	if err := planview.Write(&b, p, termtext.Style{}, false); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Contains(text, "staged already") || !strings.Contains(text, "1 host to change (1 reboot) in 1 batch, and 1 host again in a later one;") {
		t.Error(text)
	}
}

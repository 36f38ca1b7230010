package planview_test

import (
	"bytes"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/report/termtext"
)

// TestPlayShowsItsCommands checks that the plan of a play shows its commands
// without --verbose, so that nobody approves a command unseen.
func TestPlayShowsItsCommands(t *testing.T) {
	hp := reporttest.OSPlan("worker-01", "worker", "", "")
	run := func(name, what string) engine.Step {
		return engine.Step{Name: name, On: "worker-01", Do: engine.Op{Exec: &engine.Exec{Script: engine.NewScript("set -eu\n" + what), Display: what}}}
	}
	hp.Sequence = []engine.Step{
		run("mark", "touch /run/mark;\necho done"),
		{Name: "drain", On: "worker-01", Do: engine.Op{Command: &engine.Local{Command: "kubectl drain worker-01"}}},
		{Name: "finalize", On: "worker-01", Do: engine.Op{Exec: &engine.Exec{Script: engine.NewScript("set -eu\nfinalize")}}},
		reporttest.GateStep("ceph", "worker-01", engine.Gate{HostCommand: "ceph health"}),
		run("long", strings.Repeat("a long command ", 20)),
		run("systemctl restart a", "systemctl restart a"),
	}
	p := engine.Plan{Total: 1, Play: "night", Hosts: []engine.HostPlan{hp}, Batches: []engine.Batch{{Pools: []string{"worker"}, Hosts: []string{"worker-01"}}}}
	var b bytes.Buffer
	if err := planview.Write(&b, p, termtext.Style{}, false); err != nil {
		t.Fatal(err)
	}
	reporttest.CompareGolden(t, "plan-play", b.String())
}

package rollout_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/simulator"
)

// A gate that is asked once before a run is asked about its pool.
func TestGateBeforeRunKnowsItsPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := simulator.Fleet(3, 2)
		inv.Pools[1].Gates = []engine.Gate{{Name: "ready", HTTP: &engine.HTTPGate{URL: "http://ready/{pool}"}, When: []engine.GateWhen{engine.BeforeRun}}}
		b := newSite(inv).Bastion("run-1")
		var asked []string
		b.Answer = func(url string) (int, string) {
			asked = append(asked, url)
			return 200, ""
		}
		failOnErrors(t, checkEnd(applyRun(b), engine.ExitOK))
		if !slices.Equal(asked, []string{"http://ready/worker"}) {
			t.Errorf("asked %q", asked)
		}
	})
}

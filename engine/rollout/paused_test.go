package rollout_test

import (
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/simulator"
)

// A paused pool or host is not touched, and the run is not complete.
func TestPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := simulator.Fleet(3, 2)
		inv.Pools[1].Paused = true
		site := newSite(inv)
		end := applyRun(site.Bastion("run-1"))
		failOnErrors(t, checkEnd(end, engine.ExitRefused, "worker-0 is paused"), checkLaws(site), checkUpdated(site.Host("etcd-0")))
		for _, h := range []string{"worker-0", "worker-1"} {
			if st := site.Host(h).State(); st.Staged != "" {
				t.Errorf("%s is staged", h)
			}
			failOnErrors(t, checkUntouched(site.Host(h)))
		}
		if end.Complete || len(end.Pools) != 2 || !end.Pools[0].Complete || end.Pools[1].Counts[engine.PausedState] != 2 {
			t.Errorf("%+v", end.Pools)
		}
	})
}

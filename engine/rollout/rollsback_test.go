package rollout_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/hosttest"
	"holdfast/engine/rollout"
)

// An OS that fails on a host is left again, once: the host runs what it ran,
// is nobody's, and is not given that OS a second time.
func TestRollsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workers(2, func(p *engine.Pool) { p.OnFailure = engine.RollbackFailed }))
		site.Host("worker-0").Change(func(t *hosttest.Traits) { t.Bad = hosttest.V2 })
		for run := range 2 {
			end := apply(site.Bastion(fmt.Sprint("run-", run)))
			check(t, ended(end, engine.ExitFailed, "worker-0"), lawful(site), free(site.Host("worker-0")), untouched(site.Host("worker-1")))
			if st := site.Host("worker-0").State(); st.Booted != hosttest.V1 || !st.Well || len(st.Reboots) != 2 {
				t.Errorf("after run %d: %+v", run, st)
			}
		}
		again := apply(site.Bastion("run-3"), func(r *rollout.Run) { r.RetryRejected = true })
		check(t, ended(again, engine.ExitFailed, "worker-0"), lawful(site), heldFor(site.Host("worker-0"), "run-3"))
		if st := site.Host("worker-0").State(); st.Booted != hosttest.V2 || len(st.Reboots) != 3 {
			t.Errorf("it was tried again, and rolled back again: %+v", st)
		}
	})
}

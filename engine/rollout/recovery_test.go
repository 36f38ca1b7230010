package rollout_test

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/simulator"
)

// TestRecoveredFirst checks that hosts of a dead run are recovered before anything is staged.
func TestRecoveredFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(3, 1))
		first, second := site.Bastion("run-1"), site.Bastion("run-2")
		first.Watch = func(e event.Event) {
			if e.Step == "wait for boot" {
				first.Kill()
			}
		}
		applyRun(first, runSerially)
		time.Sleep(10 * time.Minute)
		for _, h := range site.Hosts() {
			if h.Hold() == nil {
				h.Reset() // the host loses the staged OS
			}
		}
		time.Sleep(10 * time.Minute)
		failOnErrors(t, checkEnd(applyRun(second, runSerially, successorOf(first)), engine.ExitOK), checkLaws(site))
		for _, e := range second.Events() {
			if e.Type == event.StepStarted {
				if e.Host != "etcd-1" || e.Step != "hold" {
					t.Errorf("the first step is %s of %s", e.Step, e.Host)
				}
				return
			}
		}
	})
}

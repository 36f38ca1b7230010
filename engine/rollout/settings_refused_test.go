package rollout_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/simulator"
)

// TestWriteRefused lets a host refuse a write. The host is then unchanged and
// not held. A drained host stays held, as after every failure.
func TestWriteRefused(t *testing.T) {
	full := func(t *simulator.Traits) { t.DiskFull = true }
	for word, demand := range map[string]hostCheck{"reload-2": checkFree, "restart-2": checkFree, "drain-reload-2": allOf(checkDrained, isHeldBy("run-1", "no space left"))} {
		t.Run(word, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := siteWanting(0, 2, word)
				h, b := site.Host("worker-0"), site.Bastion("run-1")
				h.Change(full)
				failOnErrors(t, checkEnd(applyRun(b), engine.ExitFailed, "worker-0: write: ", "no space left"), checkLaws(site), demand(h))
				if st := h.State(); st.Disk != "none-1" || st.Record != "none-1" {
					t.Errorf("%+v", st)
				}
				h.Change(func(t *simulator.Traits) { t.DiskFull = false })
				failOnErrors(t, checkEnd(applyRun(site.Bastion("run-2"), successorOf(b)), engine.ExitOK), checkSettings(site, 0))
			})
		})
	}
}

// A host that cannot undo a write stays held, also if the write failed for a reason for which an unchanged host is released.
func TestWriteHalfDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := siteWanting(0, 2, "restart-2")
		h, b := site.Host("worker-0"), site.Bastion("run-1")
		h.Change(func(t *simulator.Traits) { t.HalfDone = true })
		failOnErrors(t, checkEnd(applyRun(b), engine.ExitFailed, "worker-0: write: ", "could not be put back"), checkLaws(site), isHeldBy("run-1", "could not be put back")(h))
		h.Change(func(t *simulator.Traits) { t.HalfDone = false })
		failOnErrors(t, checkEnd(applyRun(site.Bastion("run-2"), successorOf(b)), engine.ExitOK), checkSettings(site, 0))
	})
}

// Non-disruptive changes run on at most as many hosts in parallel as the
// bastion gathers facts from.
func TestQuietForks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := siteWanting(0, 100, "reload-2")
		b := site.Bastion("run-1")
		b.Latency = func(simulator.Call) time.Duration { return time.Second }
		most, now := 0, 0
		b.Watch = func(e event.Event) {
			switch e.Type {
			case event.StepStarted:
				now++
			case event.StepEnded:
				now--
			}
			most = max(most, now)
		}
		failOnErrors(t, checkEnd(applyRun(b), engine.ExitOK), checkSettings(site, 0))
		if most > 64 {
			t.Errorf("%d hosts at once", most)
		}
	})
}

// An action that does not end fails at its timeout.
func TestActionHangs(t *testing.T) {
	for _, word := range []string{"reload-2", "drain-restart-2"} {
		synctest.Test(t, func(t *testing.T) {
			site := siteWanting(0, 2, word)
			changeAll(site, func(t *simulator.Traits) { t.ActHangs = true })
			b := site.Bastion("run-1")
			failOnErrors(t, checkEnd(applyRun(b), engine.ExitOK), checkSettings(site, 1))
			for _, e := range b.Events() {
				if f := e.Failure; f != nil && (f.Kind != "action" || time.Duration(e.Took) != 2*time.Minute) {
					t.Error(fmt.Errorf("%s: %w after %s", eventLabel(e), f, e.Took))
				}
			}
		})
	}
}

// If another member fails while a host is drained for the restart of a service,
// the restart does not happen.
func TestQuorumGoneDuringDrain(t *testing.T) {
	for _, word := range []string{"drain-restart-2", "drain-reload-2", "reboot-2"} {
		synctest.Test(t, func(t *testing.T) {
			inv := noOS(simulator.Fleet(3, 1))
			inv.Pools[0].Drain = inv.Pools[1].Drain
			s := failureWorld{Site: wantingOf(inv, word)}
			s.run = s.Bastion("run-1")
			s.doAtStep("etcd-1", "drain", func() { s.Host("etcd-2").StopEtcd() })
			failOnErrors(t, checkEnd(applyRun(s.run), engine.ExitFailed, "etcd-1: check quorum", "etcd-2 is not healthy"), checkLaws(s.Site))
			failOnErrors(t, allOf(checkDrained, isHeldBy("run-1", "etcd-2 is not healthy"))(s.Host("etcd-1")))
			if st := s.Host("etcd-1").State(); st.Effect != "none-1" || word != "reboot-2" && st.Writes > 0 {
				t.Errorf("%+v", st)
			}
			s.Host("etcd-2").StartEtcd()
			failOnErrors(t, checkEnd(applyRun(s.Bastion("run-2"), successorOf(s.run)), engine.ExitOK), checkLaws(s.Site))
		})
	}
}

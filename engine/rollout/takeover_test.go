package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// leaveBehind lets a run leave worker-0 held and drained, updated or not.
func leaveBehind(site *simulator.Site, updated bool) *simulator.Bastion {
	b, h := site.Bastion("run-1"), site.Host("worker-0")
	if updated {
		h.Change(func(t *simulator.Traits) { t.Missing = []string{"sshd.service"} })
	} else {
		failureWorld{site, b}.failCommand("drain")
	}
	applyRun(b, runSerially)
	h.Change(func(t *simulator.Traits) { t.Missing = nil })
	h.StartUnits()
	return b
}

// TestStoppedTakenOver presses Ctrl-C, after every event, in a run that adopts
// a drained host of a dead run. The host is held at every moment at which it is
// drained.
func TestStoppedTakenOver(t *testing.T) {
	for _, updated := range []bool{false, true} {
		inv := simulator.Fleet(0, 1)
		for n := 1; ; n++ {
			over := false
			failOnErrors(t, runInBubble(t, func() error {
				site := newSite(inv)
				first, second := leaveBehind(site, updated), site.Bastion("run-2")
				if err := errors.Join(checkDrained(site.Host("worker-0")), checkHeldFor(site.Host("worker-0"), "run-1")); err != nil {
					return err
				}
				end := applyRun(second, runSerially, successorOf(first), stopAtEvent(second, n))
				over = len(second.Events()) < n
				errs := []error{checkLaws(site)}
				if hold := site.Host("worker-0").Hold(); hold == nil {
					errs = append(errs, checkMatching(site.Host("worker-0")))
				} else {
					errs = append(errs, checkEnd(end, engine.ExitStopped, "stopped by the operator"))
				}
				errs = append(errs, checkEnd(applyRun(site.Bastion("run-3"), successorOf(first, second)), engine.ExitOK), checkMatching(site.Host("worker-0")))
				if err := errors.Join(errs...); err != nil {
					return fmt.Errorf("updated %v, stopped after event %d: %w\n%s", updated, n, err, runTranscript(second))
				}
				return nil
			}))
			if over {
				break
			}
		}
	}
}

// TestTakenOverAndRefused checks that a member of a dead run does not go down
// while another member is unhealthy. The host of the member stays held, because
// its state is unknown.
func TestTakenOverAndRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := simulator.Fleet(3, 0)
		inv.Pools[0].Drain = &engine.Drain{Command: "drain", Undo: "undrain"}
		site := newSite(inv)
		b := site.Bastion("run-1")
		failureWorld{site, b}.failCommand("drain")
		applyRun(b, runSerially)
		second := site.Bastion("run-2")
		failureWorld{site, second}.doAtStep("etcd-1", "check quorum", site.Host("etcd-2").StopEtcd)
		end := applyRun(second, runSerially, successorOf(b))
		failOnErrors(t, checkEnd(end, engine.ExitFailed, "etcd-1: check quorum"), checkLaws(site),
			checkHeldFor(site.Host("etcd-1"), "run-2", "etcd-2 is not healthy"), checkDrained(site.Host("etcd-1")))
	})
}

// TestStoppedSoon checks that the first Ctrl-C interrupts steps that only wait,
// and steps that run on the bastion.
func TestStoppedSoon(t *testing.T) {
	inventory := func(when engine.GateWhen) engine.Inventory {
		inv := simulator.Fleet(1, 1)
		inv.Clusters[0].AllowOutage = true
		addGate(1, "ready", when)(&inv)
		return inv
	}
	for _, c := range []struct {
		name, slow string
		inv        engine.Inventory
	}{
		{"gate before the batch", "ready", inventory(engine.BeforeBatch)},
		{"gate before the host", "ready", inventory(engine.BeforeHost)},
		{"drain", "drain", inventory("")},
		{"snapshot", "snapshot", inventory("")},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(c.inv)
				b := site.Bastion("run-1")
				b.Takes = func(x simulator.Command) time.Duration { return longIf(x.Text == c.slow) }
				b.Latency = func(x simulator.Call) time.Duration { return longIf(x.Verb == c.slow) }
				var pressed time.Time
				soft := stopAfterStart(b, c.slow, c.name, &pressed)
				end := applyRun(b, soft)
				if took := time.Since(pressed); pressed.IsZero() || took > 10*time.Second {
					t.Errorf("it ended %s after Ctrl-C\n%s", took, runTranscript(b))
				}
				failOnErrors(t, checkEnd(end, engine.ExitStopped), checkLaws(site), checkUntouched(site.Host("worker-0")))
			})
		})
	}
}

func longIf(b bool) time.Duration {
	if b {
		return 4 * time.Minute
	}
	return 0
}

// stopAfterStart presses Ctrl-C a minute after the start of a slow step.
func stopAfterStart(b *simulator.Bastion, slow, name string, pressed *time.Time) func(*rollout.Run) {
	soft, stop := context.WithCancel(context.Background())
	steps := map[string]string{"ready": "gate g", "drain": "drain", "snapshot": "snapshot etcd"}
	b.Watch = func(e event.Event) {
		if e.Type == event.StepStarted && e.Step == steps[slow] {
			time.AfterFunc(time.Minute, func() {
				*pressed = time.Now()
				stop()
			})
		}
	}
	return func(r *rollout.Run) { r.Soft = soft }
}

// TestHoldLost loses the reply to the taking of a hold twice: the run releases
// the hold.
func TestHoldLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(0, 2))
		b := site.Bastion("run-1")
		lost := 0
		b.Fault = func(c simulator.Call) simulator.Fault {
			if c.Verb == "hold" && lost < 2 {
				lost++
				return simulator.LostBack
			}
			return simulator.NoFault
		}
		failOnErrors(t, checkEnd(applyRun(b), engine.ExitFailed, "worker-0: hold: connection lost"), checkLaws(site), checkUntouched(site.Host("worker-0")))
	})
}

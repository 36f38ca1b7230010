package rollout_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
)

// interruptEvents returns the events about the operator's Ctrl-C.
func interruptEvents(events []event.Event) []event.Event {
	var list []event.Event
	for _, e := range events {
		if e.Type == event.Interrupted {
			list = append(list, e)
		}
	}
	return list
}

// TestInterruptedIsJournaled checks that each Ctrl-C is journaled at once,
// while the work continues, with the next step of the run.
func TestInterruptedIsJournaled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(3, func(*engine.Pool) {}))
		b := site.Bastion("run-1")
		hard, stopHard := context.WithCancel(context.Background())
		soft, stopSoft := context.WithCancel(hard)
		defer stopHard()
		b.Watch = func(e event.Event) {
			if e.Type == event.StepStarted && e.Step == "wait for boot" {
				time.AfterFunc(10*time.Second, stopSoft)
				time.AfterFunc(20*time.Second, stopHard)
			}
		}
		r := b.Run()
		r.Soft = soft
		failOnErrors(t, checkEnd(b.Apply(hard, r), engine.ExitStopped))
		var began event.Event
		for _, e := range b.Events() {
			if e.Type == event.StepStarted && e.Step == "wait for boot" {
				began = e
			}
			if e.Type == event.StepEnded && e.Step == "wait for boot" && len(interruptEvents(b.Events()[:e.Seq])) == 0 {
				t.Error("the step ended before it was told that it is cut short")
			}
		}
		got := interruptEvents(b.Events())
		if len(got) != 2 {
			t.Fatalf("%d interruptions: %+v", len(got), got)
		}
		for i, want := range []string{rollout.Stopping, rollout.StoppingAtOnce} {
			after := got[i].Time.Sub(began.Time)
			if got[i].Message != want || after != time.Duration(i+1)*10*time.Second {
				t.Errorf("%q after %s", got[i].Message, after)
			}
		}
		if last := b.Events()[len(b.Events())-1]; last.Type != event.RunEnded {
			t.Errorf("the run goes on after its end: %+v", last)
		}
	})
}

// TestInterruptedOnce checks that one Ctrl-C during a soak is one event, and
// that a run without a Ctrl-C has no such event.
func TestInterruptedOnce(t *testing.T) {
	for _, press := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			site := newSite(workerFleet(3, func(p *engine.Pool) {
				p.Canary = &engine.Canary{Hosts: engine.CountOrPercent{Count: 1}, Soak: engine.Duration(time.Hour)}
			}))
			b := site.Bastion("run-1")
			soft, stop := context.WithCancel(context.Background())
			defer stop()
			b.Watch = func(e event.Event) {
				if press && e.Type == event.StepStarted && e.Step == "soak" {
					time.AfterFunc(10*time.Minute, stop)
				}
			}
			end := applyRun(b, func(r *rollout.Run) { r.Soft = soft })
			got := interruptEvents(b.Events())
			if press && (end.Exit != engine.ExitStopped || len(got) != 1 || got[0].Message != rollout.Stopping) || !press && (end.Exit != engine.ExitOK || len(got) > 0) {
				t.Errorf("press %t: exit %d, %+v", press, end.Exit, got)
			}
		})
	}
}

package rollout_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
	"holdfast/engine/textutil"
)

// TestTheReasonOfAHoldIsShort checks that the length of the reason of a hold is
// limited, because a hold that is too long cannot be parsed.
func TestTheReasonOfAHoldIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(0, 1))
		site.Host("worker-0").Change(func(t *simulator.Traits) {
			for i := range 2000 {
				t.Failing = append(t.Failing, fmt.Sprintf("container-%d@payments-frontend.service", i))
			}
		})
		end := applyRun(site.Bastion("run-1"))
		hold := site.Host("worker-0").Hold()
		failOnErrors(t, checkEnd(end, engine.ExitFailed, "container-0@payments-frontend.service has failed"), checkHeldFor(site.Host("worker-0"), "run-1", "and 1992 more units"))
		if len(hold.Reason) > 1100 || len(findingsText(end)) > 1100 {
			t.Errorf("a reason of %d bytes, and one of %d", len(hold.Reason), len(findingsText(end)))
		}
	})
}

// TestALostHoldIsTyped checks that the event of a failed host tells whether the run still holds it: somebody has ended the hold, or
// has replaced it.
func TestALostHoldIsTyped(t *testing.T) {
	for name, c := range map[string]struct {
		hold *engine.Hold
		lost bool
		want event.HostOutcome
	}{
		"ours": {want: ""}, "gone": {lost: true, want: event.HoldLostOutcome}, "of bob": {hold: byBob(), lost: true, want: event.HoldLostOutcome},
	} {
		synctest.Test(t, func(t *testing.T) {
			site := newSite(simulator.Fleet(0, 1))
			site.Host("worker-0").Change(func(t *simulator.Traits) { t.Failing = []string{"app.service"} })
			b := site.Bastion("run-1")
			b.Watch = func(e event.Event) {
				if c.lost && e.Type == event.StepStarted && e.Step == "wait for units" {
					site.Host("worker-0").SetHold(c.hold)
				}
			}
			applyRun(b)
			failed := false
			for _, e := range b.Events() {
				if e.Type == event.HostFailed {
					failed = true
					if e.Outcome != c.want {
						t.Errorf("%s: outcome %q of %q, want %q", name, e.Outcome, e.Message, c.want)
					}
				}
			}
			if !failed {
				t.Errorf("%s: the host has not failed", name)
			}
		})
	}
}

// TestAHoldOfALongTaskIsShort checks that the reason and the step of a hold are
// short and have no secrets.
func TestAHoldOfALongTaskIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(noOS(simulator.Fleet(0, 1)))
		b := site.Bastion("run-1")
		command := "login --password s3cret \x1b[2J" + strings.Repeat("ä", 40000)
		b.Command = failCommand(command, "worker-0")
		var first string
		b.Watch = func(e event.Event) {
			if e.Type == event.StepStarted && e.Step == command {
				first = site.Host("worker-0").Hold().Reason
			}
		}
		applyRun(b, withPlays(aPlay(engine.Play{Name: "p", Tasks: []engine.Task{disruptiveTask(command)}})), func(r *rollout.Run) {
			r.Secrets = textutil.NewSecrets([]string{"s3cret"})
		})
		hold := site.Host("worker-0").Hold()
		for name, text := range map[string]string{"reason": hold.Reason, "step": hold.Step, "first reason": first} {
			if len(text) > 1100 || text == "" || strings.Contains(text, "s3cret") || textutil.Printable(text) != text {
				t.Errorf("the %s has %d bytes: %.60q", name, len(text), text)
			}
		}
	})
}

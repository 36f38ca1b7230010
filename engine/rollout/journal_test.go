package rollout_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/simulator"
)

// TestJournal lets the journal fail after some event. The run then does only
// the necessary work and reports the failure, and the next run finishes.
func TestJournal(t *testing.T) {
	eachPlay(t, func(t *testing.T, p playFixture) {
		events, _ := p.interruptionPoints(t)
		for _, e := range events {
			failOnErrors(t, runInBubble(t, func() error { return p.checkUnjournaled(e) }))
		}
	})
}

func (p playFixture) checkUnjournaled(first event.Event) error {
	site := p.site()
	b := site.Bastion("run-1")
	calls := -1
	b.Journal = func(e event.Event) error {
		if e.Seq < first.Seq {
			return nil
		}
		if calls < 0 {
			calls = len(b.Calls())
		}
		return errors.New("write journal: no space left on device")
	}
	end := applyRun(b, runSerially)
	errs := []error{checkLaws(site)}
	errs = append(errs, checkEnd(end, engine.ExitFailed, "write journal: no space left on device"))
	begun := openSteps(b)
	for _, c := range b.Calls()[calls:] {
		if p.brief && begun[c.Host] { // the step ran in parallel with the event that could not be journaled
			continue
		}
		if !slices.Contains([]string{"probe", "observe", "sample", "pace", "check hold", "fail hold", "release", "local"}, c.Verb) {
			errs = append(errs, fmt.Errorf("%+v although event %d was not journaled", c, first.Seq))
		}
	}
	errs = append(errs, checkEnd(applyRun(site.Bastion("run-2"), runSerially, successorOf(b)), engine.ExitOK), p.done(site))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w\n%s", eventLabel(first), err, runTranscript(b))
	}
	return nil
}

// openSteps names the hosts with a step that began and did not end, by the
// journal.
func openSteps(b *simulator.Bastion) map[string]bool {
	hosts := map[string]bool{}
	for _, e := range b.Events() {
		switch e.Type {
		case event.StepStarted:
			hosts[e.Host] = true
		case event.StepEnded:
			delete(hosts, e.Host)
		}
	}
	return hosts
}

// If the sink refuses the first event, the run does nothing.
func TestNoJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(1, 1))
		b := site.Bastion("run-1")
		b.Journal = func(event.Event) error { return errors.New("write journal: read-only file system") }
		failOnErrors(t, checkEnd(applyRun(b), engine.ExitFailed, "write journal: read-only file system", "nothing was touched"))
		if calls := b.Calls(); len(calls) > 0 {
			t.Errorf("it made calls: %v", calls)
		}
	})
}

package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// stopAtEvent presses Ctrl-C once the nth event is journaled.
func stopAtEvent(b *simulator.Bastion, n int) func(*rollout.Run) {
	soft, stop := context.WithCancel(context.Background())
	doAtEvent(b, n, stop)
	return func(r *rollout.Run) { r.Soft = soft }
}

// TestStopped presses Ctrl-C once, after every event. Every host is then
// completely updated or unchanged, and not held, and the next run completes. A
// host whose action failed has a record of the failure, and may stay held.
func TestStopped(t *testing.T) {
	eachPlay(t, func(t *testing.T, p playFixture) {
		events, _ := p.interruptionPoints(t)
		for _, e := range events {
			if err := runInBubble(t, func() error { return p.checkStopped(e) }); err != nil {
				t.Errorf("stopped %s: %v", eventLabel(e), err)
			}
		}
	})
}

func (p playFixture) checkStopped(e event.Event) error {
	site := p.site()
	b := site.Bastion("run-1")
	before := hostStates(site)
	end := applyRun(b, runSerially, stopAtEvent(b, e.Seq))
	errs := []error{checkLaws(site)}
	if p.done(site) != nil {
		errs = append(errs, checkEnd(end, engine.ExitStopped))
	}
	for _, h := range site.Hosts() {
		st := h.State()
		switch {
		case st.Failed != "" && h.Hold() != nil:
			errs = append(errs, checkHeldFor(h, "run-1"))
			if h.Hold().Step == "" {
				errs = append(errs, fmt.Errorf("%s is %s, and that does not say why", h.Name, h.Hold()))
			}
		case st.Failed == "" && checkMatching(h) != nil:
			errs = append(errs, checkUnchanged(h, before[h.Name]), checkFree(h))
		}
		if st.Staging {
			errs = append(errs, fmt.Errorf("%s is still staging", h.Name))
		}
	}
	errs = append(errs, checkAccounted(site, end), checkEnd(applyRun(site.Bastion("run-2"), successorOf(b)), engine.ExitOK), p.done(site))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w\n%s", err, runTranscript(b))
	}
	return nil
}

func hostStates(site *simulator.Site) map[string]simulator.State {
	all := map[string]simulator.State{}
	for _, h := range site.Hosts() {
		all[h.Name] = h.State()
	}
	return all
}

// checkUnchanged checks that the host is unchanged, except for a staged OS.
func checkUnchanged(h *simulator.Host, was simulator.State) error {
	is := h.State()
	is.Staged, is.Locked = was.Staged, was.Locked
	if fmt.Sprint(is) != fmt.Sprint(was) {
		return fmt.Errorf("%s was %+v and is %+v", h.Name, was, is)
	}
	return nil
}

// checkAccounted checks that the end of a run names each host once, with the right outcome.
func checkAccounted(site *simulator.Site, end event.RunEnd) error {
	seen := map[string]string{}
	for what, hosts := range map[string][]string{"updated": end.Updated, "failed": end.Failed, "left": end.Untouched} {
		for _, h := range hosts {
			if seen[h] != "" {
				return fmt.Errorf("%s is both %s and %s", h, seen[h], what)
			}
			seen[h] = what
		}
	}
	for _, h := range site.Hosts() {
		if done := h.State().Matches && h.Hold() == nil; done != (seen[h.Name] == "updated") {
			return fmt.Errorf("%s is %+v and said to be %q", h.Name, h.State(), seen[h.Name])
		}
	}
	return nil
}

// TestStoppedAtOnce presses Ctrl-C twice: holds stay, and the next run of the
// same bastion completes.
func TestStoppedAtOnce(t *testing.T) {
	eachPlay(t, func(t *testing.T, p playFixture) {
		events, _ := p.interruptionPoints(t)
		for _, e := range events[:len(events)-1] {
			if err := runInBubble(t, func() error { return p.checkStoppedAtOnce(e) }); err != nil {
				t.Errorf("stopped at once %s: %v", eventLabel(e), err)
			}
		}
	})
}

func (p playFixture) checkStoppedAtOnce(e event.Event) error {
	site := p.site()
	b := site.Bastion("run-1")
	ctx, stop := context.WithTimeout(context.Background(), endless)
	defer stop()
	doAtEvent(b, e.Seq, stop)
	r := b.Run()
	r.Forks, r.Soft, r.Interval = 1, ctx, 5*time.Second
	var held []string
	first := b.Apply(ctx, r)
	if len(first.Failed) > 0 {
		return fmt.Errorf("%v are said to have failed; they were stopped", first.Failed)
	}
	for _, e := range b.Events() {
		if strings.Contains(e.Message, "its hold stays") && !tookHold(b, e.Host) {
			return fmt.Errorf("%s was never held, and is said to be: %s", e.Host, e.Message)
		}
	}
	for _, h := range site.Hosts() {
		if h.Hold() != nil {
			held = append(held, h.Name)
		}
	}
	if e = b.Events()[e.Seq-1]; e.Type == event.StepStarted && e.Step == "wait for boot" && len(held) == 0 {
		return fmt.Errorf("nothing is held after %s of %s", e.Step, e.Host)
	}
	second := applyRun(site.Bastion("run-2"), runSerially, successorOf(b))
	if err := errors.Join(checkEnd(first, engine.ExitStopped), checkEnd(second, engine.ExitOK), p.done(site)); err != nil {
		return fmt.Errorf("%w\n%s", err, runTranscript(b))
	}
	return nil
}

func tookHold(b *simulator.Bastion, host string) bool {
	return slices.ContainsFunc(b.Events(), func(e event.Event) bool {
		return e.Type == event.StepStarted && e.Host == host && e.Step == "hold"
	})
}

// The end of a run reports the operator's stop, even if a host fails while the
// run stops.
func TestAHostThatFailsAfterAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(0, 2))
		site.Host("worker-0").Change(failNewOS)
		b := site.Bastion("run-1")
		stop, press := context.WithCancel(context.Background())
		defer press()
		failureWorld{site, b}.doAtStep("worker-0", "wait for boot", press)
		end := applyRun(b, func(r *rollout.Run) { r.Soft = stop })
		failOnErrors(t, checkEnd(end, engine.ExitStopped, "stopped by the operator", "worker-0"), checkLaws(site), checkHeldFor(site.Host("worker-0"), "run-1"), checkUntouched(site.Host("worker-1")))
	})
}

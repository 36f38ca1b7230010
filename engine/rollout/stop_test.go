package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hosttest"
	"holdfast/engine/rollout"
)

// stopAtEvent presses Ctrl-C once the nth event is journaled.
func stopAtEvent(b *hosttest.Bastion, n int) func(*rollout.Run) {
	soft, stop := context.WithCancel(context.Background())
	at(b, n, stop)
	return func(r *rollout.Run) { r.Soft = soft }
}

// TestStopped presses Ctrl-C once, after every event: every host is wholly
// updated or wholly as it was, nobody holds it, and the next run completes.
func TestStopped(t *testing.T) {
	inv := hosttest.Fleet(3, 2)
	events, _ := points(t, inv)
	for _, e := range events {
		err := inBubble(t, func() error {
			site := newSite(inv)
			b := site.Bastion("run-1")
			end := apply(b, serially, stopAtEvent(b, e.Seq))
			errs := []error{lawful(site)}
			if converged(site) != nil {
				errs = append(errs, ended(end, engine.ExitStopped))
			}
			for _, h := range site.Hosts() {
				if updated(h) != nil {
					errs = append(errs, untouched(h))
				}
				if h.State().Staging {
					errs = append(errs, fmt.Errorf("%s is still staging", h.Name))
				}
			}
			errs = append(errs, accounted(site, end), ended(apply(site.Bastion("run-2")), engine.ExitOK), converged(site))
			if err := errors.Join(errs...); err != nil {
				return fmt.Errorf("%w\n%s", err, story(b))
			}
			return nil
		})
		if err != nil {
			t.Errorf("stopped %s: %v", told(e), err)
		}
	}
}

// accounted: the end of a run names each host once, as what became of it.
func accounted(site *hosttest.Site, end engine.RunEnd) error {
	seen := map[string]string{}
	for what, hosts := range map[string][]string{"updated": end.Updated, "failed": end.Failed, "left": end.Left} {
		for _, h := range hosts {
			if seen[h] != "" {
				return fmt.Errorf("%s is both %s and %s", h, seen[h], what)
			}
			seen[h] = what
		}
	}
	for _, h := range site.Hosts() {
		if done := h.State().Booted == hosttest.V2 && h.Hold() == nil; done != (seen[h.Name] == "updated") {
			return fmt.Errorf("%s is %+v and said to be %q", h.Name, h.State(), seen[h.Name])
		}
	}
	return nil
}

// TestStoppedAtOnce presses Ctrl-C twice: holds stay, and the next run of the
// same bastion completes.
func TestStoppedAtOnce(t *testing.T) {
	inv := hosttest.Fleet(3, 2)
	events, _ := points(t, inv)
	for _, e := range events[:len(events)-1] {
		err := inBubble(t, func() error {
			site := newSite(inv)
			b := site.Bastion("run-1")
			ctx, stop := context.WithTimeout(context.Background(), endless)
			defer stop()
			at(b, e.Seq, stop)
			r := b.Run()
			r.Forks, r.Soft, r.Interval = 1, ctx, 5*time.Second
			var held []string
			first := b.Apply(ctx, r)
			if len(first.Failed) > 0 {
				return fmt.Errorf("%v are said to have failed; they were stopped", first.Failed)
			}
			for _, h := range site.Hosts() {
				if h.Hold() != nil {
					held = append(held, h.Name)
				}
			}
			if e.Type == engine.StepStarted && e.Step == "wait for boot" && len(held) == 0 {
				return fmt.Errorf("nothing is held after %s of %s", e.Step, e.Host)
			}
			second := apply(site.Bastion("run-2"), serially, successor(b))
			if err := errors.Join(ended(first, engine.ExitStopped), ended(second, engine.ExitOK), converged(site)); err != nil {
				return fmt.Errorf("%w\n%s", err, story(b))
			}
			return nil
		})
		if err != nil {
			t.Errorf("stopped at once %s: %v", told(e), err)
		}
	}
}

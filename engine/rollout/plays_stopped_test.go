package rollout_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// TestStoppedPlays checks that a host counts as updated only after it got all work of
// the plays that began, so that the command that resumes the playbook leaves out no host
// and repeats no work on hosts that are done.
func TestStoppedPlays(t *testing.T) {
	all := []string{"worker-0", "worker-1", "worker-2"}
	after := func(number int, of event.Type) func(event.Event) bool {
		seen := 0
		return func(e event.Event) bool {
			if e.Type == of {
				seen++
			}
			return e.Type == of && seen == number
		}
	}
	hold := func(site *simulator.Site, _ func()) { site.Host("worker-1").SetHold(byBob()) }
	press := func(_ *simulator.Site, stop func()) { stop() }
	for name, c := range map[string]struct {
		at      func(event.Event) bool
		happens func(site *simulator.Site, stop func())
		atOnce  bool // the stop is the second Ctrl-C
		atMost  int  // max_unavailable; 0: 2

		exit                         engine.ExitCode
		updated, untouched, notBegun []string
	}{
		"stopped in the second play": {at: after(4, event.HostDone), happens: press, exit: engine.ExitStopped, updated: all[:1], untouched: all[1:], notBegun: []string{"three"}},
		"stopped at once while it gathers between two batches": {
			at: after(4, event.BatchEnded), happens: press, atOnce: true,
			exit: engine.ExitStopped, updated: all[:1], untouched: all[1:], notBegun: []string{"three"},
		},
		"stopped at once before the second play has a plan": {
			at: after(5, event.HostsGathered), happens: press, atOnce: true,
			exit: engine.ExitStopped, updated: all, notBegun: []string{"two", "three"},
		},
		"held before the second play":               {at: after(3, event.HostDone), happens: hold, exit: engine.ExitRefused, updated: []string{"worker-0", "worker-2"}},
		"held before the second play, without room": {at: after(3, event.HostDone), happens: hold, atMost: 1, exit: engine.ExitRefused, untouched: []string{"worker-0", "worker-2"}},
		"held after it got all work":                {at: after(8, event.HostDone), happens: hold, exit: engine.ExitRefused, updated: all},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(noOS(workerFleet(3, func(p *engine.Pool) {
					p.MaxUnavailable, p.Order = engine.CountOrPercent{Count: cmp.Or(c.atMost, 2), Set: true}, engine.Sorted
				})))
				b := site.Bastion("run-1")
				ctx, stop := context.WithTimeout(context.Background(), endless)
				defer stop()
				b.Watch = func(e event.Event) {
					if c.at(e) {
						c.happens(site, stop)
					}
				}
				r := b.Run()
				r.Interval = 5 * time.Second
				for _, name := range []string{"one", "two", "three"} {
					r.Plays = append(r.Plays, aPlay(engine.Play{Name: name, Serial: []engine.CountOrPercent{{Count: 1, Set: true}}, Tasks: []engine.Task{disruptiveTask(name)}}))
				}
				var end event.RunEnd
				if r.Soft = ctx; c.atOnce {
					end = b.Apply(ctx, r)
				} else {
					end = b.Apply(context.Background(), r)
				}
				failOnErrors(t, checkEnd(end, c.exit), checkLaws(site))
				if !slices.Equal(end.Updated, c.updated) || !slices.Equal(end.Untouched, c.untouched) || !slices.Equal(end.NotBegun, c.notBegun) || len(end.Failed) > 0 {
					t.Errorf("%v updated, %v not updated, %v failed, %v not begun\n%s", end.Updated, end.Untouched, end.Failed, end.NotBegun, runTranscript(b))
				}
			})
		})
	}
}

// TestAPlayWhoseErrorsAreFatal checks that the end of a run tells a play that allows no
// failed host from a failure budget, which --best-effort overrides.
func TestAPlayWhoseErrorsAreFatal(t *testing.T) {
	for _, fatal := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			site := newSite(noOS(workerFleet(2, func(p *engine.Pool) { p.MaxUnavailable = engine.CountOrPercent{Count: 2, Set: true} })))
			b := site.Bastion("run-1")
			b.Command = func(simulator.Command) *rollout.Reply { return &rollout.Reply{Code: 1} }
			end := applyRun(b, withPlays(aPlay(engine.Play{Name: "one", Tasks: []engine.Task{disruptiveTask("one")}, AnyErrorsFatal: fatal, MaxFailPercentage: &engine.CountOrPercent{Set: true}})))
			failOnErrors(t, checkEnd(end, engine.ExitFailed), checkLaws(site))
			if s := end.SpentBudget; s == nil || s.Play != "one" || s.AnyErrorsFatal != fatal {
				t.Errorf("fatal %t: %+v", fatal, s)
			}
		})
	}
}

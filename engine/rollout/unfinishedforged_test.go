package rollout_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/bastion"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// TestAForgedRolloutIsOverForGood checks that a host which reports a roll-out
// that nobody has begun refuses other roll-outs only until one override: its
// name is told, and the override also counts if the host reports the same
// roll-out again.
func TestAForgedRolloutIsOverForGood(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"of the past": -time.Hour, "of the near future": time.Hour} {
		for number, what := range map[int]string{2: "the next", 7: "a late", engine.MaxRollout: "the last"} {
			t.Run(what+" roll-out "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					site := newSite(twoPools())
					id := func() string { time.Sleep(time.Minute); return bastion.NewRunID(time.Now()) }
					forged := engine.Rollout{Run: bastion.NewRunID(time.Now().Add(ahead)), Number: number, Targets: map[string]string{"x": "dead", "y": "dead"}}
					forge := func() { site.Host("y-1").Remember(simulator.Remembered{Rollout: &forged}) }
					run := func(os string, options ...func(*rollout.Run)) (*simulator.Bastion, event.RunEnd) {
						setPools(site, os, os)
						b := site.Bastion(id())
						return b, applyRun(b, options...)
					}
					failOnErrors(t, endOf(run(simulator.V2)))
					forge()
					b, refused := run("v3")
					failOnErrors(t, checkEnd(refused, engine.ExitRefused, "x-0 runs v2, and not dead of run "+forged.Run))
					if p := shownPlan(b); !slices.Equal(p.RecordedOn, []string{"y-1"}) {
						t.Errorf("the roll-out is said to be recorded on %v", p.RecordedOn)
					}
					failOnErrors(t, endOf(run("v3", continueOverIncomplete)))
					forge()
					failOnErrors(t, endOf(run("v4")))
					forge()
					failOnErrors(t, endOf(run(simulator.V2)))
				})
			})
		}
	}
}

// TestARolloutOfTheFarFutureIsNotBelieved checks that a roll-out whose run has
// not begun yet, also by a clock that is wrong by hours, refuses nothing, and
// that the host is named.
func TestARolloutOfTheFarFutureIsNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(twoPools())
		site.Host("y-1").Remember(simulator.Remembered{Rollout: &engine.Rollout{Run: bastion.NewRunID(time.Now().AddDate(1, 0, 0)), Number: 3, Targets: map[string]string{"x": "dead", "y": "dead"}}})
		b := site.Bastion("run-1")
		failOnErrors(t, checkEnd(applyRun(b), engine.ExitOK), checkConverged(site))
		if p := shownPlan(b); !strings.Contains(strings.Join(p.Warnings, "\n"), "y-1: /var/lib/holdfast/rollout.json is not believed") {
			t.Errorf("warnings %q", p.Warnings)
		}
	})
}

func endOf(_ *simulator.Bastion, end event.RunEnd) error {
	return checkEnd(end, engine.ExitOK, "every host matches")
}

// shownPlan returns the first plan of a run, which its operator sees.
func shownPlan(b *simulator.Bastion) engine.Plan {
	for _, e := range b.Events() {
		if e.Plan != nil {
			return *e.Plan
		}
	}
	return engine.Plan{}
}

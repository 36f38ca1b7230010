package rollout_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hosttest"
)

// TestLost loses each call of a run, on its way or with its answer, or lets it
// fail. The run ends in one way or another, and the next ones finish.
func TestLost(t *testing.T) {
	inv := hosttest.Fleet(3, 1)
	_, calls := points(t, inv)
	for fault, what := range map[hosttest.Fault]string{hosttest.LostThere: "lost", hosttest.LostBack: "answer lost", hosttest.Fails: "failed"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			for _, c := range calls {
				check(t, inBubble(t, func() error { return lost(inv, c, fault) }))
			}
		})
	}
}

// twice reports whether a script does no harm when it runs twice.
func twice(verb string) bool {
	return slices.Contains([]string{"probe", "hold", "stage", "release"}, verb)
}

func lost(inv engine.Inventory, c hosttest.Call, fault hosttest.Fault) error {
	site := newSite(inv)
	b := site.Bastion("run-1")
	faultAt(b, c.N, fault)
	end := apply(b, serially)
	errs := []error{lawful(site)}
	for _, h := range site.Hosts() {
		if len(h.State().Reboots) > 1 {
			errs = append(errs, fmt.Errorf("%s was rebooted twice", h.Name))
		}
		if end.Exit == engine.ExitOK {
			errs = append(errs, updated(h))
		}
	}
	if fault != hosttest.Fails && twice(c.Verb) || fault == hosttest.LostBack && c.Verb == "reboot" {
		errs = append(errs, ended(end, engine.ExitOK), converged(site))
	}
	time.Sleep(time.Hour)
	errs = append(errs, ended(apply(site.Bastion("run-2"), successor(b)), engine.ExitOK), converged(site))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%+v: exit %d: %w\n%s", c, end.Exit, err, story(b))
	}
	return nil
}

package rollout_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hosttest"
)

// TestJournal: from some event on nothing can be journaled. The run does
// nothing more that has to be, says so, and the next one finishes.
func TestJournal(t *testing.T) {
	inv := hosttest.Fleet(3, 1)
	events, _ := points(t, inv)
	for _, first := range events {
		n := first.Seq
		check(t, inBubble(t, func() error {
			site := newSite(inv)
			b := site.Bastion("run-1")
			calls := -1
			b.Journal = func(e engine.Event) error {
				if e.Seq < n {
					return nil
				}
				if calls < 0 {
					calls = len(b.Calls())
				}
				return errors.New("write journal: no space left on device")
			}
			end := apply(b, serially)
			errs := []error{lawful(site)}
			errs = append(errs, ended(end, engine.ExitFailed, "write journal: no space left on device"))
			for _, c := range b.Calls()[calls:] {
				if !slices.Contains([]string{"probe", "observe", "sample", "fail hold", "release"}, c.Verb) {
					errs = append(errs, fmt.Errorf("%+v although event %d was not journaled", c, n))
				}
			}
			errs = append(errs, ended(apply(site.Bastion("run-2"), serially, successor(b)), engine.ExitOK), converged(site))
			if err := errors.Join(errs...); err != nil {
				return fmt.Errorf("%s: %w\n%s", told(first), err, story(b))
			}
			return nil
		}))
	}
}

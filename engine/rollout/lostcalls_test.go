package rollout_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/simulator"
)

// TestLost loses each call of a run, on its way or with its answer, or lets the
// call fail. The run ends, with success or failure, and the next runs finish.
func TestLost(t *testing.T) {
	eachPlay(t, func(t *testing.T, p playFixture) {
		_, calls := p.interruptionPoints(t)
		for _, fault := range []simulator.Fault{simulator.LostThere, simulator.LostBack, simulator.Fails} {
			for _, c := range calls {
				failOnErrors(t, runInBubble(t, func() error { return p.checkLostCall(c, fault) }))
			}
		}
	})
}

// mayRunTwice reports whether a script does no harm when it runs twice.
func mayRunTwice(verb string) bool {
	return slices.Contains([]string{"probe", "hold", "stage", "record", "release", "check hold"}, verb)
}

func (p playFixture) checkLostCall(c simulator.Call, fault simulator.Fault) error {
	site := p.site()
	b := site.Bastion("run-1")
	faultAt(b, c, fault)
	end := applyRun(b, runSerially)
	errs := []error{checkLaws(site)}
	for _, h := range site.Hosts() {
		if len(h.State().Reboots) > 1 {
			errs = append(errs, fmt.Errorf("%s was rebooted twice", h.Name))
		}
	}
	if end.Exit == engine.ExitOK {
		errs = append(errs, p.done(site))
	}
	if fault != simulator.Fails && mayRunTwice(c.Verb) || fault == simulator.LostBack && c.Verb == "reboot" {
		errs = append(errs, checkEnd(end, engine.ExitOK), p.done(site))
	}
	time.Sleep(time.Hour)
	errs = append(errs, checkEnd(applyRun(site.Bastion("run-2"), successorOf(b)), engine.ExitOK), p.done(site))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("fault %d, %+v: exit %d: %w\n%s", fault, c, end.Exit, err, runTranscript(b))
	}
	return nil
}

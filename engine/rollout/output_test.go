package rollout_test

import (
	"context"
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

// chattyHosts print one line per millisecond for a minute while they are
// staged.
func chattyHosts(h rollout.Hosts) rollout.Hosts {
	return alteredHosts{h, func(ctx context.Context, c rollout.Conn, s rollout.Script) (rollout.Reply, error) {
		if s.Live != nil && simulator.VerbOf(s) == "stage" {
			for i := range 60000 {
				s.Live(fmt.Appendf(nil, "line %d\n", i))
				time.Sleep(time.Millisecond)
			}
			defer s.Live([]byte("the end"))
		}
		return c.Run(ctx, s)
	}}
}

// TestOutputIsBounded checks that the first lines of a script become events,
// and later lines only at intervals, so that no host fills the journal.
func TestOutputIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSite(simulator.Fleet(0, 1)).Bastion("run-1")
		failOnErrors(t, checkEnd(applyRun(b, func(r *rollout.Run) { r.Hosts = chattyHosts(r.Hosts) }), engine.ExitOK))
		var told []string
		for _, e := range b.Events() {
			if e.Type == event.StepProgress && e.Step == "stage" {
				told = append(told, e.Message)
			}
		}
		if n := len(told); n < 200 || n > 210 || told[0] != "line 0" || told[199] != "line 199" {
			t.Fatalf("%d lines were told: %q", n, told)
		}
		if !slices.Contains(told, "the end") {
			t.Errorf("the last line, which has no end, was not told: %q", told[len(told)-1])
		}
		if last := told[len(told)-1]; !strings.HasPrefix(last, "it has printed 597") {
			t.Errorf("in the end: %q", last)
		}
	})
}

package hostscript_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
)

// TestHoldOfAHostWithThousandsOfServices checks that a very large hold can be
// taken, read by the probe script, adopted, marked as failed and released.
func TestHoldOfAHostWithThousandsOfServices(t *testing.T) {
	longtest.SkipSlow(t)
	for name, c := range map[string]struct{ services, length, kept int }{
		"2,000 services":                         {2000, 60, 2000},
		"20,000 services with the longest names": {20000, 255, 762},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			h := runHold("r1")
			h.Reason, h.Ticket = strings.Repeat("\x01é", 5000), strings.Repeat("x", 100_000)
			for i := range c.services {
				h.Units = append(h.Units, fmt.Sprintf("%0*d.service", c.length-len(".service"), i))
			}
			b.mustRun(hostscript.HoldScript(h, hour, "", nil))
			look := func() *engine.Hold {
				t.Helper()
				out, errs, code := b.run(hostscript.HoldProbeScript())
				got, problem := hostscript.ReadHold(engine.Output{Stdout: out, Stderr: errs, Code: code})
				if problem != "" {
					t.Fatal(problem)
				}
				return got
			}
			got := look()
			if !slices.Equal(got.Units, h.Units[:c.kept]) || got.UnitsOmitted != c.services-c.kept || len(got.Reason) < 1000 {
				t.Errorf("%d units kept and %d not, reason of %d bytes", len(got.Units), got.UnitsOmitted, len(got.Reason))
			}
			next := runHold("r2")
			next.Units = got.Units
			b.mustRun(hostscript.HoldScript(next, hour, "r1", nil))
			b.mustRun(hostscript.FailHoldScript(ownerOf("r2"), strings.Repeat("\n", 100_000), "wait for units", ""))
			if got := look(); got.Run != "r2" || len(got.Units) != c.kept || got.Step != "wait for units" {
				t.Errorf("adopted and failed: run %s, %d units, step %q", got.Run, len(got.Units), got.Step)
			}
			b.mustRun(hostscript.ReleaseScript(ownerOf("r2"), engine.Release{}))
			if b.hold() != nil {
				t.Error("is still held")
			}
		})
	}
}

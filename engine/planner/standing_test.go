package planner

import (
	"testing"
	"time"

	"holdfast/engine"
)

func TestStanding(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	self := engine.HoldOwner{Run: "r9", Bastion: "b"}
	hold := func(run, bastion string, change ...func(*engine.Hold)) engine.Facts {
		h := &engine.Hold{Kind: engine.RunHold, Run: run, Bastion: bastion, Expires: now.Add(time.Hour)}
		for _, c := range change {
			c(h)
		}
		return engine.Facts{Clock: now, GatheredAt: now, Hold: h}
	}
	expired := func(h *engine.Hold) { h.Expires = now.Add(-time.Hour) }
	failed := func(h *engine.Hold) { h.Step = "reboot" }
	ahead := hold("r5", "c", expired)
	ahead.GatheredAt = now.Add(-2 * time.Hour)
	unreachedAndHeld := hold("r5", "c")
	unreachedAndHeld.Unreachable = "no route"
	unreadable := hold("r9", "b")
	unreadable.HoldProblem = "not JSON"

	type verdict struct {
		want        standing
		unavailable bool
		adopts      bool
		exclusion   engine.ExclusionKind
		state       engine.HostState
	}
	for name, c := range map[string]struct {
		facts engine.Facts
		verdict
	}{
		"free":                                  {engine.Facts{}, verdict{free, false, false, "", ""}},
		"unreachable":                           {engine.Facts{Unreachable: "no route"}, verdict{unreached, true, false, engine.Unreachable, engine.Unreached}},
		"unreachable, and held as far as known": {unreachedAndHeld, verdict{unreached, true, false, engine.Unreachable, engine.Unreached}},
		"a hold that cannot be read":            {unreadable, verdict{unreadablyHeld, true, false, engine.Held, engine.HeldState}},
		"maintenance":                           {hold("", "", func(h *engine.Hold) { h.Kind = engine.MaintenanceHold }), verdict{heldByPerson, true, false, engine.Held, engine.HeldState}},
		"maintenance that has expired":          {hold("", "", expired, func(h *engine.Hold) { h.Kind = engine.MaintenanceHold }), verdict{heldByPerson, true, false, engine.Held, engine.HeldState}},
		"this run":                              {hold("r9", "b"), verdict{heldByThisRun, true, true, "", engine.Updating}},
		"this run, which failed there":          {hold("r9", "b", failed), verdict{heldByThisRun, true, true, "", engine.Degraded}},
		"its ID on another bastion":             {hold("r9", "c"), verdict{heldByRun, true, false, engine.Held, engine.Updating}},
		"another run":                           {hold("r5", "c"), verdict{heldByRun, true, false, engine.Held, engine.Updating}},
		"another run, which failed there":       {hold("r5", "c", failed), verdict{heldByRun, true, false, engine.Held, engine.Degraded}},
		"a run without ID":                      {hold("", "b"), verdict{heldByRun, true, false, engine.Held, engine.Updating}},
		"a dead run":                            {hold("r1", "b"), verdict{heldByDeadRun, true, true, "", engine.Updating}},
		"a dead run, which failed there":        {hold("r1", "b", failed), verdict{heldByDeadRun, true, true, "", engine.Degraded}},
		"a dead run, expired":                   {hold("r1", "b", expired), verdict{heldByDeadRun, true, true, "", engine.Updating}},
		"a dead run's ID on another bastion":    {hold("r1", "c"), verdict{heldByRun, true, false, engine.Held, engine.Updating}},
		"a dead run that names no bastion":      {hold("r1", ""), verdict{heldByRun, true, false, engine.Held, engine.Updating}},
		"an expired run":                        {hold("r5", "c", expired), verdict{heldByExpiredRun, true, true, "", engine.Updating}},
		"expired by one of two clocks":          {ahead, verdict{heldByRun, true, false, engine.Held, engine.Updating}},
	} {
		t.Run(name, func(t *testing.T) {
			s := judgeStanding(c.facts, self, []string{"r1"})
			got := verdict{s, s.isUnavailable(), s.mayAdopt(), s.exclusion(), s.state(c.facts.Hold != nil && c.facts.Hold.Step != "")}
			if got != c.verdict {
				t.Errorf("got %+v, want %+v", got, c.verdict)
			}
		})
	}
}

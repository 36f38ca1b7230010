package maintenance_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/maintenance"
)

// TestPowerPlans: only the person who holds a host switches its power off, and nobody wakes a host that somebody else holds.
func TestPowerPlans(t *testing.T) {
	t.Parallel()
	mine, bobs := heldBy(engine.MaintenanceHold, ann, here), heldBy(engine.MaintenanceHold, "bob@bastion", here)
	aRun := heldBy(engine.RunHold, "bob@b2", "b2")
	garbled := maintenance.Observed{Facts: engine.Facts{Host: "w-1", HoldProblem: "not JSON"}}
	down := maintenance.Observed{Facts: engine.Facts{Host: "w-1", Unreachable: "unreachable: no route"}}
	last := func(by string) maintenance.Observed {
		return maintenance.Observed{Facts: engine.Facts{Host: "w-1", Unreachable: "unreachable: no route", LastHold: &engine.LastHold{Hold: *heldBy(engine.MaintenanceHold, by, here).Facts.Hold}}}
	}
	free := maintenance.Observed{Facts: engine.Facts{Host: "w-1"}}
	on, off, reset := engine.PowerHostsOn, engine.PowerHostsOff, engine.ResetHosts
	for name, c := range map[string]struct {
		action engine.MaintenanceAction
		seen   maintenance.Observed
		force  bool
		step   string
		says   string
		exit   engine.ExitCode
	}{
		"off, mine":                      {off, mine, false, "shut down, power off", "is off", 0},
		"off, that of bob":               {off, bobs, false, "", "that is another person", engine.ExitRefused},
		"off, forced":                    {off, bobs, true, "shut down, power off", "is off", 0},
		"off, free":                      {off, free, false, "", "hold it first", engine.ExitRefused},
		"off, a run":                     {off, aRun, false, "", "--force switches its power", engine.ExitRefused},
		"off, unreadable":                {off, garbled, false, "", "not JSON", engine.ExitRefused},
		"off, no answer":                 {off, down, false, "", "its hold is not known", engine.ExitUnreachable},
		"reset, mine":                    {reset, mine, false, "power reset", "is reset", 0},
		"reset, free":                    {reset, free, false, "", "hold it first", engine.ExitRefused},
		"on, mine":                       {on, mine, false, "power on", "is on", 0},
		"on, free":                       {on, free, false, "power on", "is on", 0},
		"on, that of bob":                {on, bobs, false, "", "that is another person", engine.ExitRefused},
		"on, a run":                      {on, aRun, false, "", "--force", engine.ExitRefused},
		"on, no answer":                  {on, down, false, "", "its hold is not known", engine.ExitUnreachable},
		"on, mine when last seen":        {on, last(ann), false, "power on", "is on", 0},
		"on, that of bob when last seen": {on, last("bob@bastion"), false, "", "was last seen", engine.ExitRefused},
		"off, mine when last seen":       {off, last(ann), false, "", "ask its holder", engine.ExitRefused},
		"on, no answer, yet":             {on, down, true, "power on", "is on", 0},
	} {
		r := maintenance.Request{Action: c.action, Hosts: []string{"w-1"}, Holder: ann, Bastion: here, Force: c.force, Graceful: engine.Duration(5 * time.Minute)}
		h := maintenance.NewPlan(r, holdsOf(c.seen), now).Hosts[0]
		said, exit := h.Message, engine.ExitOK
		if h.Failure != nil {
			said, exit = h.Failure.Cause, maintenance.ExitOf(*h.Failure)
		}
		if stepOf(h) != c.step || !strings.Contains(said, c.says) || exit != c.exit {
			t.Errorf("%s: step %q, %q, exit %d", name, stepOf(h), said, exit)
		}
		if c.step == "" {
			continue
		}
		if down := h.Steps[0].Do.ShutDown; down != nil {
			mayFail := h.Steps[0].MayFail
			if h.Steps = h.Steps[1:]; mayFail != c.force || *down != (engine.ShutDown{Run: c.seen.Facts.Hold.Run, Bastion: c.seen.Facts.Hold.Bastion}) || !h.Steps[0].Do.SwitchPower.Ordered || h.Steps[0].Do.SwitchPower.CheckHold == c.force {
				t.Errorf("%s: %+v, then %+v", name, down, h.Steps[0])
			}
			c.step = "power off"
		}
		s := h.Steps[0].Do.SwitchPower
		if s == nil || "power "+string(s.To) != c.step || (s.Graceful != 0) != (c.action == off) || h.Steps[0].Timeout < s.Graceful || h.Steps[0].Timeout > s.Graceful+engine.Duration(50*time.Second) {
			t.Errorf("%s: %+v in %s", name, s, h.Steps[0].Timeout)
		}
	}
}

// TestAdviceForUnreachedHolds: only a host that does not answer at all is to be switched on. For others the reason is shown once.
func TestAdviceForUnreachedHolds(t *testing.T) {
	t.Parallel()
	mine := heldBy(engine.MaintenanceHold, ann, here).Facts.Hold
	for name, c := range map[string]struct {
		silent      bool
		power       string
		says, lacks string
	}{
		"silent":           {true, "", "switch it on first", "cannot be reached"},
		"off, by its BMC":  {false, "Off", "switch it on first", "cannot be reached"},
		"another host key": {false, "", "another key; held by ann@bastion", "switch it on"},
	} {
		seen := maintenance.Observed{Facts: engine.Facts{Host: "w-1", Unreachable: "another key", Silent: c.silent, LastHold: &engine.LastHold{Hold: *mine, Power: c.power}}}
		for _, action := range []engine.MaintenanceAction{engine.ReleaseHosts, engine.ExtendHolds} {
			r := maintenance.Request{Action: action, Hosts: []string{"w-1"}, Holder: ann, Bastion: here, For: engine.Duration(time.Hour)}
			f := maintenance.NewPlan(r, holdsOf(seen), now).Hosts[0].Failure
			if f == nil || maintenance.ExitOf(*f) != engine.ExitUnreachable || strings.Count(f.Cause, "another key") != 1 || strings.Contains(f.Cause, c.lacks) ||
				action == engine.ReleaseHosts && !strings.Contains(f.Cause, c.says) {
				t.Errorf("%s, %v: %+v", name, action, f)
			}
		}
	}
}

// TestPowerOfHolds: hold --power-off holds a host, and goes on with one that the person holds. A release restores the settings that the hold
// has, and ends the hold of a host that was off without having read it.
func TestPowerOfHolds(t *testing.T) {
	t.Parallel()
	mine, bobs := heldBy(engine.MaintenanceHold, ann, here), heldBy(engine.MaintenanceHold, "bob@bastion", here)
	changed := heldBy(engine.MaintenanceHold, ann, here, func(h *engine.Hold) { h.PowerBefore = &engine.PowerKeeping{RestorePolicy: "LastState"} })
	last := func(o maintenance.Observed) maintenance.Observed {
		return maintenance.Observed{Facts: engine.Facts{Host: "w-1", Unreachable: "unreachable: no route", LastHold: &engine.LastHold{Hold: *o.Facts.Hold}}}
	}
	free := maintenance.Observed{Facts: engine.Facts{Host: "w-1"}}
	hold, release := engine.HoldHosts, engine.ReleaseHosts
	for name, c := range map[string]struct {
		action engine.MaintenanceAction
		seen   maintenance.Observed
		powers bool
		force  bool
		steps  string
	}{
		"hold":                        {hold, free, false, false, "hold"},
		"hold off":                    {hold, free, true, false, "hold, check budget, stay off, shut down, power off"},
		"hold off, mine":              {hold, mine, true, false, "stay off, shut down, power off"},
		"hold off, mine when seen":    {hold, last(mine), true, false, "wait for power off"},
		"hold off, mine, forced":      {hold, mine, true, true, "stay off, shut down, power off"},
		"mine when seen, forced":      {hold, last(mine), true, true, "power off"},
		"hold off, that of bob":       {hold, bobs, true, false, "hold, check budget, stay off, shut down, power off"}, // the script refuses it
		"release":                     {release, mine, false, false, "end hold"},
		"release, changed":            {release, changed, false, false, "power as before, end hold"},
		"release, changed, forced":    {release, changed, false, true, "power as before, end hold"},
		"release on":                  {release, changed, true, false, "power on, wait for its answer, power as before, end hold"},
		"release on, mine when seen":  {release, last(changed), true, false, "power on, wait for its answer, power as before, end hold"},
		"release on, bob's when seen": {release, last(bobs), true, false, ""},
		"release, mine when seen":     {release, last(mine), false, false, ""},
	} {
		r := maintenance.Request{Action: c.action, Hosts: []string{"w-1"}, Holder: ann, Bastion: here, Force: c.force, PowerOn: c.powers, PowerOff: c.powers, Graceful: engine.Duration(time.Minute)}
		seen := holdsOf(c.seen)
		seen.Site.Facts = map[string]engine.Facts{"w-1": c.seen.Facts}
		h := maintenance.NewPlan(r, seen, now).Hosts[0]
		if got := stepOf(h); got != c.steps || (h.Failure != nil) != (c.steps == "") {
			t.Errorf("%s: %q, %v", name, got, h.Failure)
		}
		for _, s := range h.Steps {
			if s.MayFail != (c.force && (s.Do.PowerAsBefore != nil || s.Do.StayOff != nil || s.Do.ShutDown != nil)) {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}

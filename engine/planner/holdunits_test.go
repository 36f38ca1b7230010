package planner_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/planner"
)

// Services that ran before a dead run took a host have to run again, even if
// they do not run when the next run gathers facts.
func TestUnitsOfLeftOverHold(t *testing.T) {
	in := planner.Input{
		Run: "r2", Bastion: thisBastion, Request: planner.Request{Dead: []string{"r1"}, Inventory: engine.Inventory{Pools: []engine.Pool{{Name: "w"}}, Hosts: []engine.Host{{Name: "w-1", Pool: "w"}}}},
		Facts: map[string]engine.Facts{"w-1": {
			Running: []string{"a.service"}, Failed: []string{"b.service", "old.service"},
			Hold: &engine.Hold{Kind: engine.RunHold, Run: "r1", Bastion: thisBastion, Units: []string{"a.service", "b.service", "c.service"}, FailedUnits: []string{"old.service"}},
		}},
	}
	for _, s := range planner.NewPlan(in).Host("w-1").Sequence {
		if want := s.Do.AwaitUnits; want != nil {
			if !slices.Equal(want.RunningUnits, []string{"a.service", "b.service", "c.service"}) || !slices.Equal(want.FailedUnits, []string{"old.service"}) {
				t.Errorf("awaits %+v", want)
			}
			return
		}
	}
	t.Error("awaits no units")
}

// TestFailedNowIsNotFailedBefore checks that the state before the first disruption
// decides for every later run which units may have failed.
func TestFailedNowIsNotFailedBefore(t *testing.T) {
	before := engine.Hold{Kind: engine.RunHold, Run: "r1", Bastion: thisBastion, Units: []string{"a.service"}, FailedUnits: []string{"old.service"}}
	none, foreign := before, before
	none.FailedUnits, foreign.Bastion, foreign.Expires = []string{}, "another", time.Unix(1, 0)
	for name, c := range map[string]struct {
		hold, unproven *engine.Hold
		want           []string
	}{
		"hold of a dead run":         {&before, nil, before.FailedUnits},
		"nothing had failed":         {&none, nil, nil},
		"expired, of another":        {&foreign, nil, before.FailedUnits},
		"ended by force":             {nil, &before, before.FailedUnits},
		"ended by force, none":       {nil, &none, nil},
		"held again by a dead run":   {&before, &none, before.FailedUnits},
		"whole before the first run": {nil, nil, []string{"old.service", "new.mount"}},
	} {
		t.Run(name, func(t *testing.T) {
			work := map[string]string{"w-1": "reboot"}
			if c.unproven != nil {
				work = nil // a host that matches is work, too
			}
			in := planner.Input{
				Run: "r2", Bastion: thisBastion,
				Request: planner.Request{Modules: []engine.Module{namedFake(fakeModule{work})}, Dead: []string{"r1"}, Inventory: engine.Inventory{Pools: []engine.Pool{{Name: "w"}}, Hosts: []engine.Host{{Name: "w-1", Pool: "w"}}}},
				Facts: map[string]engine.Facts{"w-1": {
					Host: "w-1", Clock: time.Now(), Running: []string{"a.service"}, Failed: []string{"old.service", "new.mount"}, Hold: c.hold, Unproven: c.unproven,
				}},
			}
			plan := planner.NewPlan(in)
			hp := plan.Host("w-1")
			if hp == nil {
				t.Fatalf("no work; excluded %v, matching %v", plan.Excluded, plan.Matching)
			}
			i := slices.IndexFunc(hp.Sequence, func(s engine.Step) bool { return s.Do.AwaitUnits != nil })
			if got := hp.Sequence[i].Do.AwaitUnits.FailedUnits; !slices.Equal(got, c.want) {
				t.Errorf("units that may have failed: %q, want %q", got, c.want)
			}
		})
	}
}

func TestHoldKeepsUnits(t *testing.T) {
	h := engine.Hold{Kind: engine.RunHold, Run: "r1", Units: []string{`a"b.service`, "c.service"}}
	script := hostscript.HoldScript(h, 0, "", nil)
	_, line, _ := strings.Cut(script, `"units":`)
	line, _, _ = strings.Cut(line, ",\n")
	line, _, _ = strings.Cut(line, ",'")
	var units []string
	if err := json.Unmarshal([]byte(line), &units); err != nil || !slices.Equal(units, h.Units) {
		t.Errorf("%q: %q, %v", line, units, err)
	}
}

package planner_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

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
			Hold: &engine.Hold{Kind: engine.RunHold, Run: "r1", Bastion: thisBastion, Units: []string{"a.service", "b.service", "c.service"}},
		}},
	}
	for _, s := range planner.NewPlan(in).Host("w-1").Sequence {
		if want := s.Do.AwaitUnits; want != nil {
			if !slices.Equal(want.Running, []string{"a.service", "b.service", "c.service"}) || !slices.Equal(want.Failed, []string{"old.service"}) {
				t.Errorf("awaits %+v", want)
			}
			return
		}
	}
	t.Error("awaits no units")
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

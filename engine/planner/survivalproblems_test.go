package planner_test

import (
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/planner"
)

// TestSurvivalProblems: a plan warns of each service that is to survive soft reboots and does not, once for all hosts, with
// the next step, but not in a pool that allows no soft reboot.
func TestSurvivalProblems(t *testing.T) {
	all := []engine.SurvivalObstacle{
		engine.SurvivesTooOld, engine.SurvivalOverridden, engine.SurvivesOneshot, engine.SurvivesOwnRoot,
		engine.SurvivalConflict, engine.SurvivalNeeds, engine.SurvivalNotStarted, engine.SurvivalSocket,
	}
	for _, o := range all {
		in := survivorInput(3, false, false, "new")
		for name, f := range in.Facts {
			if name != "etcd-2" {
				f.SurvivalProblems = []engine.SurvivalProblem{{Unit: "app.service", Obstacle: o, Other: "data.mount"}}
				in.Facts[name] = f
			}
		}
		texts := planner.NewPlan(in).Warnings
		i := slices.IndexFunc(texts, func(s string) bool { return strings.HasPrefix(s, "etcd-[0-1]: app.service ") })
		if i < 0 || strings.Contains(texts[i], "does not know") {
			t.Errorf("%s: %q", o, texts)
			continue
		}
		if names := o == engine.SurvivalConflict || o == engine.SurvivalNeeds || o == engine.SurvivalSocket; names != strings.Contains(texts[i], "data.mount") {
			t.Errorf("%s: %q", o, texts[i])
		}
		for i := range in.Inventory.Pools {
			in.Inventory.Pools[i].Reboot.Soft = engine.NeverSoft
		}
		if texts := planner.NewPlan(in).Warnings; strings.Contains(strings.Join(texts, "\n"), "app.service") {
			t.Errorf("%s: in a pool without soft reboots: %q", o, texts)
		}
	}
}

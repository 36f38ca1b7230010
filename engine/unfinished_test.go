package engine_test

import (
	"strings"
	"testing"

	"holdfast/engine"
)

// A pool that is to have no OS any more keeps no other from its next one.
func TestUnfinishedWithoutOS(t *testing.T) {
	w := &world{pools: []engine.Pool{{Name: "a"}, {Name: "b"}}, hosts: []*machine{{name: "a-0", pool: "a"}, {name: "b-0", pool: "b", work: "os"}}}
	in := w.input()
	in.Modules = []engine.Module{versionModule{}}
	last := &engine.Rollout{Run: "run-0", Targets: map[string]string{"a": "v1", "b": "v1"}}
	in.Facts["a-0"] = engine.Facts{Host: "a-0", BootID: "x", Rollout: last}
	in.Facts["b-0"] = engine.Facts{Host: "b-0", BootID: "x", Rollout: last, Deployments: []engine.Deployment{{Digest: "v1", Booted: true}}}
	in.Desired = map[string]engine.Desired{"a-0": {}, "b-0": {OS: &engine.OS{Commit: "v2"}}}
	if p := engine.NewPlan(in); len(p.Unfinished) > 0 || len(p.Batches) != 1 {
		t.Errorf("%v, batches %v", p.Unfinished, p.Batches)
	}
	in.Desired["a-0"] = engine.Desired{OS: &engine.OS{Commit: "v1"}}
	if p := engine.NewPlan(in); len(p.Unfinished) != 1 {
		t.Errorf("nothing is known of a-0, which is to run v1: %v", p.Unfinished)
	}
}

// A host whose record is not believed is named, and refuses nothing.
func TestAForgedRolloutRefusesNothing(t *testing.T) {
	in := engine.Input{
		Run:       "r2",
		Inventory: engine.Inventory{Pools: []engine.Pool{{Name: "w"}}, Hosts: []engine.Host{{Name: "w-1", Pool: "w"}}},
		Facts:     map[string]engine.Facts{"w-1": {RolloutProblem: "number 9223372036854775807 is not plausible"}},
	}
	p := engine.NewPlan(in)
	if len(p.Unfinished) > 0 || len(p.Refusals) > 0 || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "w-1: /var/lib/holdfast/rollout.json is not believed") {
		t.Errorf("refusals %q, unfinished %v, warnings %q", p.Refusals, p.Unfinished, p.Warnings)
	}
}

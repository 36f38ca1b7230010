package planner_test

import (
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/planner"
)

// A pool whose OS was taken out of the inventory does not prevent the next
// roll-out of other pools.
func TestUnfinishedWithoutOS(t *testing.T) {
	w := &world{pools: []engine.Pool{{Name: "a"}, {Name: "b"}}, hosts: []*machine{{name: "a-0", pool: "a"}, {name: "b-0", pool: "b", work: "os"}}}
	in := w.input()
	in.Modules = []engine.Module{namedFake(versionModule{})}
	last := &engine.Rollout{Run: "run-0", Targets: map[string]string{"a": "v1", "b": "v1"}}
	in.Facts["a-0"] = engine.Facts{Host: "a-0", BootID: "x", Rollout: last}
	in.Facts["b-0"] = engine.Facts{Host: "b-0", BootID: "x", Rollout: last, Deployments: []engine.Deployment{{Digest: "v1", Booted: true}}}
	in.Desired = map[string]engine.Desired{"a-0": {}, "b-0": {OS: &engine.OS{Commit: "v2"}}}
	if p := planner.NewPlan(in); len(p.Unfinished) > 0 || len(p.Batches) != 1 {
		t.Errorf("%v, batches %v", p.Unfinished, p.Batches)
	}
	in.Desired["a-0"] = engine.Desired{OS: &engine.OS{Commit: "v1"}}
	in.Facts["a-0"] = engine.Facts{Host: "a-0", BootID: "x", Rollout: last}
	if p := planner.NewPlan(in); len(p.Unfinished) != 1 {
		t.Errorf("nothing is known of a-0, which is to run v1: %v", p.Unfinished)
	}
	in.CompletedOS = map[string]string{"a": "v1"}
	if p := planner.NewPlan(in); len(p.Unfinished) > 0 {
		t.Errorf("the whole pool is known to run v1: %v", p.Unfinished)
	}
}

// A host whose roll-out entry is not trusted gets a warning, and prevents no
// roll-out.
func TestAForgedRolloutRefusesNothing(t *testing.T) {
	in := planner.Input{
		Run:     "r2",
		Request: planner.Request{Inventory: engine.Inventory{Pools: []engine.Pool{{Name: "w"}}, Hosts: []engine.Host{{Name: "w-1", Pool: "w"}}}},
		Facts:   map[string]engine.Facts{"w-1": {RolloutProblem: "number 9223372036854775807 is not plausible"}},
	}
	p := planner.NewPlan(in)
	if len(p.Unfinished) > 0 || len(p.Refusals) > 0 || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "w-1: /var/lib/holdfast/rollout.json is not believed") {
		t.Errorf("refusals %q, unfinished %v, warnings %q", p.Refusals, p.Unfinished, p.Warnings)
	}
}

// A roll-out is over if a host was rolled back from its OS and the pool no
// longer asks for this OS. The next roll-out, to the previous OS or to a
// repaired one, may begin.
func TestARejectedRolloutIsGivenUp(t *testing.T) {
	w := &world{pools: []engine.Pool{{Name: "a"}}, hosts: []*machine{{name: "a-0", pool: "a", work: "os"}, {name: "a-1", pool: "a", work: "os"}}}
	in := w.input()
	in.Modules = []engine.Module{namedFake(versionModule{})}
	last := &engine.Rollout{Run: "run-1", Number: 2, Targets: map[string]string{"a": "v2"}}
	facts := func(host string, rejected ...string) engine.Facts {
		return engine.Facts{Host: host, BootID: "x", Rollout: last, Rejected: rejected, Deployments: []engine.Deployment{{Digest: "v1", Booted: true}}}
	}
	asks := func(commit string) {
		for _, h := range []string{"a-0", "a-1"} {
			in.Desired[h] = engine.Desired{OS: &engine.OS{Commit: commit}}
		}
	}
	const over = "the roll-out of v2 (run run-1) is over: a-0 was rolled back from it, and pool a no longer asks for it"
	in.Facts["a-0"], in.Facts["a-1"] = facts("a-0", "v2"), facts("a-1")
	asks("v1")
	if p := planner.NewPlan(in); len(p.Unfinished)+len(p.Batches) > 0 || p.Verdict().Exit != engine.ExitOK || !slices.Equal(p.Warnings, []string{over}) {
		t.Errorf("back to the former OS: unfinished %v, batches %v, warnings %q", p.Unfinished, p.Batches, p.Warnings)
	}
	asks("v3")
	p := planner.NewPlan(in)
	if len(p.Unfinished) > 0 || len(p.Batches) == 0 || !slices.Equal(p.Warnings, []string{over}) {
		t.Errorf("the fixed OS: unfinished %v, batches %v, warnings %q", p.Unfinished, p.Batches, p.Warnings)
	}
	in.Facts["a-0"] = facts("a-0")
	if p := planner.NewPlan(in); len(p.Unfinished) != 2 {
		t.Errorf("an OS that has not failed is left unfinished: %v", p.Unfinished)
	}
}

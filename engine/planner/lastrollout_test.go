package planner_test

import (
	"fmt"
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

// trialSite is a pool of three hosts, each with the OS that it runs and the OS that it wants, "" for none. The first host with an entry
// about a roll-out has recorded it.
func trialSite(last *engine.Rollout, runs, wants [3]string) planner.Input {
	w := &world{pools: []engine.Pool{{Name: "a"}}}
	for _, name := range []string{"a-0", "a-1", "a-2"} {
		w.hosts = append(w.hosts, &machine{name: name, pool: "a", work: "os"})
	}
	in := w.input()
	in.Modules, in.Desired = []engine.Module{namedFake(versionModule{})}, map[string]engine.Desired{}
	for i, m := range w.hosts {
		in.Facts[m.name] = engine.Facts{Host: m.name, BootID: "x", Rollout: last, Deployments: []engine.Deployment{{Digest: runs[i], Booted: true}}}
		if wants[i] != "" {
			in.Desired[m.name] = engine.Desired{OS: &engine.OS{Commit: wants[i]}}
		}
	}
	return in
}

// recordedRollout returns the roll-out that the hosts of the first batch record.
func recordedRollout(t *testing.T, name string, p engine.Plan) *engine.Rollout {
	t.Helper()
	if len(p.Unfinished) > 0 || len(p.Refusals) > 0 || len(p.Batches) == 0 {
		t.Fatalf("%s: unfinished %v, refusals %q, batches %v", name, p.Unfinished, p.Refusals, p.Batches)
	}
	for _, s := range p.Host(p.Batches[0].Hosts[0]).Sequence {
		if s.Do.TakeHold != nil && s.Do.TakeHold.Rollout != nil {
			return s.Do.TakeHold.Rollout
		}
	}
	t.Fatalf("%s: no roll-out is recorded", name)
	return nil
}

// TestATrialIsNoRolloutOfItsPool: a host gets an OS of its own. Afterwards it goes back, or the whole pool gets the next OS, in
// whichever place of the inventory the host is. Hosts without a desired OS have none to reach.
func TestATrialIsNoRolloutOfItsPool(t *testing.T) {
	before := &engine.Rollout{Run: "run-0", Number: 1, Targets: map[string]string{"a": "v1"}}
	for at := range 3 {
		for _, others := range []string{"v1", ""} {
			last := before
			if others == "" {
				last = nil
			}
			name := fmt.Sprintf("trial on a-%d, the others want %q", at, others)
			runs, wants := [3]string{"v1", "v1", "v1"}, [3]string{others, others, others}
			wants[at] = "v2"
			trial := recordedRollout(t, name, planner.NewPlan(trialSite(last, runs, wants)))
			if target, ok := trial.Targets["a"]; !ok || target != "" {
				t.Errorf("%s: it records %v", name, trial.Targets)
			}
			runs[at] = "v2"
			if _, behind := planner.FindUnfinished(trialSite(trial, runs, wants)); len(behind) > 0 {
				t.Errorf("%s: behind %v", name, behind)
			}
			back := recordedRollout(t, name+", and back", planner.NewPlan(trialSite(trial, runs, [3]string{"v1", "v1", "v1"})))
			if back.Targets["a"] != "v1" {
				t.Errorf("%s: the way back records %v", name, back.Targets)
			}
			next := recordedRollout(t, name+", and on", planner.NewPlan(trialSite(trial, runs, [3]string{"v3", "v3", "v3"})))
			if next.Targets["a"] != "v3" || next.Number <= trial.Number {
				t.Errorf("%s: the next roll-out is %+v after %+v", name, next, trial)
			}
		}
	}
}

// TestATrialDoesNotEndARollout: while a roll-out is unfinished, no host gets an OS of its own, and its failed OS is not given up as long
// as hosts of the pool want it.
func TestATrialDoesNotEndARollout(t *testing.T) {
	last := &engine.Rollout{Run: "run-0", Number: 1, Targets: map[string]string{"a": "v2"}}
	for at := range 3 {
		runs, wants := [3]string{"v2", "v2", "v2"}, [3]string{"v2", "v2", "v2"}
		wants[at], runs[at], runs[(at+1)%3] = "v3", "v1", "v1"
		in := trialSite(last, runs, wants)
		name := in.Inventory.Hosts[at].Name
		f := in.Facts[name]
		f.Rejected = []string{"v2"}
		in.Facts[name] = f
		p := planner.NewPlan(in)
		if len(p.Unfinished) != 2 || p.Verdict().Exit != engine.ExitRefused || slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, "no longer asks for it") }) {
			t.Errorf("trial on a-%d: unfinished %v, exit %d, warnings %q", at, p.Unfinished, p.Verdict().Exit, p.Warnings)
		}
	}
}

// TestAPoolAfterItsTrialWaits: in the last roll-out, the hosts of a pool wanted different OSes, and another pool was not finished. If
// the hosts of the first pool want the same OS now, it is another roll-out, which waits for that pool.
func TestAPoolAfterItsTrialWaits(t *testing.T) {
	last := &engine.Rollout{Run: "run-0", Number: 1, Targets: map[string]string{"a": "", "b": "v2"}}
	for name, c := range map[string]struct {
		wants  [3]string
		b      string
		refuse bool
	}{
		"b is behind":                    {[3]string{"v3", "v3", "v3"}, "v1", true},
		"b is behind, and a still mixed": {[3]string{"v3", "v1", "v3"}, "v1", false},
		"b is finished":                  {[3]string{"v3", "v3", "v3"}, "v2", false},
	} {
		in := trialSite(last, [3]string{"v1", "v1", "v1"}, c.wants)
		in.Inventory.Pools = append(in.Inventory.Pools, engine.Pool{Name: "b"})
		in.Inventory.Hosts = append(in.Inventory.Hosts, engine.Host{Name: "b-0", Pool: "b"})
		in.Facts["b-0"] = engine.Facts{Host: "b-0", BootID: "y", Rollout: last, Deployments: []engine.Deployment{{Digest: c.b, Booted: true}}}
		in.Desired["b-0"] = engine.Desired{OS: &engine.OS{Commit: c.b}}
		p := planner.NewPlan(in)
		if refused := len(p.Unfinished) == 1 && p.Unfinished[0].Host == "b-0"; refused != c.refuse || !refused && len(p.Unfinished) > 0 {
			t.Errorf("%s: unfinished %v", name, p.Unfinished)
		}
	}
}

// TestATrialThatFailsGoesNoFurther: the OS of a trial failed on its host. The others do not get it, also if the roll-out has no target.
func TestATrialThatFailsGoesNoFurther(t *testing.T) {
	in := trialSite(nil, [3]string{"v1", "v1", "v1"}, [3]string{"v2", "v2", ""})
	in.Failed = map[string]string{"a-0": "it does not come back"}
	if p := planner.NewPlan(in); len(p.Batches) > 0 {
		t.Errorf("batches %v", p.Batches)
	}
	in.Failed = nil
	f := in.Facts["a-0"]
	f.Rejected = []string{"v2"}
	in.Facts["a-0"] = f
	if p := planner.NewPlan(in); len(p.Batches) > 0 {
		t.Errorf("rolled back: batches %v", p.Batches)
	}
	f.Rejected, f.Unreachable = nil, "connection refused"
	in.Facts["a-0"], in.Lost = f, map[string]engine.LostHost{"a-0": {Run: "run-0", Aim: in.Desired["a-0"].Aim(true)}}
	if p := planner.NewPlan(in); len(p.Batches) > 0 {
		t.Errorf("not back: batches %v", p.Batches)
	}
}

// TestARolloutOfAnotherVersionIsNotOver checks that a host which has recorded a roll-out in the format of another version of
// holdfast refuses another OS, also in the middle of a run, unless a person overrides it, and no other work.
func TestARolloutOfAnotherVersionIsNotOver(t *testing.T) {
	in := trialSite(nil, [3]string{"v1", "v1", "v1"}, [3]string{"v2", "v2", "v2"})
	f := in.Facts["a-2"]
	f.RolloutSchema = 2
	in.Facts["a-2"] = f
	const reason = "a-2 has a /var/lib/holdfast/rollout.json of schema 2, and this version of holdfast knows 1; use the version that wrote it, or a later one"
	p := planner.NewPlan(in)
	if len(p.Unfinished) != 1 || p.Unfinished[0].String() != reason || len(p.Batches) > 0 || p.Verdict().Exit != engine.ExitRefused {
		t.Errorf("unfinished %v, batches %v", p.Unfinished, p.Batches)
	}
	in.Approved = &engine.Plan{Rollout: engine.Rollout{Run: in.Run, Number: 1}}
	if p := planner.NewPlan(in); len(p.Unfinished) != 1 {
		t.Errorf("in the middle of a run: unfinished %v", p.Unfinished)
	}
	in.Approved, in.OverIncomplete = nil, true
	if p := planner.NewPlan(in); len(p.Unfinished) > 0 || len(p.Batches) == 0 {
		t.Errorf("overridden: unfinished %v, batches %v", p.Unfinished, p.Batches)
	}
	in = trialSite(nil, [3]string{"v1", "v1", "v1"}, [3]string{"v1", "v1", "v1"})
	in.Facts["a-2"] = f
	if p := planner.NewPlan(in); len(p.Unfinished) > 0 || len(p.Matching) != 3 {
		t.Errorf("without another OS: unfinished %v, matching %v", p.Unfinished, p.Matching)
	}
}

// TestAContinuedRolloutStaysOverOthers checks that a roll-out which is continued with other targets still names the roll-outs
// that it is over. Otherwise an invented roll-out with the same number would come back.
func TestAContinuedRolloutStaysOverOthers(t *testing.T) {
	last := &engine.Rollout{Run: "run-1", Number: engine.MaxRollout, Targets: map[string]string{"a": "v2", "gone": "v2"}, Supersedes: []string{"run-9"}}
	in := trialSite(last, [3]string{"v1", "v1", "v1"}, [3]string{"v2", "v2", "v2"})
	if r := recordedRollout(t, "continued", planner.NewPlan(in)); r.Run != "run-1" || !slices.Equal(r.Supersedes, last.Supersedes) || len(r.Targets) != 1 {
		t.Errorf("recorded %+v", r)
	}
}

package planner_test

import (
	"fmt"
	"slices"
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/planner"
	"holdfast/engine/planner/approval"
)

// TestVerdictOfEverything judges every combination of problems and remaining
// work, and compares the exit code with the demands of an operator.
func TestVerdictOfEverything(t *testing.T) {
	out := func(why engine.ExclusionKind) engine.Findings {
		return engine.Findings{Excluded: []engine.Exclusion{{Host: "h-" + string(why), Kind: why}}}
	}
	parts := []struct {
		name string
		f    engine.Findings
	}{
		{"stopped", engine.Findings{Stopped: true}},
		{"failure", engine.Findings{Failures: []engine.Failure{{Host: "a", Cause: "no space"}}}},
		{"met a hold", engine.Findings{Failures: []engine.Failure{{Host: "b", Kind: engine.HeldFailure}}}},
		{"unsafe", engine.Findings{Refusals: []string{"x"}}},
		{"sick", engine.Findings{UnhealthyClusters: []etcdfacts.UnhealthyCluster{{Cluster: "main", Problems: []string{"alarm NOSPACE"}}}}},
		{"unfinished", engine.Findings{Unfinished: []engine.UnfinishedHost{{Host: "c"}}}},
		{"work", engine.Findings{Work: []string{"d"}}},
		{"drift", engine.Findings{Drift: []string{"e"}}},
		{"unreachable", out(engine.Unreachable)},
		{"held", out(engine.Held)},
		{"unclear", out(engine.Unclear)},
		{"blocked", out(engine.Blocked)},
		{"paused", out(engine.Paused)},
		{"closed", out(engine.Closed)},
		{"failed", out(engine.Failed)},
		{"rolled back", out(engine.RolledBack)},
		{"soft only", out(engine.NeedsFullReboot)},
	}
	for set := range 1 << len(parts) {
		has := map[string]bool{}
		var v engine.Verdict
		for i, p := range parts {
			if set>>i&1 == 1 {
				has[p.name] = true
				v.Findings = joinFindings(v.Findings, p.f)
			}
		}
		v = engine.NewVerdict(v.Findings)
		for _, demand := range checkDemands(has) {
			if !demand.met(v) {
				t.Fatalf("%v: %s, but exit %d, complete %v", has, demand.says, v.Exit, v.Complete)
			}
		}
	}
}

func joinFindings(a, b engine.Findings) engine.Findings {
	return engine.Findings{
		Stopped: a.Stopped || b.Stopped, Failures: append(slices.Clip(a.Failures), b.Failures...), Refusals: append(slices.Clip(a.Refusals), b.Refusals...),
		UnhealthyClusters: append(slices.Clip(a.UnhealthyClusters), b.UnhealthyClusters...), Unfinished: append(slices.Clip(a.Unfinished), b.Unfinished...),
		Work: append(slices.Clip(a.Work), b.Work...), Excluded: append(slices.Clip(a.Excluded), b.Excluded...), Drift: append(slices.Clip(a.Drift), b.Drift...),
	}
}

// demand is one expectation of an operator about the exit code.
type demand struct {
	says string
	met  func(engine.Verdict) bool
}

func checkDemands(has map[string]bool) []demand {
	any := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return has[n] })
	}
	only := func(names ...string) bool {
		for n := range has {
			if !slices.Contains(names, n) {
				return false
			}
		}
		return len(has) > 0
	}
	is := func(codes ...engine.ExitCode) func(engine.Verdict) bool {
		return func(v engine.Verdict) bool { return slices.Contains(codes, v.Exit) }
	}
	list := []demand{
		{"complete goes with 0, and with nothing else", func(v engine.Verdict) bool { return v.Complete == (v.Exit == 0) }},
		{"0 means that nothing was found", func(v engine.Verdict) bool { return (v.Exit == 0) == (len(has) == 0) }},
		{"1 is for usage", func(v engine.Verdict) bool { return v.Exit != 1 }},
		{"6 is the person's", func(v engine.Verdict) bool { return (v.Exit == 6) == has["stopped"] }},
		{"5 only says that hosts could not be reached", func(v engine.Verdict) bool {
			return v.Exit != 5 || has["unreachable"] && !any("work", "held", "paused", "closed", "soft only")
		}},
		{"2 says that there is work, or else only drift", func(v engine.Verdict) bool { return v.Exit != 2 || has["work"] || only("drift") }},
	}
	if has["stopped"] {
		return list
	}
	wrong := []string{"failure", "unsafe", "sick", "unclear", "failed", "rolled back"}
	switch {
	case any(wrong...):
		list = append(list, demand{"what went wrong comes before all else", is(3)})
	case any("unfinished", "met a hold"):
		list = append(list, demand{"it is refused, whatever there is to do", is(4)})
	case has["work"]:
		list = append(list, demand{"work that can be done is said first", is(2)})
	case any("held", "paused", "closed", "soft only"):
		list = append(list, demand{"a person keeps it from being done", is(4)})
	case has["blocked"] && only("blocked", "drift"):
		list = append(list, demand{"nobody knows why a host waits", is(3)})
	}
	return list
}

// TestVerdictOfParts checks that the verdict on a whole is as bad as the worst
// verdict on its parts, and has the findings of each part.
func TestVerdictOfParts(t *testing.T) {
	held := engine.NewVerdict(engine.Findings{Excluded: []engine.Exclusion{{Host: "a", Kind: engine.Held}}})
	sick := engine.NewVerdict(engine.Findings{UnhealthyClusters: []etcdfacts.UnhealthyCluster{{Cluster: "main"}}, Excluded: held.Excluded})
	fine := engine.NewVerdict(engine.Findings{})
	for _, v := range []engine.Verdict{held.And(sick), sick.And(held), sick.And(sick).And(fine)} {
		if v.Exit != engine.ExitFailed || v.Complete || len(v.UnhealthyClusters) != 1 || len(v.Excluded) != 1 {
			t.Errorf("%+v", v)
		}
	}
	if v := fine.And(fine); v.Exit != engine.ExitOK || !v.Complete {
		t.Errorf("%+v", v)
	}
}

// TestSickClusters checks that a cluster with a selected member is part of
// every verdict, whether or not its hosts have work. A hold accounts for a
// member that is down.
func TestSickClusters(t *testing.T) {
	for _, tc := range []struct {
		name string
		sick machine // one of three members
		c    etcd
		plan engine.ExitCode
		stat engine.ExitCode
	}{
		{"all is well", machine{}, etcd{}, 0, 0},
		{"a member is down", machine{sick: true}, etcd{}, 3, 3},
		{"a member is down, and its host is held", machine{sick: true, hold: "maintenance"}, etcd{}, 4, 2},
		{"a member is down, and its host is lost", machine{sick: true, lost: true}, etcd{}, 3, 3},
		{"an alarm", machine{}, etcd{alarm: true}, 3, 3},
		{"a learner", machine{}, etcd{learner: true}, 3, 3},
		{"outside of the limit", machine{sick: true, ignored: true}, etcd{}, 0, 0},
	} {
		c := tc.c
		w := &world{pools: []engine.Pool{{Name: "etcd"}}, clusters: map[string]*etcd{"main": &c}}
		for i := range 3 {
			m := tc.sick
			if i > 0 {
				m = machine{ignored: tc.sick.ignored}
			}
			m.name, m.pool, m.cluster = fmt.Sprintf("etcd-%d", i), "etcd", "main"
			w.hosts = append(w.hosts, &m)
		}
		plan, status := planner.NewPlan(w.input()), planner.NewStatus(w.input())
		if got := plan.Verdict(); got.Exit != tc.plan || got.Exit == 3 && len(got.UnhealthyClusters) != 1 {
			t.Errorf("%s: plan ends with %d, want %d: %+v", tc.name, got.Exit, tc.plan, got.Findings)
		}
		if got := planner.StatusVerdict(status); got.Exit != tc.stat || status.Complete != (len(status.UnhealthyClusters) == 0 && tc.sick.hold == "") && !tc.sick.ignored {
			t.Errorf("%s: status ends with %d, want %d; complete %v: %+v", tc.name, got.Exit, tc.stat, status.Complete, got.Findings)
		}
	}
}

// TestRepairMember checks that a host whose member is down is disrupted if the
// operator named the host, and that the plan states the consequences.
func TestRepairMember(t *testing.T) {
	w := etcdWorld([]*machine{member(0), member(1), member(2)}, 1)
	w.hosts[0].sick, w.hosts[0].work = true, "reboot"
	plan := planner.NewPlan(w.input())
	const why = "etcd cluster main: member etcd-0 is not healthy: ; 2 of 3 voters are healthy, and the quorum is 2"
	if want := []string{why + "; start the member first, or, if disrupting etcd-0 is to repair it, say --repair-member etcd-0"}; !slices.Equal(plan.Refusals, want) {
		t.Errorf("refusals %q, want %q", plan.Refusals, want)
	}
	w.repair = []string{"etcd-0"}
	plan = planner.NewPlan(w.input())
	if want := []string{"etcd-0 is disrupted to repair its etcd member (--repair-member): " + why + "; until it is back, no other voter may fail"}; !slices.Equal(plan.Warnings, want) {
		t.Errorf("warnings %q, want %q", plan.Warnings, want)
	}
	if len(plan.Batches) != 1 || len(plan.Refusals) > 0 {
		t.Errorf("batches %v, refusals %q", plan.Batches, plan.Refusals)
	}
	without := w
	without.repair = nil
	if err := approval.CheckSame(planner.NewPlan(without.input()), plan); err == nil {
		t.Error("a saved plan that repairs a member is the same as one that does not")
	}
}

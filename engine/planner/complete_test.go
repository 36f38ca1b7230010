package planner_test

import (
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
	"holdfast/engine/planner"
	"holdfast/engine/report"
)

// TestCompleteOfEverything checks that no status is complete with an exit code
// other than 0, and the other way round, for every combination of hosts and
// clusters that are not as they should be.
func TestCompleteOfEverything(t *testing.T) {
	kinds := []machine{
		{work: "reboot"},
		{work: "quiet"},
		{work: "unclear"},
		{hold: "foreign"},
		{hold: "maintenance"},
		{hold: "unreadable"},
		{hold: "dead"},
		{lost: true},
		{work: "reboot", paused: true},
	}
	for set := range 1 << (len(kinds) + 1) {
		sick := set>>len(kinds)&1 == 1
		w := etcdWorld([]*machine{member(0), member(1), member(2)}, 1)
		w.pools = []engine.Pool{{Name: "etcd"}, {Name: "worker"}}
		w.hosts[1].sick = sick
		for i, kind := range kinds {
			m := worker(i)
			if set>>i&1 == 1 {
				name, pool := m.name, m.pool
				*m = kind
				m.name, m.pool = name, pool
			}
			w.hosts = append(w.hosts, m)
		}
		odd, workersOdd := set != 0, set&(1<<len(kinds)-1) != 0
		s := planner.NewStatus(w.input())
		v := planner.StatusVerdict(s)
		if s.Complete == odd || v.Complete == odd || (v.Exit == engine.ExitOK) == odd {
			t.Fatalf("%b: complete %t, verdict complete %t with exit %d", set, s.Complete, v.Complete, v.Exit)
		}
		for _, p := range s.Pools {
			if p.Complete == (p.Name == "worker" && workersOdd) {
				t.Fatalf("%b: pool %s: complete %t", set, p.Name, p.Complete)
			}
		}
		for _, limit := range []string{"etcd-0", "worker-0"} {
			in := w.input()
			in.Selected = func(h engine.Host) bool { return h.Name == limit }
			if limited := planner.NewStatus(in); limited.Complete == odd {
				t.Fatalf("%b: within the limit %s, the site is complete: %t", set, limit, limited.Complete)
			}
		}
	}
}

// TestEndOfEverything checks that the end of a run says "every host matches" if
// and only if the verdict on its plan is complete.
func TestEndOfEverything(t *testing.T) {
	for set := range 1 << 7 {
		has := func(i int) bool { return set>>i&1 == 1 }
		var p engine.Plan
		if has(0) {
			p.Refusals = []string{"x"}
		}
		if has(1) {
			p.Unfinished = []engine.UnfinishedHost{{Host: "a", Reason: "runs another"}}
		}
		if has(2) {
			p.UnhealthyClusters = []etcdfacts.UnhealthyCluster{{Cluster: "main", Problems: []string{"alarm NOSPACE"}}}
		}
		if has(3) {
			p.Excluded = []engine.Exclusion{{Host: "b", Kind: engine.Paused, Reason: "paused"}}
		}
		if has(4) {
			p.Drift = []engine.HostDrift{{Host: "c"}}
		}
		if has(5) {
			p.Lanes = []engine.Lane{{Hosts: []string{"d"}}}
		}
		if has(6) {
			p.Batches = []engine.Batch{{Hosts: []string{"e"}}}
		}
		v := p.Verdict()
		text := report.EndText(event.RunEnd{Exit: v.Exit, Verdict: v, Complete: v.Complete, Untouched: v.Work})
		if matches := strings.Contains(text, "every host matches"); matches != v.Complete || text == "ended" {
			t.Fatalf("%b: %q, and the verdict is %+v", set, text, p.Verdict())
		}
	}
}

// TestNoVerdictMakesAnotherComplete checks that the verdict on a run and its
// site is complete only if both are.
func TestNoVerdictMakesAnotherComplete(t *testing.T) {
	list := []engine.Verdict{engine.NewVerdict(engine.Findings{})}
	for _, f := range []engine.Findings{
		{Stopped: true},
		{Failures: []engine.Failure{{Host: "a"}}},
		{Failures: []engine.Failure{{Host: "a", Kind: engine.HeldFailure}}},
		{Work: []string{"a"}},
		{Drift: []string{"a"}},
		{Excluded: []engine.Exclusion{{Host: "a", Kind: engine.Unreachable}}},
	} {
		list = append(list, engine.NewVerdict(f))
	}
	for i, a := range list {
		for j, b := range list {
			both := a.And(b)
			if want := i+j == 0; both.Complete != want || (both.Exit == engine.ExitOK) != want || !slices.Contains([]engine.ExitCode{a.Exit, b.Exit}, both.Exit) {
				t.Errorf("%+v and %+v: %+v", a, b, both)
			}
		}
	}
}

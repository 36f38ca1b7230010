package planner_test

import (
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/planner"
)

// The failure budget belongs to each pool, or to a play for all its hosts.
func TestExhausted(t *testing.T) {
	w := &world{pools: []engine.Pool{{Name: "worker", FailureBudget: engine.CountOrPercent{Count: 1, Set: true}}, {Name: "edge", FailureBudget: engine.CountOrPercent{Percent: 50, Set: true}}}}
	for i := range 4 {
		m, n := worker(i), worker(i+4)
		n.pool = "edge"
		w.hosts = append(w.hosts, m, n)
	}
	tenth := engine.CountOrPercent{Percent: 30, Set: true} // 2 of 8 hosts
	for _, tc := range []struct {
		name   string
		play   *engine.Play
		best   bool
		failed []string
		want   string
	}{
		{"none", nil, false, nil, ""},
		{"within both", nil, false, []string{"worker-0", "worker-4", "worker-5"}, ""},
		{"two of a pool", nil, false, []string{"worker-0", "worker-1"}, "pool worker"},
		{"three of the other", nil, false, []string{"worker-4", "worker-5", "worker-6"}, "pool edge"},
		{"all, and best effort", nil, true, []string{"worker-0", "worker-1", "worker-4", "worker-5", "worker-6"}, ""},
		{"the first of a play", &engine.Play{Name: "p", AnyErrorsFatal: true}, false, []string{"worker-0"}, "play p"},
		{"the first of a play, and best effort", &engine.Play{Name: "p", AnyErrorsFatal: true}, true, []string{"worker-0"}, "play p"},
		{"two of a play, of one pool", &engine.Play{Name: "p", MaxFailPercentage: &tenth}, false, []string{"worker-0", "worker-1"}, ""},
		{"three of a play, of two pools", &engine.Play{Name: "p", MaxFailPercentage: &tenth}, false, []string{"worker-0", "worker-1", "worker-4"}, "play p"},
		{"a play that does not say", &engine.Play{Name: "p"}, false, []string{"worker-0", "worker-1"}, "pool worker"},
	} {
		in := w.input()
		in.Play, in.BestEffort = tc.play, tc.best
		for _, h := range tc.failed {
			in.Failed[h] = "it failed"
		}
		if got := strings.Join(budgetNames(in), ", "); got != tc.want {
			t.Errorf("%s: %q, not %q", tc.name, got, tc.want)
		}
	}
}

// The failure budget of a pool counts all of its hosts that have failed in the run, also those of earlier plays. The failure
// budget of a play counts its own hosts, and a play is not concerned by a pool without a host of the play.
func TestBudgetsOfLaterPlays(t *testing.T) {
	w := &world{pools: []engine.Pool{
		{Name: "worker", MaxUnavailable: engine.CountOrPercent{Count: 4, Set: true}, FailureBudget: engine.CountOrPercent{Count: 1, Set: true}},
		{Name: "edge", MaxUnavailable: engine.CountOrPercent{Count: 4, Set: true}},
	}}
	for i := range 4 {
		m, n := worker(i).in(machine{work: "reboot"}), worker(i+4).in(machine{work: "reboot"})
		n.pool = "edge"
		w.hosts = append(w.hosts, m, n)
	}
	fifty := engine.CountOrPercent{Percent: 50, Set: true} // 1 of 2 hosts
	for _, tc := range []struct {
		name   string
		play   engine.Play
		hosts  []string
		failed []string
		want   string
	}{
		{"one failed before", engine.Play{Name: "p"}, []string{"worker-2", "worker-3"}, []string{"worker-0"}, ""},
		{"one failed before, and one here", engine.Play{Name: "p"}, []string{"worker-2", "worker-3"}, []string{"worker-0", "worker-2"}, "pool worker"},
		{"two failed before", engine.Play{Name: "p"}, []string{"worker-2", "worker-3"}, []string{"worker-0", "worker-1"}, "pool worker"},
		{"a budget of the play", engine.Play{Name: "p", MaxFailPercentage: &fifty}, []string{"worker-2", "worker-3"}, []string{"worker-0", "worker-2"}, ""},
		{"a fatal play", engine.Play{Name: "p", AnyErrorsFatal: true}, []string{"worker-2", "worker-3"}, []string{"worker-0", "worker-1"}, ""},
		{"another pool", engine.Play{Name: "p"}, []string{"worker-6"}, []string{"worker-0", "worker-1"}, ""},
		{"both pools", engine.Play{Name: "p"}, []string{"worker-3", "worker-6"}, []string{"worker-0", "worker-1", "worker-4"}, "pool worker, pool edge"},
	} {
		in := w.input()
		in.Play, in.Selected = &tc.play, func(h engine.Host) bool { return slices.Contains(tc.hosts, h.Name) }
		for _, h := range tc.failed {
			in.Failed[h] = "it failed"
		}
		if got := strings.Join(budgetNames(in), ", "); got != tc.want {
			t.Errorf("%s: %q, not %q", tc.name, got, tc.want)
		}
		plan := planner.NewPlan(in)
		if begins := len(plan.Batches) > 0; begins != (tc.want == "") {
			t.Errorf("%s: %d batches: %+v", tc.name, len(plan.Batches), plan.Excluded)
		}
		if got := plan.ExceededBudget.String(); (got == "") != (tc.want == "") || !strings.Contains(tc.want, got) {
			t.Errorf("%s: the plan has %q, not one of %q", tc.name, got, tc.want)
		}
	}
}

func budgetNames(in planner.Input) (names []string) {
	for _, b := range in.ExceededFailureBudgets() {
		names = append(names, b.String())
	}
	return names
}

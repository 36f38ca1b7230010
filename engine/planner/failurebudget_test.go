package planner_test

import (
	"testing"

	"holdfast/engine"
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
		if got := in.ExceededFailureBudget().String(); got != tc.want {
			t.Errorf("%s: %q, not %q", tc.name, got, tc.want)
		}
	}
}

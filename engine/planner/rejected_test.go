package planner_test

import (
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/planner"
)

// A host that was rolled back and is still held is recovered and released. It
// still counts as failed: its pool does not go on, and the host is no canary.
func TestAHostThatWasRolledBackAndIsHeld(t *testing.T) {
	for _, budget := range []int{0, 1} {
		w := &world{pools: []engine.Pool{{
			Name: "worker", FailureBudget: engine.CountOrPercent{Set: true, Count: budget},
			Canary: &engine.Canary{Hosts: engine.CountOrPercent{Set: true, Count: 1}},
		}}, hosts: []*machine{
			worker(0).in(machine{work: "reboot", rejected: true, hold: "dead"}), worker(1).in(machine{work: "reboot"}), worker(2).in(machine{work: "reboot"}),
		}}
		p := planner.NewPlan(w.input())
		if len(p.Batches) == 0 || !slices.Equal(p.Batches[0].Hosts, []string{"worker-0"}) || p.Host("worker-0").Disruptive() {
			t.Fatalf("%+v", p)
		}
		if all := strings.Join(p.Warnings, "\n"); !strings.Contains(all, "worker-0: it was rolled back from new") {
			t.Errorf("it warns of %s", all)
		}
		switch {
		case budget == 0 && (len(p.Batches) != 1 || len(p.Excluded) != 2 || p.Excluded[0].Kind != engine.Blocked):
			t.Errorf("others go on: %+v", p)
		case budget == 1 && (len(p.Batches) != 3 || !slices.Equal(p.Batches[1].Canaries, []string{"worker"}) || len(p.Batches[2].Canaries) > 0):
			t.Errorf("the canary is not the first that is updated: %+v", p.Batches)
		}
	}
}

// An unreachable host that the approved plan excludes may answer later. If a
// rollback has happened on it, its exclusion then names the rollback.
func TestAHostThatReturnsAndWasRolledBack(t *testing.T) {
	w := &world{pools: []engine.Pool{{Name: "worker"}}, hosts: []*machine{worker(0).in(machine{work: "reboot", rejected: true, lost: true})}}
	approved := planner.NewPlan(w.input())
	w.hosts[0].lost = false
	in := w.input()
	in.Approved = &approved
	if p := planner.NewPlan(in); len(p.Excluded) != 1 || p.Excluded[0].Kind != engine.RolledBack || !strings.Contains(p.Excluded[0].Reason, "--retry-rolled-back") {
		t.Errorf("%+v", p.Excluded)
	}
}

// A host that was rolled back is excluded from work that would bring it the OS
// again. A play that only restarts a service includes the host.
func TestPlaysOnHostsThatWereRolledBack(t *testing.T) {
	for _, c := range []struct {
		work string
		play *engine.Play
		goes bool
	}{
		{"reboot", nil, false},
		{"reboot", &engine.Play{}, false},
		{"restart", nil, false},
		{"restart", &engine.Play{}, true},
	} {
		w := &world{pools: []engine.Pool{{Name: "worker"}}, hosts: []*machine{worker(0).in(machine{work: c.work, rejected: true})}}
		in := w.input()
		in.Play = c.play
		p := planner.NewPlan(in)
		if goes := len(p.Batches) == 1; goes != c.goes {
			t.Errorf("%s in play %v: %+v", c.work, c.play, p)
		}
		out := slices.ContainsFunc(p.Excluded, func(e engine.Exclusion) bool { return e.Kind == engine.RolledBack })
		if out == c.goes {
			t.Errorf("%s in play %v: %+v", c.work, c.play, p.Excluded)
		}
	}
}

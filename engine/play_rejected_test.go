package engine_test

import (
	"slices"
	"testing"

	"holdfast/engine"
)

// A host that was rolled back is left alone by what brings it the OS again. A
// play that restarts a service has nothing to do with that.
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
		p := engine.NewPlan(in)
		if goes := len(p.Batches) == 1; goes != c.goes {
			t.Errorf("%s in play %v: %+v", c.work, c.play, p)
		}
		out := slices.ContainsFunc(p.Excluded, func(e engine.Exclusion) bool { return e.Why == engine.RolledBack })
		if out == c.goes {
			t.Errorf("%s in play %v: %+v", c.work, c.play, p.Excluded)
		}
	}
}

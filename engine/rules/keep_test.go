package rules

import (
	"slices"
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
)

// TestKeepDropin: a service restarts if the drop-in with which it survives soft reboots is the only change of its unit,
// whatever a policy says, because the drop-in takes effect at a restart.
func TestKeepDropin(t *testing.T) {
	unit := func(dropins ...string) resource.Config {
		if len(dropins) == 0 {
			return resource.Config{}
		}
		u := resource.Unit{Name: "app.service"}
		for _, d := range dropins {
			u.Dropins = append(u.Dropins, resource.Dropin{Name: d, Contents: d})
		}
		return resource.Config{Units: []resource.Unit{u}}
	}
	policy, err := NewPolicy([]Rule{{Unit: "app.service", Actions: []engine.Action{{Type: engine.NoAction}}}})
	if err != nil {
		t.Fatal(err)
	}
	const keep = engine.KeepDropin
	for name, c := range map[string]struct {
		old, new resource.Config
		restarts bool
	}{
		"added":                {unit(), unit(keep), true},
		"removed":              {unit(keep), unit(), true},
		"added to another":     {unit("a.conf"), unit("a.conf", keep), true},
		"removed from another": {unit("a.conf", keep), unit("a.conf"), true},
		"with another":         {unit(), unit("a.conf", keep), false},
		"another":              {unit(keep), unit("a.conf", keep), false},
	} {
		d, err := Compare(c.old, c.new, policy)
		if err != nil || len(d.Changes) != 1 {
			t.Errorf("%s: %v, %+v", name, err, d.Changes)
			continue
		}
		restart := engine.Action{Type: engine.RestartUnit, Unit: "app.service"}
		if got := d.Changes[0].Actions; slices.Contains(got, restart) != c.restarts || slices.ContainsFunc(got, func(a engine.Action) bool { return a.Type == engine.RebootAction }) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

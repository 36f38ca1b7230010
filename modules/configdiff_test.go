package modules

import (
	"testing"

	"holdfast/engine"
)

// A unit that cannot be enabled as the host has it may be one that can as it is
// written.
func TestUnitThatBecomesOneToEnable(t *testing.T) {
	yes := true
	c, _ := engine.Config{Units: []engine.Unit{{Name: "a.service", Contents: "[Install]\nWantedBy=multi-user.target\n", Enabled: &yes}}}.Compact()
	d := engine.Desired{Config: &c}
	seen := &engine.ConfigFacts{
		Nodes: map[string]engine.Node{unitDir + "a.service": {Type: engine.FileNode, Digest: engine.Digest(nil), Mode: 0o644}},
		Units: map[string]string{"a.service": "static"},
	}
	x, err := newConfigDiff(d, engine.Facts{BootID: boot, Config: seen}, true)
	if err != nil {
		t.Fatal(err)
	}
	w := x.write(engine.Target{Desired: d, Run: "r1"})
	if len(w.units) != 1 || w.units[0] != (unitEdit{name: "a.service", do: "enable"}) {
		t.Errorf("units %+v", w.units)
	}
}

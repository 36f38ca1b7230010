package main

import (
	"testing"
	"testing/fstest"

	"holdfast/cmd/holdfast-lab/internal/site"
	"holdfast/engine"
	"holdfast/engine/inventory"
)

// TestForecastRolls checks that each inventory of the bench is valid, and that a roll-out of all hosts changes the OS or
// the file.
func TestForecastRolls(t *testing.T) {
	const first, second = "1111111111111111111111111111111111111111111111111111111111111111", "2222222222222222222222222222222222222222222222222222222222222222"
	text := "site \"lab\" {}\nvariable \"commit\" {\n  default = \"" + first + "\"\n}\n"
	for _, pool := range []string{"edge", "worker"} {
		text += "pool \"" + pool + "\" {\n  os {\n    driver = \"ostree\"\n    ref = \"x\"\n    commit = var.commit\n    remote = \"lab\"\n  }\n}\nhost \"" + pool + "-1\" {\n  address = \"" + pool + "\"\n  pool = \"" + pool + "\"\n}\n"
	}
	var before engine.Inventory
	limited := 0
	for i, r := range listForecastRolls(28) {
		changed := r.changeInventory(text, [2]string{first, second})
		l, err := inventory.Load(inventory.Source{FS: fstest.MapFS{site.Inventory: {Data: []byte(changed)}}, Paths: []string{site.Inventory}})
		if err != nil {
			t.Fatalf("%s: %v", r, err)
		}
		inv := l.Inventory
		if i > 0 && inv.Pools[0].OS.Commit == before.Pools[0].OS.Commit && inv.Pools[0].Configs[0].Text == before.Pools[0].Configs[0].Text {
			t.Errorf("roll-out %d changes nothing: %s", i+1, r)
		}
		if before = inv; r.limit != "" {
			limited++
		}
	}
	if limited < 5 {
		t.Errorf("%d roll-outs of some hosts", limited)
	}
}

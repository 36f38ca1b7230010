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

// Instances are enabled of a template that the configuration brings along, and
// units that are written as files.
func TestUnitsThatTheConfigurationBrings(t *testing.T) {
	yes, mode := true, 0o644
	d := func(units ...engine.Unit) engine.Desired {
		c, contents := engine.Config{Units: units, Files: []engine.File{{Path: "/etc/systemd/system/file.service", Mode: &mode}}}.Compact()
		return engine.Desired{Config: &c, Contents: contents}
	}
	f := engine.Facts{BootID: boot, Config: &engine.ConfigFacts{Units: map[string]string{"a@1.service": "not-found", "file.service": "not-found", "none.service": "not-found"}}}
	ok := d(engine.Unit{Name: "a@.service", Contents: "[Service]\n"}, engine.Unit{Name: "a@1.service", Enabled: &yes}, engine.Unit{Name: "file.service", Enabled: &yes})
	if _, err := (configuration{}).Diff(ok, f); err != nil {
		t.Error(err)
	}
	if _, err := (configuration{}).Diff(d(engine.Unit{Name: "none.service", Enabled: &yes}), f); err == nil {
		t.Error("none.service is to be enabled, and nobody has it")
	}
}

// A unit that the host does not have is not enabled there.
func TestUnitThatIsNotThereIsDisabled(t *testing.T) {
	no := false
	c, _ := engine.Config{Units: []engine.Unit{{Name: "none.service", Enabled: &no}}}.Compact()
	f := engine.Facts{BootID: boot, Config: &engine.ConfigFacts{Applied: &engine.Applied{Schema: 1, Config: c}, Units: map[string]string{"none.service": "not-found"}}}
	changes, err := (configuration{}).Diff(engine.Desired{Config: &c}, f)
	if err != nil || len(changes) > 0 {
		t.Errorf("changes %v, %v", changes, err)
	}
}

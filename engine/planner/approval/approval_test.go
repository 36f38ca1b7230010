package approval

import (
	"testing"

	"holdfast/engine"
)

// TestActionsNeedApproval: a change that was approved with some actions is not approved with others. A reboot stands in for
// every action but the drain, and a fallback for both.
func TestActionsNeedApproval(t *testing.T) {
	restart, other := engine.Action{Type: engine.RestartUnit, Unit: "a.service"}, engine.Action{Type: engine.RestartUnit, Unit: "b.service"}
	drain, reboot, none := engine.Action{Type: engine.DrainAction}, engine.Action{Type: engine.RebootAction}, engine.Action{Type: engine.NoAction}
	plan := func(actions ...engine.Action) engine.Plan {
		c := engine.Change{Kind: engine.FileKind, Resource: "file /a", Before: "1", After: "2", Verb: "update", Actions: actions}
		return engine.Plan{Hosts: []engine.HostPlan{{Host: "w", Changes: []engine.Change{c}, Actions: actions}}}
	}
	for name, c := range map[string]struct {
		approved, now []engine.Action
		refused       bool
	}{
		"the same":                   {[]engine.Action{restart}, []engine.Action{restart}, false},
		"nothing more":               {[]engine.Action{restart}, []engine.Action{none}, false},
		"another unit":               {[]engine.Action{restart}, []engine.Action{other}, true},
		"one more unit":              {[]engine.Action{restart}, []engine.Action{restart, other}, true},
		"an action where none was":   {[]engine.Action{none}, []engine.Action{restart}, true},
		"a reboot":                   {[]engine.Action{restart}, []engine.Action{reboot}, true},
		"less than a reboot":         {[]engine.Action{reboot}, []engine.Action{restart}, false},
		"a drain before a restart":   {[]engine.Action{restart}, []engine.Action{drain, restart}, true},
		"a drain before the reboot":  {[]engine.Action{reboot}, []engine.Action{drain, reboot}, true},
		"no drain before the reboot": {[]engine.Action{drain, reboot}, []engine.Action{reboot}, false},
	} {
		if err := CheckApproved(plan(c.now...), plan(c.approved...)); (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKindOfRebootIsNoStep: a saved plan covers a reboot of another kind, which a pool may allow, and so the wait that
// belongs to that kind.
func TestKindOfRebootIsNoStep(t *testing.T) {
	plan := func(kind engine.RebootKind, node string) engine.HostPlan {
		soft := kind == engine.SoftReboot
		return engine.HostPlan{Sequence: []engine.Step{
			{Name: "wait for boot", Do: engine.Op{AwaitBoot: &engine.AwaitBoot{BootID: "b", Kind: kind}}},
			{Name: "wait for node", Do: engine.Op{AwaitNode: &engine.AwaitNode{Kubernetes: "main", Node: node, Rebooted: !soft, SoftRebooted: soft}}},
		}}
	}
	if diffs := changedSteps(plan(engine.FullReboot, "n"), plan(engine.SoftReboot, "n")); len(diffs) > 0 {
		t.Errorf("another kind: %q", diffs)
	}
	if diffs := changedSteps(plan(engine.SoftReboot, "m"), plan(engine.SoftReboot, "n")); len(diffs) != 1 {
		t.Errorf("another node: %q", diffs)
	}
}

package hostconfig

import (
	"maps"
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/modules/moduletest"
)

// TestRecordOfRestarts: the record has the services that must restart after a soft reboot, also if nothing else is written.
// Later writes keep them until the kernel boots.
func TestRecordOfRestarts(t *testing.T) {
	const other = "5d0c1f9e-0000-4b8e-9d43-9a0c0f6a1c11"
	type due = map[string]resource.BootID
	for name, c := range map[string]struct {
		earlier due
		planned []string
		boot    resource.BootID
		want    due
		writes  bool
	}{
		"none":                  {nil, nil, moduletest.Boot, nil, false},
		"new":                   {nil, []string{"etcd.service"}, moduletest.Boot, due{"etcd.service": moduletest.Boot}, true},
		"on record":             {due{"etcd.service": moduletest.Boot}, []string{"etcd.service"}, moduletest.Boot, due{"etcd.service": moduletest.Boot}, false},
		"overdue":               {due{"etcd.service": moduletest.Boot}, []string{"etcd.service"}, moduletest.Boot + "+1", due{"etcd.service": moduletest.Boot}, false},
		"not planned":           {due{"etcd.service": moduletest.Boot}, nil, moduletest.Boot + "+1", due{"etcd.service": moduletest.Boot}, false},
		"of a kernel before":    {due{"etcd.service": moduletest.Boot}, nil, other, nil, false},
		"does not run any more": {due{"app.service": moduletest.Boot}, nil, moduletest.Boot + "+1", nil, false},
	} {
		b := newWriteBox(t)
		b.Hold(engine.RunHold, "r1")
		config := resource.Config{Files: []resource.File{{Path: "/etc/a", Digest: resource.Digest([]byte("x"))}}}
		f := engine.Facts{BootID: c.boot, Survivors: []engine.Survivor{{Unit: "etcd.service", Survives: true}}, Config: &resource.ConfigFacts{
			Nodes:   map[string]resource.PathFacts{"/etc/a": {Type: resource.PathFile, Digest: config.Files[0].Digest, Mode: 0o644}},
			Applied: &resource.Record{Schema: 1, Config: config, Unfinished: &resource.UnfinishedWrite{Run: "r0", Boot: moduletest.Boot, Config: config, Ours: []string{"/etc/a"}, Restarts: c.earlier}},
		}}
		x, err := newConfigDiff(engine.Desired{Config: &config}, f, true)
		if err != nil {
			t.Fatal(err)
		}
		target := moduletest.Target(engine.Desired{Config: &config}, f)
		target.Restarts = c.planned
		steps := x.buildSteps(target)
		before, after := x.buildRecords(target)
		if !maps.Equal(before.Unfinished.Restarts, c.want) || after.Unfinished != nil || (len(steps.Write) == 1) != c.writes {
			t.Errorf("%s: %+v, %d writes", name, before.Unfinished, len(steps.Write))
		}
		if c.writes {
			b.Want(b.RunScript(x.buildWrite(target).buildScript()), 0, "")
			if got := decodeRecord([]byte(b.Read("/var/lib/holdfast/applied.json"))); !maps.Equal(got.Unfinished.Restarts, c.want) {
				t.Errorf("%s: record %+v", name, got.Unfinished)
			}
		}
	}
}

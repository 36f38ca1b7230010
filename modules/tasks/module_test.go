package tasks

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/modules/moduletest"
)

func playOf(modules ...string) engine.Play {
	p := engine.Play{Name: "p", Hosts: "all"}
	for _, m := range modules {
		p.Tasks = append(p.Tasks, engine.Task{Name: m, Module: m})
	}
	return p
}

// recordAfterPlay returns the record of a host after a play, or nil if the play writes
// no record.
func recordAfterPlay(t *testing.T, play engine.Play, d engine.Desired, f engine.Facts) *resource.Record {
	t.Helper()
	m := ForPlay(play)[3]
	found, err := m.Changes.Diff(d, f)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Changes) == 0 {
		return nil
	}
	var a resource.Record
	if err := json.Unmarshal(found.Steps(moduletest.Target(d, f), found.Changes).Record[0].Do.Exec.Uploads[0].Data, &a); err != nil {
		t.Fatal(err)
	}
	return &a
}

// A play writes the configuration and does not change the kernel arguments. It
// does not record the arguments: they would count as drift, or be forgotten.
func TestAConfigPlayRecordsNoKernelArguments(t *testing.T) {
	mode := 0o644
	files := []resource.File{{Path: "/etc/a", Digest: resource.Digest([]byte("a")), Mode: &mode, Owner: resource.Owner{User: "0", Group: "0"}}}
	d := engine.Desired{Config: &resource.Config{KernelArgs: []string{"new"}, Files: files}}
	f := engine.Facts{Host: "w-1", BootID: moduletest.Boot, Config: &resource.ConfigFacts{Nodes: map[string]resource.PathFacts{}}}
	args := func(play engine.Play) []string {
		t.Helper()
		a := recordAfterPlay(t, play, d, f)
		if a == nil {
			t.Fatal("nothing to write")
		}
		return a.Config.KernelArgs
	}
	if got := args(playOf("config")); got != nil {
		t.Errorf("%v are on record", got)
	}
	if got := args(playOf("config", "finalize")); !reflect.DeepEqual(got, []string{"new"}) {
		t.Errorf("%v are on record", got)
	}
	f.Config.Applied = &resource.Record{Config: resource.Config{KernelArgs: []string{"old"}}}
	if got := args(playOf("stage", "config")); !reflect.DeepEqual(got, []string{"old"}) {
		t.Errorf("%v are on record", got)
	}

	// Written files are not written again. Only a play that finalizes records the
	// arguments.
	f.Config.Applied.Config.Files = files
	f.Config.Nodes["/etc/a"] = resource.PathFacts{Type: resource.PathFile, Mode: mode, User: "root", Group: "root", Digest: files[0].Digest}
	if a := recordAfterPlay(t, playOf("config"), d, f); a != nil {
		t.Errorf("writes %+v", a)
	}
	if got := args(playOf("finalize", "config")); !reflect.DeepEqual(got, []string{"new"}) {
		t.Errorf("%v are on record", got)
	}
}

// TestAConfigPlayKeepsAddedArguments: a run added a kernel argument and was killed after the boot, before the record. A play
// that writes only the configuration keeps the note that holdfast has added it; without it, the argument would never leave.
func TestAConfigPlayKeepsAddedArguments(t *testing.T) {
	mode := 0o644
	files := []resource.File{{Path: "/etc/a", Digest: resource.Digest([]byte("a")), Mode: &mode, Owner: resource.Owner{User: "0", Group: "0"}}}
	f := engine.Facts{Host: "w-1", BootID: moduletest.Boot, KernelArgs: []string{"rw", "new"}, Config: &resource.ConfigFacts{
		Nodes: map[string]resource.PathFacts{},
		Applied: &resource.Record{
			Config: resource.Config{KernelArgs: []string{"old"}}, AddedArgs: []string{"new", "not booted"},
			Unfinished: &resource.UnfinishedWrite{Run: "r0", Boot: "6919b4ee-2319-4ba2-95ce-87d5d618e95a", Config: resource.Config{KernelArgs: []string{"new", "not booted"}}},
		},
	}}
	a := recordAfterPlay(t, playOf("config"), engine.Desired{Config: &resource.Config{KernelArgs: []string{"new"}, Files: files}}, f)
	if a == nil || !reflect.DeepEqual(a.AddedArgs, []string{"new"}) || !slices.Contains(a.Config.KernelArgs, "new") || slices.Contains(a.Config.KernelArgs, "not booted") {
		t.Errorf("the record is %+v", a)
	}
}

// TestAFinalizePlayRecordsAddedArguments: a play boots a new kernel argument and writes no configuration. Before the reboot
// it records that holdfast adds the argument; without that, the argument would never leave. Nothing else in the record
// changes, and a host without a record gets one of the part that matches: of nothing, if an obstacle is in the way of the
// configuration, which this play does not touch.
func TestAFinalizePlayRecordsAddedArguments(t *testing.T) {
	mode := 0o644
	file := func(path, text string) resource.File {
		return resource.File{Path: path, Digest: resource.Digest([]byte(text)), Mode: &mode, Owner: resource.Owner{User: "0", Group: "0"}}
	}
	d := engine.Desired{OS: &engine.OS{Driver: "ostree"}, Config: &resource.Config{KernelArgs: []string{"quiet", "new"}, Files: []resource.File{file("/etc/a", "a"), file("/etc/b", "b")}}}
	there := resource.PathFacts{Type: resource.PathFile, Mode: mode, User: "root", Group: "root", Digest: d.Config.Files[0].Digest}
	unfinished := &resource.UnfinishedWrite{Run: "r0", Boot: moduletest.Boot, Touched: []string{"file /etc/c"}, Config: resource.Config{Files: []resource.File{file("/etc/c", "c")}}}
	old := resource.Record{Schema: resource.RecordSchema, Config: resource.Config{KernelArgs: []string{"old"}}, Existed: []string{"/srv"}, AddedArgs: []string{"old"}, Unfinished: unfinished}
	noted := old
	noted.AddedArgs = []string{"new", "old"}
	for name, c := range map[string]struct {
		play    engine.Play
		applied *resource.Record
		booted  []string
		want    *resource.Record
		blocked bool // a directory is in the place of a file
	}{
		"a record":       {playOf("finalize"), &old, []string{"rw", "quiet", "old"}, &noted, false},
		"no record":      {playOf("finalize"), nil, []string{"rw", "quiet"}, &resource.Record{Schema: resource.RecordSchema, Config: resource.Config{Files: d.Config.Files[:1]}, AddedArgs: []string{"new"}}, false},
		"an obstacle":    {playOf("finalize"), nil, []string{"rw", "quiet"}, &resource.Record{Schema: resource.RecordSchema, AddedArgs: []string{"new"}}, true},
		"nothing is new": {playOf("finalize"), &noted, []string{"rw", "quiet", "old"}, nil, false},
		"a write":        {playOf("config", "finalize"), &old, []string{"rw", "quiet", "old"}, nil, false},
		"only staged":    {playOf("stage"), &old, []string{"rw", "quiet", "old"}, nil, false},
	} {
		node := there
		if c.blocked {
			node = resource.PathFacts{Type: resource.PathDirectory, Mode: 0o755, User: "root", Group: "root"}
		}
		f := engine.Facts{
			Host: "w-1", BootID: moduletest.Boot, Tool: "ostree 2025.2", KernelArgs: c.booted,
			Deployments: []engine.Deployment{{Digest: moduletest.V1, ID: "lab-" + moduletest.V1 + ".0", Booted: true}},
			Config:      &resource.ConfigFacts{Applied: c.applied, Nodes: map[string]resource.PathFacts{"/etc/a": node}},
		}
		found, err := ForPlay(c.play)[1].Changes.Diff(d, f)
		if err != nil || len(found.Changes) == 0 {
			t.Fatalf("%s: %v, %v", name, found.Changes, err)
		}
		var got *resource.Record
		for _, s := range found.Steps(moduletest.Target(d, f), found.Changes).Reboot {
			if s.Reboots {
				break
			}
			if s.Name == "record" {
				got = &resource.Record{}
				if err := json.Unmarshal(s.Do.Exec.Uploads[0].Data, got); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: the record before the reboot is %+v, want %+v", name, got, c.want)
		}
	}
}

// Drift that is only reported is no reason to stage.
func TestDriftIsNotStaged(t *testing.T) {
	d := engine.Desired{OS: &engine.OS{Driver: "ostree"}, Config: &resource.Config{KernelArgs: []string{"quiet"}}}
	f := engine.Facts{
		Host: "w-1", BootID: moduletest.Boot, Tool: "ostree 2025.2", KernelArgs: []string{"rw"},
		Deployments: []engine.Deployment{{Digest: moduletest.V1, ID: "lab-" + moduletest.V1 + ".0", Booted: true}},
		Config:      &resource.ConfigFacts{Applied: &resource.Record{Config: resource.Config{KernelArgs: []string{"quiet"}}}},
	}
	for _, report := range []bool{false, true} {
		d.ReportDrift = report
		found, err := ForPlay(playOf("stage"))[1].Changes.Diff(d, f)
		if err != nil || (len(found.Changes) == 0) != report {
			t.Errorf("reported only: %v, changes %v, %v", report, found.Changes, err)
		}
	}
}

// Hosts without an etcd cluster skip tasks for their cluster. The original play
// does not change.
func TestOnMembers(t *testing.T) {
	play := playOf("etcd_defrag", "reboot")
	play.Tasks[0].Skip = map[string]bool{"etcd-1": true}
	inv := engine.Inventory{Hosts: []engine.Host{{Name: "etcd-0", Cluster: "main"}, {Name: "etcd-1", Cluster: "main"}, {Name: "w-1"}}}
	got := SkipNonMembers(play, inv)
	for name, want := range map[string]bool{"etcd-0": true, "etcd-1": false, "w-1": false} {
		if got.HasTaskOn(name, engine.EtcdDefragTask) != want {
			t.Errorf("%s is to defragment: %v", name, !want)
		}
		if !got.HasTaskOn(name, engine.RebootTask) {
			t.Errorf("%s is not to reboot", name)
		}
	}
	if len(play.Tasks[0].Skip) != 1 {
		t.Errorf("the play has been changed: %v", play.Tasks[0].Skip)
	}
}

// If a host needs other changes later in the run, finished tasks are not
// repeated, but tasks around changes are.
func TestAroundAFinishedHost(t *testing.T) {
	play := playOf("config")
	restart, look := serviceTask("a.service", false), commandTask("true")
	play.PreTasks, play.PostTasks = []engine.Task{look}, []engine.Task{look}
	play.Tasks = append(play.Tasks, restart, look)
	modules := ForPlay(play)
	last := modules[len(modules)-1].Tasks
	for _, finished := range []bool{false, true} {
		f := engine.Facts{Host: "w-1", BootID: moduletest.Boot, Finished: finished}
		before, after := last.TasksAround(moduletest.Target(engine.Desired{}, f))
		want := []string{"s", "c", "c"}
		if finished {
			want = []string{"c", "c"}
		}
		var names []string
		for _, s := range after {
			names = append(names, s.Name)
		}
		if len(before) != 1 || !reflect.DeepEqual(names, want) {
			t.Errorf("finished: %v, before %v, after %v", finished, before, names)
		}
		for _, m := range modules {
			if m.Name != tasksName {
				continue
			}
			if found, err := m.Changes.Diff(engine.Desired{}, f); err != nil || finished && len(found.Changes) > 0 {
				t.Errorf("finished, and changes %v, %v", found.Changes, err)
			}
		}
	}
}

// Exactly one module surrounds the others: with two, tasks would run twice.
func TestOneModuleSurrounds(t *testing.T) {
	n := 0
	for _, m := range ForPlay(playOf("config")) {
		if m.Tasks != nil {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d of them do", n)
	}
}

// If a host skips all tasks of a play, the run does nothing on the host, even if
// an earlier run left the host with another OS.
func TestNothingIsSurroundedOnHostsThatSkipAll(t *testing.T) {
	play := playOf("config")
	play.PreTasks, play.PostTasks = []engine.Task{commandTask("true")}, []engine.Task{commandTask("true")}
	for host, want := range map[string]int{"w-1": 0, "w-2": 1} { // number of steps on w-1, by the host that skips the play
		play.Tasks[0].Skip = map[string]bool{host: true}
		before, after := ForPlay(play)[4].Tasks.TasksAround(moduletest.Target(engine.Desired{}, engine.Facts{Host: "w-1"}))
		if len(before) != want || len(after) != want {
			t.Errorf("%s skips: before %v, after %v", host, before, after)
		}
	}
}

// Operators see the command or service in the playbook, not the script around it.
func TestATaskSaysItsCommand(t *testing.T) {
	for want, task := range map[string]engine.Task{
		"touch /run/mark":                  {Command: &engine.CommandTask{Command: "touch /run/mark"}},
		"systemctl restart chrony.service": {Service: &engine.ServiceTask{Unit: "chrony.service"}},
	} {
		steps := placedTask{Task: task}.taskSteps(moduletest.Target(engine.Desired{}, engine.Facts{Host: "w-1"}))
		if x := steps[0].Do.Exec; x.DisplayText() != want {
			t.Errorf("it says %q, not %q", x.DisplayText(), want)
		}
	}
}

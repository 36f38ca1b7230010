package planner_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/planner"
	"holdfast/engine/planner/approval"
	"holdfast/engine/resource"
)

// namesBoot puts the run and the boot ID of the host into steps that reboot it.
func namesBoot(t engine.Target, s *engine.Steps) {
	if len(s.Reboot) > 0 {
		s.Reboot[0].Do.Exec.Script = engine.NewScript("true # " + t.Run)
		s.Reboot = append(s.Reboot, engine.Step{Name: "wait for boot", On: t.Host.Name, Do: engine.Op{AwaitBoot: &engine.AwaitBoot{BootID: t.Facts.BootID}}, Timeout: 1e9})
	}
}

// isStaged is namesBoot for a host whose OS is staged.
func isStaged(t engine.Target, s *engine.Steps) {
	namesBoot(t, s)
	s.Stage = nil
}

// savedWorld returns a world with work of all kinds, and a host with the hold
// of a dead run.
func savedWorld() *world {
	w := &world{
		pools: []engine.Pool{
			{Name: "etcd"},
			{Name: "worker", MaxUnavailable: engine.CountOrPercent{Count: 1, Set: true}, Drain: &engine.Drain{Command: "drain", Undo: "undrain"}},
		},
		hosts:    []*machine{member(0), member(1), member(2), worker(0), worker(1), worker(2)},
		clusters: map[string]*etcd{"main": {leader: "etcd-0"}},
	}
	for _, m := range w.hosts {
		m.work = "reboot"
	}
	w.machine("worker-1").work = "restart"
	w.machine("worker-2").work, w.machine("worker-2").hold = "", "dead"
	return w
}

func savedPlay(command string) *engine.Play {
	task := func(name, command string) engine.Task {
		return engine.Task{Name: name, Module: engine.CommandTaskName, Command: &engine.CommandTask{Command: command}}
	}
	return &engine.Play{Name: "tidy", PreTasks: []engine.Task{task("before", command)}, Tasks: []engine.Task{task("same name", command)}}
}

// A plan is the same as a saved plan if it has the same work, the same steps
// and the same pace. Values that change by themselves between two surveys do
// not count.
func TestSame(t *testing.T) {
	play := func(p *engine.Play) func(*world, *planner.Input) {
		return func(_ *world, in *planner.Input) { in.Play = p }
	}
	worker := func(change func(*engine.Pool)) func(*world, *planner.Input) {
		return func(_ *world, in *planner.Input) { change(&in.Inventory.Pools[1]) }
	}
	facts := func(host string, change func(*engine.Facts)) func(*world, *planner.Input) {
		return func(_ *world, in *planner.Input) {
			f := in.Facts[host]
			change(&f)
			in.Facts[host] = f
		}
	}
	gate := func(when engine.GateWhen, command string) func(*world, *planner.Input) {
		return worker(func(p *engine.Pool) {
			p.Gates = []engine.Gate{{Name: "g", Command: command, When: []engine.GateWhen{when}}}
		})
	}
	serial := savedPlay("true")
	serial.Serial = []engine.CountOrPercent{{Count: 3, Set: true}}
	moved := savedPlay("true")
	moved.Tasks[0].Line = 7
	staged := func(_ *world, in *planner.Input) {
		in.Modules[0].Changes = adjustedFake{in.Modules[0].Changes.(adjustedFake).fakeModule, isStaged}
	}
	over := func(run string) func(*world, *planner.Input) {
		return func(w *world, in *planner.Input) {
			facts("worker-0", func(f *engine.Facts) { f.Rollout = &engine.Rollout{Run: run, Number: 7} })(w, in)
			in.OverIncomplete = true
		}
	}
	unread := func(run string, hosts ...string) func(*world, *planner.Input) {
		return func(w *world, in *planner.Input) {
			if in.OverIncomplete = true; run != "" {
				over(run)(w, in)
			}
			for _, host := range hosts {
				facts(host, func(f *engine.Facts) { f.RolloutSchema = 2 })(w, in)
			}
		}
	}
	for name, c := range map[string]struct {
		then, now func(*world, *planner.Input)
		says      string // "": the plans are the same
	}{
		"nothing":     {nil, nil, ""},
		"another run": {nil, func(_ *world, in *planner.Input) { in.Run = "run-later" }, ""},
		"another leader": {nil, func(w *world, in *planner.Input) {
			w.clusters["main"].leader = "etcd-2"
			in.Clusters["main"] = w.clusterFacts("main")
		}, ""},
		"services": {nil, facts("worker-0", func(f *engine.Facts) { f.Running, f.Failed = append(f.Running, "a.service"), []string{"b.service"} }), ""},
		"time": {
			worker(func(p *engine.Pool) { p.Windows = []engine.Window{{FromMinutes: 13 * 60, ToMinutes: 14 * 60}} }),
			func(_ *world, in *planner.Input) {
				in.Inventory.Pools[1].Windows, in.Now = []engine.Window{{FromMinutes: 13 * 60, ToMinutes: 14 * 60}}, in.Now.Add(time.Hour)
			}, "",
		},
		"lines of a playbook": {play(savedPlay("true")), play(moved), ""},

		"rebooted":          {nil, facts("worker-0", func(f *engine.Facts) { f.BootID = "boot-2" }), "worker-0: it has rebooted"},
		"released":          {nil, facts("worker-2", func(f *engine.Facts) { f.Hold = nil }), "worker-2: the adoption of its hold is in the saved plan, but not in the new plan"},
		"left behind since": {func(_ *world, in *planner.Input) { f := in.Facts["worker-2"]; f.Hold = nil; in.Facts["worker-2"] = f }, nil, "worker-2: its hold is to be adopted, which is not in the saved plan"},
		"other actions":     {nil, func(_ *world, in *planner.Input) { in.Modules[0].Changes.(adjustedFake).work["worker-1"] = "reboot" }, "worker-1: os takes drain, reboot now, and took restart etcd.service"},
		"fewer actions":     {nil, func(_ *world, in *planner.Input) { in.Modules[0].Changes.(adjustedFake).work["worker-0"] = "quiet" }, "worker-0: os takes none now, and took drain, reboot"},
		"max_unavailable":   {nil, worker(func(p *engine.Pool) { p.MaxUnavailable = engine.CountOrPercent{Percent: 100, Set: true} }), "pool worker: max_unavailable is 100% now, and was 1"},
		"budget of the site": {nil, func(_ *world, in *planner.Input) {
			in.Inventory.MaxUnavailable = engine.CountOrPercent{Count: 4, Set: true}
		}, "site: max_unavailable is 4 now, and was not set"},
		"failure budget": {nil, worker(func(p *engine.Pool) { p.FailureBudget = engine.CountOrPercent{Count: 2, Set: true} }), "pool worker: failure_budget is 2 now, and was not set"},
		"canary gone": {worker(func(p *engine.Pool) {
			p.Canary = &engine.Canary{Hosts: engine.CountOrPercent{Count: 1, Set: true}, Soak: 60e9}
		}), nil, "pool worker: canary is not set now, and was 1 for 1m0s"},
		"another drain":               {nil, worker(func(p *engine.Pool) { p.Drain = &engine.Drain{Command: "other", Undo: "undrain"} }), "worker-0: step drain is not as in the saved plan"},
		"staged since":                {nil, staged, "worker-0: step stage is in the saved plan, but not in the new plan"},
		"no longer staged":            {staged, nil, "worker-0: step stage is not in the saved plan"},
		"no drain":                    {nil, worker(func(p *engine.Pool) { p.Drain = nil }), "worker-0: step drain is in the saved plan"},
		"gate":                        {gate(engine.AfterHost, "a"), gate(engine.AfterHost, "b"), "worker-0: step gate g is not as in the saved plan"},
		"gate of a batch":             {gate(engine.BeforeBatch, "a"), gate(engine.BeforeBatch, "b"), "pool worker: gate g is not as it was"},
		"tasks":                       {play(savedPlay("true")), play(savedPlay("rm -rf /srv")), "play tidy: pre-task 1 is not as it was\n  play tidy: task 1 is not as it was"},
		"serial":                      {play(savedPlay("true")), play(serial), "play tidy: serial is 3 now, and was not set"},
		"over a roll-out":             {over("run-a"), over("run-a"), ""},
		"over another one":            {over("run-a"), over("run-b"), "the saved plan may override the unfinished roll-out of run run-a, but run run-b has begun another one since"},
		"over an unread roll-out":     {unread("", "worker-1"), unread("", "worker-1"), ""},
		"over fewer of them":          {unread("", "worker-1", "worker-2"), unread("", "worker-1"), ""},
		"over another unread one":     {unread("", "worker-1"), unread("", "worker-1", "worker-2"), "worker-2 has a roll-out of another version of holdfast that the saved plan does not name"},
		"over one, and an unread one": {over("run-a"), unread("run-a", "worker-1"), "worker-1 has a roll-out of another version of holdfast that the saved plan does not name"},
		"over one after an unread":    {unread("", "worker-1"), unread("run-b", "worker-1"), "but run run-b has begun one since"},
		"permitted now":               {nil, unread("run-b", "worker-1"), ""},
		"was refused":                 {func(_ *world, in *planner.Input) { delete(in.Clusters, "main") }, nil, "begins nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := func(change func(*world, *planner.Input)) engine.Plan {
				w := savedWorld()
				in := w.input()
				in.Modules[0].Changes = adjustedFake{in.Modules[0].Changes.(fakeModule), namesBoot}
				if change != nil {
					change(w, &in)
				}
				return planner.NewPlan(in)
			}
			text, err := json.Marshal(plan(c.then))
			check(t, err)
			var saved engine.Plan
			check(t, json.Unmarshal(text, &saved))
			err = approval.CheckSame(plan(c.now), saved)
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%v, not %q", err, c.says)
			}
		})
	}
}

// TestSavedPermissions: a plan keeps the permissions with which it was made.
func TestSavedPermissions(t *testing.T) {
	in := savedWorld().input()
	if p := planner.NewPlan(in); p.RetryRolledBack || p.OverriddenRun != "" {
		t.Errorf("without permissions: %v, %q", p.RetryRolledBack, p.OverriddenRun)
	}
	in.RetryRejected, in.OverIncomplete = true, true
	if p := planner.NewPlan(in); !p.RetryRolledBack || p.OverriddenRun != "" {
		t.Errorf("over no roll-out: %v, %q", p.RetryRolledBack, p.OverriddenRun)
	}
	for _, host := range []string{"worker-1", "worker-0"} {
		f := in.Facts[host]
		f.RolloutSchema = 2
		in.Facts[host] = f
	}
	if p := planner.NewPlan(in); !slices.Equal(p.OverriddenHosts, []string{"worker-0", "worker-1"}) || !p.OverridesRollout() {
		t.Errorf("over roll-outs of another version: %v", p.OverriddenHosts)
	}
	in.OverIncomplete = false
	if p := planner.NewPlan(in); len(p.OverriddenHosts) > 0 || p.OverridesRollout() {
		t.Errorf("without the permission, over roll-outs of another version: %v", p.OverriddenHosts)
	}
}

// TestReached: a plan has no work. The saved plan was carried out only if its hosts are as it would have made them.
func TestReached(t *testing.T) {
	const gone = "worker-0: os old → new is in the saved plan, but not in the new plan"
	host := func(name string, change func(*engine.Host)) func(*planner.Input) {
		return func(in *planner.Input) {
			for i := range in.Inventory.Hosts {
				if in.Inventory.Hosts[i].Name == name {
					change(&in.Inventory.Hosts[i])
				}
			}
		}
	}
	play := func(p *engine.Play) func(*planner.Input) { return func(in *planner.Input) { in.Play = p } }
	aim := func(d engine.Desired) func(*planner.Input) {
		return func(in *planner.Input) { in.Desired["worker-0"] = d }
	}
	os := &engine.OS{Commit: "new"}
	for name, c := range map[string]struct {
		then, now func(*planner.Input)
		says      string // "": the saved plan was carried out
	}{
		"carried out":           {nil, nil, ""},
		"carried out, a play":   {play(savedPlay("true")), play(savedPlay("true")), ""},
		"not reachable":         {nil, func(in *planner.Input) { in.Facts["worker-0"] = engine.Facts{Host: "worker-0", Unreachable: "timeout"} }, ""},
		"another OS":            {nil, aim(engine.Desired{OS: &engine.OS{Commit: "old"}}), gone},
		"another configuration": {aim(engine.Desired{OS: os, Config: &resource.Config{}}), aim(engine.Desired{OS: os, Config: &resource.Config{Files: []resource.File{{Path: "/a"}}}}), gone},
		"no configuration":      {aim(engine.Desired{OS: os, Config: &resource.Config{}}), nil, gone},
		"leaving":               {nil, host("worker-0", func(h *engine.Host) { h.Leaving = true }), gone},
		"removed": {nil, func(in *planner.Input) {
			in.Inventory.Hosts = append(in.Inventory.Hosts[:3:3], in.Inventory.Hosts[4:]...)
		}, gone},
		"not selected":    {nil, func(in *planner.Input) { in.Selected = func(h engine.Host) bool { return h.Name != "worker-0" } }, gone},
		"another machine": {nil, host("worker-0", func(h *engine.Host) { h.Address = "10.9.9.9" }), "host worker-0: address is 10.9.9.9 now, and was not set"},
		"other tasks":     {play(savedPlay("true")), play(savedPlay("false")), "play tidy: task 1 is not as it was"},
		"another play":    {play(savedPlay("true")), nil, `the saved plan is for play "tidy"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := savedWorld()
			then := w.input()
			if c.then != nil {
				c.then(&then)
			}
			saved := planner.NewPlan(then)
			aims := engine.DigestAims(saved.Hosts, then.Desired)
			for i, hp := range saved.Hosts {
				saved.Hosts[i].Aim = aims[hp.Host]
			}
			for _, m := range w.hosts {
				m.work, m.hold = "", ""
			}
			in := w.input()
			in.SavedWork = saved.Hosts
			if c.now != nil {
				c.now(&in)
			}
			p := planner.NewPlan(in)
			err := approval.CheckReached(p, saved, engine.DigestAims(saved.Hosts, in.Desired))
			if p.HasWork() || c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%v, not %q; work: %t", err, c.says, p.HasWork())
			}
		})
	}
}

// The same difference does not have to be the same change.
func TestSameChange(t *testing.T) {
	none := engine.Action{Type: engine.NoAction}
	file := func(why string) engine.Plan {
		return planOf(engine.Change{Kind: engine.FileKind, Resource: "file /a", Before: "1", After: "2", Verb: "update", Reason: why}, false, none)
	}
	err := approval.CheckSame(file("owner"), file("mode"))
	if err == nil || !strings.Contains(err.Error(), "w: file /a is another change now (owner), and was: mode") {
		t.Error(err)
	}
	if err := approval.CheckSame(file("mode"), file("mode")); err != nil {
		t.Error(err)
	}
	restart, reboot := engine.Action{Type: engine.RestartUnit, Unit: "x"}, engine.Action{Type: engine.RebootAction}
	c := engine.Change{Kind: engine.FileKind, Resource: "file /a", After: "2"}
	if approval.CheckSame(planOf(c, false, reboot), planOf(c, true, restart)) == nil {
		t.Error("a saved plan allows for a reboot in place of an action that has not failed in its run")
	}
}

// A plan names its hosts, unless it is for all hosts.
func TestSelected(t *testing.T) {
	w := savedWorld()
	if p := planner.NewPlan(w.input()); p.Selected != nil {
		t.Error(p.Selected)
	}
	for _, m := range w.hosts[:4] {
		m.ignored = true
	}
	if p := planner.NewPlan(w.input()); strings.Join(p.Selected, " ") != "worker-1 worker-2" {
		t.Error(p.Selected)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package planner_test

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/planner/approval"
)

// planOf returns a plan for one host with one change and these actions.
func planOf(c engine.Change, fallback bool, actions ...engine.Action) engine.Plan {
	c.Module, c.Actions = "config", actions
	act := engine.Step{Name: "act", On: "w", Do: engine.Op{Exec: &engine.Exec{Script: engine.NewScript("true"), Fallback: fallback}}}
	return engine.Plan{Hosts: []engine.HostPlan{{Host: "w", Changes: []engine.Change{c}, Actions: actions, Sequence: []engine.Step{act}}}}
}

// A change may need a reboot in place of its approved actions only if the
// approved plan contains the fallback, also after the plan was saved.
func TestCheckFallback(t *testing.T) {
	reload := engine.Action{Type: engine.ReloadUnit, Unit: "crio.service"}
	drain, reboot := engine.Action{Type: engine.DrainAction}, engine.Action{Type: engine.RebootAction}
	file := engine.Change{Kind: engine.FileKind, Resource: "file /a", Before: "1", After: "2", Verb: "update"}
	other := engine.Change{Kind: engine.FileKind, Resource: "file /b", Before: "1", After: "2", Verb: "update"}
	record := engine.Change{Resource: engine.RecordResource, After: "of this configuration"}
	none := engine.Action{Type: engine.NoAction}
	for name, c := range map[string]struct {
		approved, later engine.Plan
		passes          bool
	}{
		"fallback":               {planOf(file, true, reload), planOf(file, false, drain, reboot), true},
		"no fallback":            {planOf(file, false, reload), planOf(file, false, drain, reboot), false},
		"another change":         {planOf(file, true, reload), planOf(other, false, drain, reboot), false},
		"another action":         {planOf(file, true, reload), planOf(file, true, engine.Action{Type: engine.RestartUnit, Unit: "crio.service"}), false},
		"record of what is done": {planOf(file, true, reload), planOf(record, false, none), true},
		"record of nothing":      {engine.Plan{}, planOf(record, false, none), false},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(c.approved)
			if err != nil {
				t.Fatal(err)
			}
			var saved engine.Plan
			if err := json.Unmarshal(text, &saved); err != nil {
				t.Fatal(err)
			}
			for _, approved := range []engine.Plan{c.approved, saved} {
				if err := approval.CheckApproved(c.later, approved); (err == nil) != c.passes {
					t.Errorf("passes: %t, not %t: %v", err == nil, c.passes, err)
				}
			}
		})
	}
}

// A changed resource must be in the state that the approved plan shows.
func TestMoved(t *testing.T) {
	none := engine.Action{Type: engine.NoAction}
	change := func(before string, verb engine.Verb) engine.Plan {
		return planOf(engine.Change{Kind: engine.FileKind, Resource: "file /a", Before: before, After: "2", Verb: verb}, false, none)
	}
	record := func(before string) engine.Plan {
		return planOf(engine.Change{Resource: engine.RecordResource, Before: before, After: "of this configuration", Verb: "update"}, false, none)
	}
	for name, c := range map[string]struct {
		approved, later engine.Plan
		begun, moved    bool
	}{
		"as it was":          {change("1", "update"), change("1", "update"), false, false},
		"edited":             {change("1", "update"), change("3", "update"), false, true},
		"made by hand":       {change("1", "update"), change("2", "update"), false, false},
		"begun by this run":  {change("1", "update"), change("3", "update"), true, false},
		"an OS":              {change("1", ""), change("3", ""), false, false},
		"a record":           {record("absent"), record("of another configuration"), false, false},
		"not in it":          {engine.Plan{}, change("3", "update"), false, false},
		"nothing left to do": {change("1", "update"), engine.Plan{}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := approval.CheckUnedited(c.later, c.approved, func(string) bool { return c.begun })
			if (err != nil) != c.moved {
				t.Fatalf("moved: %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), "w: file /a is 3 now, and was 1") {
				t.Error(err)
			}
		})
	}
}

// Each edited resource is named: of every host, of every change, and also those that the plan removes.
func TestEachEditIsNamed(t *testing.T) {
	plan := func(before string) engine.Plan {
		var p engine.Plan
		for _, host := range []string{"w1", "w2"} {
			hp := engine.HostPlan{Host: host}
			hp.Changes = []engine.Change{
				{Module: engine.ConfigModule, Kind: engine.FileKind, Resource: "file /same", Before: "1", After: "2", Verb: "update"},
				{Module: engine.ConfigModule, Kind: engine.FileKind, Resource: "file /removed", Before: before, After: "absent", Verb: "delete"},
				{Module: engine.ConfigModule, Kind: engine.FileKind, Resource: "file /updated", Before: before, After: "2", Verb: "update"},
				{Module: engine.ConfigModule, Kind: engine.FileKind, Resource: "file /created", Before: "absent" + before, After: "2", Verb: "create"},
			}
			p.Hosts = append(p.Hosts, hp)
		}
		return p
	}
	err := approval.CheckUnedited(plan("3"), plan("1"), func(string) bool { return false })
	if err == nil {
		t.Fatal("edits pass")
	}
	for _, host := range []string{"w1", "w2"} {
		for _, edit := range []string{"file /removed is 3 now, and was 1", "file /updated is 3 now, and was 1", "file /created is absent3 now, and was absent1"} {
			if !strings.Contains(err.Error(), host+": "+edit) {
				t.Errorf("%s: %q is not named in %v", host, edit, err)
			}
		}
	}
	if strings.Contains(err.Error(), "/same") {
		t.Errorf("a file that is as it was is named: %v", err)
	}
	if err := approval.CheckUnedited(plan("3"), plan("1"), func(host string) bool { return host == "w1" }); err == nil || strings.Contains(err.Error(), "w1") {
		t.Errorf("the host that the run has not begun: %v", err)
	}
}

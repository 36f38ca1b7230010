package planner_test

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
	"holdfast/engine/planner"
	"holdfast/engine/rules"
)

// rebootingModule changes one resource of a class by a reboot. Its steps name the kind.
type rebootingModule struct{ class string }

func (m rebootingModule) Diff(engine.Desired, engine.Facts) (engine.Difference, error) {
	if m.class == "" {
		return engine.Difference{}, nil
	}
	c := engine.Change{Resource: m.class, RebootClass: m.class, Actions: []engine.Action{{Type: engine.DrainAction}, {Type: engine.RebootAction}}}
	return engine.Difference{Changes: []engine.Change{c}, Steps: func(t engine.Target, _ []engine.Change) engine.Steps {
		name := "reboot: " + string(t.Reboot)
		return engine.Steps{Write: []engine.Step{{Name: name}}, Reboot: []engine.Step{{Name: name, Reboots: true}, {Name: "wait for boot", Do: engine.Op{AwaitBoot: &engine.AwaitBoot{Kind: t.Reboot}}}}}
	}}, nil
}

// TestKindOfReboot checks that the changes of all modules decide about one kind of reboot, that
// all modules get it, and that a host is left out if its pool does not allow it.
func TestKindOfReboot(t *testing.T) {
	for name, tc := range map[string]struct {
		mode      engine.SoftRebootMode
		force     bool
		one, two  string
		kind      engine.RebootKind
		isSoft    bool // a soft reboot is enough
		isLeftOut bool
	}{
		"default":        {engine.NeverSoft, false, "other files", "", engine.FullReboot, true, false},
		"soft":           {engine.AutoSoft, false, "other files", "accounts", engine.SoftReboot, true, false},
		"falls back":     {engine.AutoSoft, false, "other files", rules.KernelArgsClass, engine.FullReboot, false, false},
		"the other way":  {engine.AutoSoft, false, rules.KernelArgsClass, "other files", engine.FullReboot, false, false},
		"required":       {engine.RequireSoft, false, "other files", "", engine.SoftReboot, true, false},
		"left out":       {engine.RequireSoft, false, "other files", "network", "", false, true},
		"--full-reboot":  {engine.RequireSoft, true, "other files", "network", engine.FullReboot, false, false},
		"nothing to do":  {engine.RequireSoft, false, "", "", "", false, false},
		"forced instead": {engine.AutoSoft, true, "other files", "", engine.FullReboot, true, false},
	} {
		w := &world{pools: []engine.Pool{{Name: "worker", Reboot: engine.RebootSetting{Soft: tc.mode}}}, hosts: []*machine{worker(0)}}
		in := w.input()
		host := w.hosts[0].name
		f := in.Facts[host]
		f.Reboots = engine.RebootFacts{CountsSoft: true, PreparesSoft: true, KeepsMounts: true, KeepsBoot: true}
		f.Node = &kubefacts.NodeState{Kubernetes: "main", Node: host}
		in.Facts[host] = f
		d := in.Desired[host]
		d.OS = &engine.OS{Driver: "ostree"}
		in.Desired = map[string]engine.Desired{host: d}
		in.Modules = []engine.Module{{Name: "one", Changes: rebootingModule{tc.one}}, {Name: "two", Changes: rebootingModule{tc.two}}}
		in.FullReboot = tc.force
		p := planner.NewPlan(in)
		hp := p.Host(host)
		if out := p.HasExclusion(engine.NeedsFullReboot); out != tc.isLeftOut || out && (hp != nil || !strings.Contains(p.Excluded[0].Reason, "network: ")) {
			t.Errorf("%s: left out: %v", name, p.Excluded)
		}
		if hp == nil || tc.kind == "" {
			if hp != nil || !tc.isLeftOut && len(p.Matching) != 1 {
				t.Errorf("%s: %+v", name, hp)
			}
			continue
		}
		if r := hp.Reboot; r == nil || r.Kind != tc.kind || r.Least.SharesKernel() != tc.isSoft {
			t.Errorf("%s: %+v", name, r)
		}
		for _, s := range hp.Sequence {
			if wait := s.Do.AwaitNode; wait != nil && (wait.SoftRebooted != (tc.kind == engine.SoftReboot) || wait.Rebooted == wait.SoftRebooted) {
				t.Errorf("%s: %+v", name, wait)
			}
			if strings.HasPrefix(s.Name, "reboot: ") && s.Name != "reboot: "+string(tc.kind) {
				t.Errorf("%s: step %q", name, s.Name)
			}
		}
	}
}

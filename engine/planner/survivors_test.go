package planner_test

import (
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
	"holdfast/engine/planner"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
)

// bootModule stages and boots another OS, unless the host runs it.
type bootModule struct{ next string }

func (m bootModule) Diff(_ engine.Desired, f engine.Facts) (engine.Difference, error) {
	if f.Booted().Digest == m.next {
		return engine.Difference{}, nil
	}
	c := engine.Change{Module: "os", Resource: "os", After: m.next, RebootClass: rules.OSImageClass, Actions: []engine.Action{{Type: engine.DrainAction}, {Type: engine.RebootAction}}}
	return engine.Difference{Changes: []engine.Change{c}, Steps: func(t engine.Target, _ []engine.Change) engine.Steps {
		name := "finalize"
		if t.MustSurvive {
			name += ", without a fallback"
		}
		return engine.Steps{
			Stage:  []engine.Step{{Name: "stage"}},
			Reboot: []engine.Step{{Name: name, Reboots: true}, {Name: "wait for boot", Do: engine.Op{AwaitBoot: &engine.AwaitBoot{Digest: m.next, Kind: t.Reboot}}}},
		}
	}}, nil
}

// survivorInput is a cluster of healthy members that survive soft reboots. etcd-0 runs old, and its member may run from another deployment.
func survivorInput(voters int, allowOutage, outdated bool, next string) planner.Input {
	var members []*machine
	for i := range voters {
		members = append(members, member(i))
	}
	w := etcdWorld(members, 0)
	w.pools[0].Reboot.Soft = engine.AutoSoft
	in := w.input()
	in.Inventory.Pools = slices.Clone(in.Inventory.Pools)
	for i := range in.Inventory.Pools {
		in.Inventory.Pools[i].Reboot.Soft = engine.AutoSoft
	}
	in.Inventory.Clusters[0].AllowOutage = allowOutage
	in.Inventory.Clusters[0].Managed = &engine.ManagedMembers{Unit: "etcd.service", SurviveSoftReboots: true}
	in.Desired = map[string]engine.Desired{}
	for _, h := range in.Inventory.Hosts {
		f := in.Facts[h.Name]
		f.BootID, f.Reboots = "b", engine.RebootFacts{CountsSoft: true, PreparesSoft: true, KeepsMounts: true, KeepsBoot: true, Composefs: true}
		f.Deployments = []engine.Deployment{{Digest: next, Booted: true}}
		f.Survivors = []engine.Survivor{{Unit: "etcd.service", Survives: true}}
		if h.Name == "etcd-0" {
			f.Deployments[0].Digest = "old"
			f.Survivors[0].Outdated = outdated
		}
		in.Facts[h.Name] = f
		in.Desired[h.Name] = engine.Desired{OS: &engine.OS{Driver: "ostree", Commit: next}}
	}
	in.Modules = []engine.Module{{Name: "os", Changes: bootModule{next}}}
	return in
}

func namesOfSteps(steps []engine.Step) string {
	var names []string
	for _, s := range steps {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// TestMemberSurvivesReboot: a member that the cluster can spare restarts under quorum after the soft reboot. One that it
// cannot spare runs on, needs no allow_outage, and is never stopped by a full reboot instead.
func TestMemberSurvivesReboot(t *testing.T) {
	const before = "hold, check quorum, move etcd leader, check quorum, "
	for name, c := range map[string]struct {
		voters      int
		allowOutage bool
		survival    engine.Survival
		steps       string
	}{
		"three":        {3, false, engine.RestartsAfter, before + "finalize, wait for boot, wait for units, wait for etcd, move etcd leader, check quorum, restart survivors, wait for units, wait for etcd, release"},
		"one":          {1, false, engine.KeepsOldOS, before + "finalize, without a fallback, wait for boot, wait for units, wait for etcd, release"},
		"two":          {2, false, engine.KeepsOldOS, before + "finalize, without a fallback, wait for boot, wait for units, wait for etcd, release"},
		"one, allowed": {1, true, engine.RestartsAfter, before + "finalize, wait for boot, wait for units, wait for etcd, move etcd leader, check quorum, restart survivors, wait for units, wait for etcd, release"},
	} {
		p := planner.NewPlan(survivorInput(c.voters, c.allowOutage, false, "next"))
		hp := p.Host("etcd-0")
		if hp == nil || hp.Reboot == nil || len(p.Refusals) > 0 {
			t.Errorf("%s: %+v, refused: %v, excluded: %v", name, hp, p.Refusals, p.Excluded)
			continue
		}
		if got := namesOfSteps(hp.Sequence); hp.Reboot.Kind != engine.SoftReboot || hp.Reboot.Survival != c.survival || got != c.steps {
			t.Errorf("%s: %+v\n got %s\nwant %s", name, hp.Reboot, got, c.steps)
		}
		for _, s := range hp.Sequence {
			if q := s.Do.Quorum; q != nil && q.RunsOn != (c.survival == engine.KeepsOldOS) {
				t.Errorf("%s: %+v", name, q)
			}
		}
	}
}

// TestKubeletThatRunsOn: after a soft reboot, the run waits for a new report of the kubelet, unless a service that runs on
// may be the kubelet.
func TestKubeletThatRunsOn(t *testing.T) {
	for _, other := range []string{"", "kubelet.service"} {
		in := survivorInput(3, false, false, "next")
		f := in.Facts["etcd-0"]
		f.Node = &kubefacts.NodeState{Kubernetes: "main", Node: "etcd-0"}
		if other != "" {
			f.Survivors = append(f.Survivors, engine.Survivor{Unit: other, Survives: true})
		}
		in.Facts["etcd-0"] = f
		waits := 0
		for _, s := range planner.NewPlan(in).Host("etcd-0").Sequence {
			if wait := s.Do.AwaitNode; wait != nil {
				if waits++; wait.SoftRebooted != (other == "") || wait.Rebooted {
					t.Errorf("%q: %+v", other, wait)
				}
			}
		}
		if waits != 1 {
			t.Errorf("%q: %d waits", other, waits)
		}
	}
}

// TestFullRebootNeedsOutage: a reboot that stops the member of a cluster of one is refused, also if the member would survive a soft one.
func TestFullRebootNeedsOutage(t *testing.T) {
	in := survivorInput(1, false, false, "next")
	in.FullReboot = true
	if p := planner.NewPlan(in); len(p.Batches) > 0 || len(p.Refusals) != 1 || !strings.Contains(p.Refusals[0], "allow_outage") {
		t.Errorf("%+v, %v", p.Batches, p.Refusals)
	}
}

// TestOutdatedMember: no OS is staged, and no host finalizes one, while a member runs from another deployment. It restarts
// first, or the host is left out.
func TestOutdatedMember(t *testing.T) {
	for name, c := range map[string]struct {
		voters      int
		allowOutage bool
		next        string
		steps       string // "": the host has no work
		excluded    bool
		warns       bool
	}{
		"three, next OS":        {3, false, "next", "hold, check quorum, move etcd leader, check quorum, restart survivors, wait for units, wait for etcd, release", false, false},
		"three, same OS":        {3, false, "old", "hold, check quorum, move etcd leader, check quorum, restart survivors, wait for units, wait for etcd, release", false, false},
		"one, next OS":          {1, false, "next", "", true, false},
		"one, same OS":          {1, false, "old", "", false, true},
		"one, allowed, next OS": {1, true, "next", "hold, check quorum, move etcd leader, check quorum, restart survivors, wait for units, wait for etcd, release", false, false},
		"one, allowed, same OS": {1, true, "old", "hold, check quorum, move etcd leader, check quorum, restart survivors, wait for units, wait for etcd, release", false, false},
	} {
		in := survivorInput(c.voters, c.allowOutage, true, c.next)
		p, status := planner.NewPlan(in), planner.NewStatus(in)
		hp := p.Host("etcd-0")
		if c.excluded != p.HasExclusion(engine.OldProcess) || c.warns != strings.Contains(strings.Join(p.Warnings, "\n"), "etcd-0: etcd.service runs from an earlier deployment; a restart costs cluster main its quorum") {
			t.Errorf("%s: excluded %+v, warnings %q", name, p.Excluded, p.Warnings)
		}
		if (hp != nil) != (c.steps != "") || len(p.Refusals) > 0 {
			t.Errorf("%s: %+v, refused: %v", name, hp, p.Refusals)
		}
		if hp != nil {
			last := hp.Sequence[len(hp.Sequence)-1].Do.Release
			if got := namesOfSteps(hp.Sequence); got != c.steps || len(hp.Stage) > 0 || hp.RestartsFirst != (c.next == "next") || hp.RestartsFirst == last.Updated || hp.Reboot != nil {
				t.Errorf("%s: stage %v, restarts first: %v, reboot %+v, release %+v\n got %s\nwant %s", name, hp.Stage, hp.RestartsFirst, hp.Reboot, last, got, c.steps)
			}
		}
		if s := status.Hosts[0]; len(s.Survivors) != 1 || !s.Survivors[0].Outdated || s.Reason == "" || (s.State == engine.Updated) != c.warns {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestKeptServices: a service that a pool keeps restarts after the soft reboot, also where the member of the host must not
// stop, and under the same law. Its restarts stop no member, so a cluster of one needs no allow_outage for them.
func TestKeptServices(t *testing.T) {
	const before, restart = "hold, check quorum, move etcd leader, check quorum, ", "restart survivors, wait for units, wait for etcd, release"
	for name, c := range map[string]struct {
		voters                   int
		appOutdated, etcOutdated bool
		next                     string
		steps                    string
		units                    string // that restart
		excluded                 bool
	}{
		"three":                      {3, false, false, "next", before + "finalize, wait for boot, wait for units, wait for etcd, move etcd leader, check quorum, " + restart, "etcd.service app.service", false},
		"one":                        {1, false, false, "next", before + "finalize, without a fallback, wait for boot, wait for units, wait for etcd, " + restart, "app.service", false},
		"one, app is outdated":       {1, true, false, "next", before + restart, "app.service", false},
		"one, both are outdated":     {1, true, true, "next", "", "", true},
		"one, both, but no other OS": {1, true, true, "old", before + restart, "app.service", false},
		"three, app is outdated":     {3, true, false, "old", before + restart, "app.service", false},
	} {
		in := survivorInput(c.voters, false, c.etcOutdated, c.next)
		for name, f := range in.Facts {
			f.Survivors = append(f.Survivors, engine.Survivor{Unit: "app.service", Survives: true, Outdated: c.appOutdated && name == "etcd-0"})
			in.Facts[name] = f
		}
		p := planner.NewPlan(in)
		hp := p.Host("etcd-0")
		if p.HasExclusion(engine.OldProcess) != c.excluded || len(p.Refusals) > 0 || (hp == nil) != c.excluded {
			t.Errorf("%s: %+v, refused: %v, excluded: %+v", name, hp, p.Refusals, p.Excluded)
			continue
		}
		if hp == nil {
			continue
		}
		units, member := "", false
		for _, s := range hp.Sequence {
			if r := s.Do.RestartSurvivors; r != nil {
				units, member = strings.Join(r.Units, " "), r.HasMember
			}
			if q := s.Do.Quorum; q != nil && c.voters == 1 && !q.RunsOn {
				t.Errorf("%s: the quorum of a cluster that the work does not touch is needed: %+v", name, s)
			}
		}
		if got := namesOfSteps(hp.Sequence); got != c.steps || units != c.units || member != strings.Contains(units, "etcd") || hp.RestartsFirst != (c.appOutdated && c.next == "next") {
			t.Errorf("%s: restarts %s\n got %s\nwant %s", name, units, got, c.steps)
		}
	}
}

// unitModule changes a unit, and restarts it.
type unitModule struct{ unit string }

func (m unitModule) Diff(engine.Desired, engine.Facts) (engine.Difference, error) {
	c := engine.Change{Module: "config", Kind: engine.UnitKind, Resource: "unit " + m.unit, Actions: []engine.Action{{Type: engine.RestartUnit, Unit: m.unit}}}
	return engine.Difference{Changes: []engine.Change{c}, Steps: func(engine.Target, []engine.Change) engine.Steps {
		return engine.Steps{Write: []engine.Step{{Name: "write"}}, Act: []engine.Step{{Name: "act"}}}
	}}, nil
}

// TestDropinStays: the drop-in of a service stays until the service runs from the deployment of the host, because without
// the drop-in a later run would not see that it does not.
func TestDropinStays(t *testing.T) {
	for unit, first := range map[string]bool{"app.service": true, "other.service": false} {
		in := survivorInput(3, false, false, "old")
		in.Modules = []engine.Module{{Name: "config", Changes: unitModule{unit}}}
		f := in.Facts["etcd-0"]
		f.Survivors = []engine.Survivor{{Unit: "app.service", Survives: true, Outdated: true}}
		in.Facts["etcd-0"] = f
		hp := planner.NewPlan(in).Host("etcd-0")
		if hp == nil || hp.RestartsFirst != first || strings.Contains(namesOfSteps(hp.Sequence), "write") == first || !strings.Contains(namesOfSteps(hp.Sequence), "restart survivors") {
			t.Errorf("%s: %+v", unit, hp)
		}
	}
}

// TestPlayRestartsNothing: a play only runs its tasks, and so leaves a host out whose member runs from the old deployment.
func TestPlayRestartsNothing(t *testing.T) {
	in := survivorInput(3, false, true, "next")
	in.Play = &engine.Play{Name: "p"}
	p := planner.NewPlan(in)
	if !p.HasExclusion(engine.OldProcess) || !strings.Contains(p.Excluded[0].Reason, "holdfast apply without a playbook") {
		t.Errorf("%+v", p.Excluded)
	}
}

// TestLeftOutIsNotComplete: a host that waits for a restart does not match.
func TestLeftOutIsNotComplete(t *testing.T) {
	v := engine.NewVerdict(engine.Findings{Excluded: []engine.Exclusion{{Host: "a", Kind: engine.OldProcess}}})
	if v.Exit != engine.ExitFailed || v.Complete {
		t.Errorf("%+v", v)
	}
}

// TestOwnRoot: a restart never brings a service with a root file system of its own into that of the host, so no run
// restarts it, and the host is left out before another OS.
func TestOwnRoot(t *testing.T) {
	for next, excluded := range map[string]bool{"next": true, "old": false} {
		in := survivorInput(3, false, false, next)
		f := in.Facts["etcd-0"]
		f.Survivors = []engine.Survivor{{Unit: "app.service", Outdated: true}}
		f.SurvivalProblems = []engine.SurvivalProblem{{Unit: "app.service", Obstacle: engine.SurvivesOwnRoot}}
		in.Facts["etcd-0"] = f
		p := planner.NewPlan(in)
		if p.HasExclusion(engine.OldProcess) != excluded || p.Host("etcd-0") != nil || excluded && !strings.Contains(p.Excluded[0].Reason, "root file system of its own") {
			t.Errorf("%s: %+v, excluded %+v", next, p.Host("etcd-0"), p.Excluded)
		}
	}
}

// TestReleasedServiceStops: a service whose drop-in a change removes does not run on during the reboot for an OS, because
// nothing would show that afterwards. It stops before the drop-in goes. With the drop-in, it runs on, and restarts.
func TestReleasedServiceStops(t *testing.T) {
	const rest = "move etcd leader, check quorum, finalize, wait for boot, wait for units, wait for etcd, move etcd leader, check quorum, restart survivors, wait for units, wait for etcd, release"
	for steps, c := range map[string]struct {
		kept     []string
		changed  string
		restarts string
	}{
		"hold, check quorum, stop services, write, " + rest:    {nil, "app.service", "etcd.service"},
		"hold, check quorum, write, " + rest:                   {[]string{"app.service"}, "app.service", "etcd.service app.service"},
		"hold, check quorum, write, " + rest + " of the other": {nil, "other.service", "etcd.service app.service"},
	} {
		in := survivorInput(3, false, false, "next")
		in.Modules = append(in.Modules, engine.Module{Name: "config", Changes: unitModule{c.changed}})
		d := in.Desired["etcd-0"]
		d.Config = &resource.Config{}
		for _, unit := range c.kept {
			d.Config.Units = append(d.Config.Units, resource.Unit{Name: unit, Dropins: []resource.Dropin{{Name: engine.KeepDropin}}})
		}
		in.Desired["etcd-0"] = d
		f := in.Facts["etcd-0"]
		f.Survivors = append(f.Survivors, engine.Survivor{Unit: "app.service", Survives: true})
		in.Facts["etcd-0"] = f
		p := planner.NewPlan(in)
		hp := p.Host("etcd-0")
		if hp == nil || hp.Reboot == nil || hp.Reboot.Kind != engine.SoftReboot {
			t.Fatalf("%s: %+v, excluded %+v", c.changed, hp, p.Excluded)
		}
		if got := namesOfSteps(hp.Sequence); got != strings.TrimSuffix(steps, " of the other") || strings.Join(hp.Reboot.Restarts, " ") != c.restarts {
			t.Errorf("%s: restarts %v\n got %s\nwant %s", c.changed, hp.Reboot.Restarts, got, steps)
		}
	}
}

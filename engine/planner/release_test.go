package planner_test

import (
	"testing"

	"holdfast/engine"
	"holdfast/engine/planner"
)

// The release of a matching host accepts the OS that the host then runs, if the
// host was rolled back from that OS. A host that the plan does not reboot may
// boot unnoticed, so its release names the boot for which it holds.
func TestReleaseAccepts(t *testing.T) {
	hold := &engine.Hold{Kind: engine.RunHold, Run: deadRun, Bastion: thisBastion}
	for name, c := range map[string]struct {
		boots    bool // the plan reboots the host
		booted   string
		await    engine.AwaitBoot
		rejected []string
		want     engine.Release
	}{
		"tried once more":            {true, "old", engine.AwaitBoot{BootID: "boot-1", Digest: "new"}, []string{"odd", "new"}, engine.Release{Updated: true, Accepts: "new"}},
		"another OS":                 {true, "old", engine.AwaitBoot{BootID: "boot-1", Digest: "new"}, []string{"odd"}, engine.Release{Updated: true}},
		"left for good":              {true, "odd", engine.AwaitBoot{BootID: "boot-1", Digest: "new"}, []string{"odd"}, engine.Release{Updated: true}},
		"whatever boots":             {true, "odd", engine.AwaitBoot{BootID: "boot-1"}, []string{"odd"}, engine.Release{Updated: true}},
		"taken over":                 {false, "new", engine.AwaitBoot{}, []string{"new"}, engine.Release{Updated: true, Accepts: "new", BootID: "boot-1"}},
		"taken over, back before":    {false, "old", engine.AwaitBoot{}, []string{"new"}, engine.Release{}},
		"taken over, not understood": {false, "", engine.AwaitBoot{}, []string{"new"}, engine.Release{Updated: true}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{pools: []engine.Pool{{Name: "worker"}}, hosts: []*machine{worker(0)}}
			in := w.input()
			f := in.Facts["worker-0"]
			f.Hold, f.Rejected = hold, c.rejected
			if c.booted != "" {
				f.Deployments = []engine.Deployment{{Digest: c.booted, Booted: true}}
			}
			in.Facts["worker-0"], in.RetryRejected = f, true
			in.Modules = []engine.Module{namedFake(awaits{fakeModule{map[string]string{}}, c.await})}
			if c.boots {
				in.Modules = []engine.Module{namedFake(awaits{fakeModule{map[string]string{"worker-0": "reboot"}}, c.await})}
			}
			roll := planner.NewPlan(in).Host("worker-0").Sequence
			if got := roll[len(roll)-1].Do.Release; got == nil || *got != c.want {
				t.Errorf("got %+v of %+v", got, roll)
			}
		})
	}
}

// awaits is a module that waits for a boot after its reboot.
type awaits struct {
	fakeModule
	boot engine.AwaitBoot
}

func (m awaits) Diff(d engine.Desired, f engine.Facts) (engine.Difference, error) {
	x, err := m.fakeModule.Diff(d, f)
	x.Steps = m.planSteps
	return x, err
}

func (m awaits) planSteps(t engine.Target, changes []engine.Change) engine.Steps {
	steps := m.fakeModule.planSteps(t, changes)
	steps.Reboot = append(steps.Reboot, engine.Step{Name: "wait for boot", On: t.Host.Name, Do: engine.Op{AwaitBoot: &m.boot}})
	return steps
}

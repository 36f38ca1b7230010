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
		"taken over, back before":    {false, "old", engine.AwaitBoot{}, []string{"new"}, engine.Release{Whole: true}},
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
			work := map[string]string{}
			if c.boots {
				work["worker-0"] = "reboot"
			}
			in.Modules = []engine.Module{awaitsBoot(work, c.await)}
			roll := planner.NewPlan(in).Host("worker-0").Sequence
			if got := roll[len(roll)-1].Do.Release; got == nil || *got != c.want {
				t.Errorf("got %+v of %+v", got, roll)
			}
		})
	}
}

// awaitsBoot returns a module that waits for a boot after its reboot.
func awaitsBoot(work map[string]string, boot engine.AwaitBoot) engine.Module {
	return namedFake(adjustedFake{fakeModule{work}, func(t engine.Target, s *engine.Steps) {
		s.Reboot = append(s.Reboot, engine.Step{Name: "wait for boot", On: t.Host.Name, Do: engine.Op{AwaitBoot: &boot}})
	}})
}

package modules

import (
	"os/exec"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
)

func TestStagedOnceThenFinalized(t *testing.T) {
	each(t, func(b *box, s site, d engine.Desired) {
		b.want(b.stage(d), 0, "staged and locked: "+s.os.Digest())
		f := b.gatherFacts(d)
		if !f.Ready(s.os.Digest(), "") || len(f.Problems) > 0 {
			b.t.Fatalf("not ready: %+v", f)
		}
		for _, line := range append(s.logs, "--property=IOSchedulingClass=idle") {
			if !strings.Contains(b.log(), line) {
				b.t.Errorf("no %q in\n%s", line, b.log())
			}
		}
		if strings.Contains(b.log(), "\nunlocked\n") {
			b.t.Errorf("it was staged unlocked for a moment")
		}
		if b.exists("run/systemd/system/rpm-ostreed.service.d") {
			b.t.Error("the daemon keeps its low priority")
		}
		if stage := b.steps(d).Stage; len(stage) > 0 {
			b.t.Errorf("staged again: %v", stage)
		}

		b.hold(engine.RunHold, "r1")
		b.want(b.finalize(d), 0, "rebooting into "+s.os.Digest())
		log := b.log()
		if strings.Count(log, "rebooted unlocked\n") != 1 || !strings.Contains(log, "--property=After=ostree-finalize-staged.service") {
			b.t.Errorf("log:\n%s", log)
		}
		if left := files(b.root + "/run/holdfast"); strings.Contains(left, ".sh") || strings.Contains(left, "stage.") && strings.Count(left, "stage.") > 2 {
			b.t.Errorf("left behind: %s", left)
		}
	})
}

func files(dir string) string {
	out, _ := exec.Command("ls", dir).Output()
	return string(out)
}

func TestStageBringsBackWhatSomebodyElseDid(t *testing.T) {
	one(t, func(b *box, s site, d engine.Desired) {
		b.want(b.stage(d), 0, "staged and locked")
		script := b.steps(engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/x", Commit: v3}}).Stage[0].Do.Exec.Script
		stage := b.planStage(d)
		b.run("ostree admin lock-finalization --unlock; rm -f /run/ostree/staged-deployment-locked")
		runs := strings.Count(b.log(), "systemd-run")
		b.want(b.run(stage), 0, "staged and locked")
		if strings.Count(b.log(), "systemd-run") != runs {
			b.t.Error("locking it again took a staging")
		}
		if !b.gatherFacts(d).Ready(s.os.Digest(), "") {
			b.t.Error("not locked again")
		}
		b.want(b.run(script), 0, "staged and locked: "+v3)
		b.want(b.stage(d), 0, "staged and locked")
		if !b.gatherFacts(d).Ready(s.os.Digest(), "") {
			b.t.Error("what was staged instead was not replaced")
		}
		if strings.Contains(b.log(), "\nunlocked\n") {
			b.t.Error("it was staged unlocked for a moment")
		}
	})
}

// planStage returns the stage step for a host without a staged deployment.
func (b *box) planStage(d engine.Desired) string {
	f := b.gatherFacts(d)
	for i := range f.Deployments {
		f.Deployments[i].Locked = false
	}
	changes := []engine.Change{{Module: "os"}}
	return operatingSystem{}.Steps(target(d, f), changes).Stage[0].Do.Exec.Script
}

func TestFinalizeTouchesNothingUnlessAllIsAsPlanned(t *testing.T) {
	spoil := map[string]struct {
		do   func(*box)
		code int
		says string
	}{
		"not held":         {func(b *box) { b.remove(engine.HoldPath) }, hostscript.ScriptHeld, "not held by this run"},
		"held by a person": {func(b *box) { b.hold(engine.MaintenanceHold, "m1") }, hostscript.ScriptHeld, "someone else"},
		"held by a run":    {func(b *box) { b.hold(engine.RunHold, "r2") }, hostscript.ScriptHeld, "someone else"},
		"rebooted":         {func(b *box) { b.write("proc/sys/kernel/random/boot_id", "other") }, hostscript.ScriptChanged, "has rebooted"},
		"nothing staged":   {func(b *box) { b.run("ostree admin undeploy 0") }, hostscript.ScriptChanged, "nothing is staged"},
		"another staged":   {func(b *box) { b.write("staged", v3+" lab:lab/stable") }, hostscript.ScriptChanged, v3 + ".0 is staged, which is not"},
		"unlocked": {func(b *box) {
			b.run("ostree admin lock-finalization --unlock; rm -f /run/ostree/staged-deployment-locked")
		}, hostscript.ScriptChanged, "not locked"},
		"no finalize service": {func(b *box) { b.write("fail-start", "Unit is masked.") }, hostscript.ScriptChanged, "does not start"},
		"status fails":        {func(b *box) { b.write("fail-status", "error: opening repo") }, 1, "error: opening repo"},
		"reboot under way":    {func(b *box) { b.write("unit-fails", "") }, 1, "already loaded"},
	}
	for name, s := range spoil {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t) // the script is the same for all drivers
			d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: v2}}
			b.want(b.stage(d), 0, "staged and locked")
			b.hold(engine.RunHold, "r1")
			script := orderOf(b.steps(d).Reboot)
			s.do(b)
			before := b.log()
			b.want(b.run(script), s.code, s.says)
			did := strings.TrimPrefix(b.log(), before)
			if strings.Contains(did, "rebooted") || strings.Contains(did, "--unlock") {
				t.Errorf("log:\n%s", did)
			}
		})
	}
}

func TestAnUnlockedDeploymentNeverStaysWithoutAReboot(t *testing.T) {
	one(t, func(b *box, s site, d engine.Desired) {
		b.want(b.stage(d), 0, "staged and locked")
		b.hold(engine.RunHold, "r1")
		b.write("fail-reboot", "Call to Reboot failed: Connection reset by peer")
		b.want(b.finalize(d), 1, "Connection reset by peer")
		if !b.gatherFacts(d).Ready(s.os.Digest(), "") {
			b.t.Fatal("the reboot was refused and the deployment stays unlocked")
		}

		b.write("system", "stopping")
		b.want(b.finalize(d), 0, "rebooting into")
		if f := b.gatherFacts(d); f.Staged() == nil || f.Staged().Locked {
			b.t.Error("the reboot was ordered and the deployment is locked again")
		}
	})
}

func TestStageLeavesAHeldHostAlone(t *testing.T) {
	b := newBox(t)
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: v2}}
	script := b.steps(d).Stage[0].Do.Exec.Script
	for _, kind := range []engine.HoldKind{engine.MaintenanceHold, engine.RunHold} {
		b.hold(kind, "x1")
		b.want(b.run(script), hostscript.ScriptHeld, "someone else")
	}
	if strings.Contains(b.log(), "systemd-run") {
		t.Error("something was staged")
	}
	b.want(b.stage(d), 0, "staged and locked") // a plan with the hold of the run adopts it
	b.run("ostree admin undeploy 0")
	b.hold(engine.MaintenanceHold, "x1")
	b.want(b.stage(d), hostscript.ScriptHeld, "someone else")
	b.hold(engine.RunHold, "r1")
	b.want(b.run(script), 0, "staged and locked")
}

func TestStageSaysWhyItFails(t *testing.T) {
	one(t, func(b *box, s site, d engine.Desired) {
		b.write("free", "1048575")
		b.want(b.stage(d), hostscript.ScriptNoSpace, "1023 MiB are free in /sysroot, 1024 MiB are needed")
		b.write("free", "?")
		b.want(b.stage(d), 1, "not known")
		b.write("free", "2000000")
		b.write("unit-dies", "")
		b.want(b.stage(d), 1, "is not staged")
		b.remove("unit-dies")
		if s.os.Driver == "rpm-ostree" {
			return
		}
		b.write("pull-fails", "error: While fetching http://10.0.0.1/summary: Server returned HTTP 404")
		code := 1
		if s.os.Driver == "ostree" {
			code = 5
		}
		b.want(b.stage(d), code, "HTTP 404")
		b.write("pull-fails", "error: Writing content object: No space left on device")
		b.want(b.stage(d), hostscript.ScriptNoSpace, "No space left on device")
		b.remove("pull-fails")
		if b.exists("run/ostree/staged-deployment-locked") {
			b.t.Error("a lock without a deployment was left behind")
		}
		b.want(b.stage(d), 0, "staged and locked")
	})
}

func TestStageJoinsAUnitThatIsUnderWay(t *testing.T) {
	one(t, func(b *box, s site, d engine.Desired) {
		stage := b.steps(d).Stage[0].Do.Exec.Script
		b.want(b.run(stage), 0, "staged and locked")
		b.check(exec.Command("mv", b.root+"/staged", b.root+"/later").Run())
		b.write("units/"+engine.StageUnit, "active")
		b.write("on-sleep", `mv "$BOX/later" "$BOX/staged"; rm "$BOX/units/`+engine.StageUnit+`"`)
		before := b.log()
		b.want(b.run(stage), 0, "waiting for a staging that is under way")
		if strings.Contains(strings.TrimPrefix(b.log(), before), "systemd-run") {
			b.t.Error("it staged as well")
		}

		// The unit ends without having staged the wanted OS.
		b.run("ostree admin undeploy 0")
		b.write("units/"+engine.StageUnit, "deactivating")
		b.write("on-sleep", `rm "$BOX/units/`+engine.StageUnit+`"`)
		b.want(b.run(stage), 0, "staged and locked: "+s.os.Digest())
	})
}

func TestMembersOfEtcdWriteObjectByObject(t *testing.T) {
	for name, s := range sites() {
		b := newBox(t)
		if s.prep != nil {
			s.prep(b)
		}
		d := engine.Desired{OS: &s.os}
		changes := []engine.Change{{Module: "os"}}
		tgt := target(d, b.gatherFacts(d))
		tgt.Host.Cluster = "main"
		b.want(b.run(operatingSystem{}.Steps(tgt, changes).Stage[0].Do.Exec.Script), 0, "staged and locked")
		flag := strings.Contains(b.log(), "ostree pull --per-object-fsync lab")
		set := strings.Contains(b.log(), "set core.per-object-fsync true")
		if wantFlag := s.os.Driver == "ostree" && name != "ostree 2022.7"; flag != wantFlag || set == wantFlag {
			t.Errorf("%s: flag %v, set %v", name, flag, set)
		}
	}
}

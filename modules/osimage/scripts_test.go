package osimage

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/resource"
	"holdfast/modules/moduletest"
)

func TestStagedOnceThenFinalized(t *testing.T) {
	names := []string{"ostree", "ostree 2022.7", "rpm-ostree image", "bootc"}
	if longtest.Slow() {
		names = slices.Collect(maps.Keys(sites()))
	}
	onSites(t, names, func(b *osHost, s site, d engine.Desired) {
		b.Want(b.stage(d), 0, "staged and locked: "+s.os.Digest())
		f := b.gatherFacts(d)
		if !b.isReady(d) || len(f.Problems) > 0 {
			b.T.Fatalf("not ready: %+v", f)
		}
		for _, line := range append(s.logs, "--property=IOSchedulingClass=idle") {
			if !strings.Contains(b.Log(), line) {
				b.T.Errorf("no %q in\n%s", line, b.Log())
			}
		}
		if strings.Contains(b.Log(), "\nunlocked\n") {
			b.T.Errorf("it was staged unlocked for a moment")
		}
		if b.Exists("run/systemd/system/rpm-ostreed.service.d") {
			b.T.Error("the daemon keeps its low priority")
		}
		if stage := b.steps(d).Stage; len(stage) > 0 {
			b.T.Errorf("staged again: %v", stage)
		}

		b.Hold(engine.RunHold, "r1")
		b.Want(b.finalize(d), 0, "rebooting into "+s.os.Digest())
		log := b.Log()
		if strings.Count(log, "rebooted unlocked\n") != 1 || !strings.Contains(log, "--property=After=ostree-finalize-staged.service") {
			b.T.Errorf("log:\n%s", log)
		}
		if left := listFiles(b.Root + "/run/holdfast"); strings.Contains(left, ".sh") || strings.Contains(left, "stage.") && strings.Count(left, "stage.") > 2 {
			b.T.Errorf("left behind: %s", left)
		}
	})
}

// TestAnOSComesFromTheBastion checks that the host pulls from the port of its loopback that the run
// has opened, with the remote that is configured on the host. The host ends a transfer whose
// connection is lost.
func TestAnOSComesFromTheBastion(t *testing.T) {
	onSites(t, []string{"ostree"}, func(b *osHost, _ site, d engine.Desired) {
		os := *d.OS
		os.Source = engine.BastionSource
		d.OS = &os
		step := b.steps(d).Stage[0].Do.Exec
		if step.Content == nil || step.Content.Commit != os.Commit || step.Content.Have != b.gatherFacts(d).Booted().Digest {
			b.T.Fatalf("content %+v of %+v", step.Content, os)
		}
		b.Want(b.Run("port=4711\n"+step.Script.String()), 0, "staged and locked: "+os.Commit)
		for _, want := range []string{"--url=http://127.0.0.1:4711/ostree ", "@" + os.Commit} {
			if !strings.Contains(b.Log(), want) {
				b.T.Errorf("no %q in\n%s", want, b.Log())
			}
		}
	})
}

func listFiles(dir string) string {
	out, _ := exec.Command("ls", dir).Output()
	return string(out)
}

func TestStageBringsBackWhatSomebodyElseDid(t *testing.T) {
	longtest.SkipSlow(t)
	onSites(t, []string{"ostree", "ostree 2022.7", "rpm-ostree image", "bootc"}, func(b *osHost, s site, d engine.Desired) {
		b.Want(b.stage(d), 0, "staged and locked")
		script := b.steps(engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/x", Commit: moduletest.V3}}).Stage[0].Do.Exec.Script.String()
		stage := b.planStage(d)
		b.Run("ostree admin lock-finalization --unlock; rm -f /run/ostree/staged-deployment-locked")
		runs := strings.Count(b.Log(), "systemd-run")
		b.Want(b.Run(stage), 0, "staged and locked")
		// A lock that is only a file is no part of the deployment. Another lock is, so the deployment is a new one.
		if again, fileLock := strings.Count(b.Log(), "systemd-run") != runs, b.read("ostree-version") == "2022.7"; again == fileLock {
			b.T.Errorf("staged again: %v", again)
		}
		if !b.isReady(d) {
			b.T.Error("not locked again")
		}
		b.Want(b.Run(script), 0, "staged and locked: "+moduletest.V3)
		b.Want(b.stage(d), 0, "staged and locked")
		if !b.isReady(d) {
			b.T.Error("what was staged instead was not replaced")
		}
		if strings.Contains(b.Log(), "\nunlocked\n") {
			b.T.Error("it was staged unlocked for a moment")
		}
	})
}

// A deployment that replaces a staged one is never without a lock, although rpm-ostree loses
// its own lock then (https://github.com/coreos/rpm-ostree/pull/4939).
func TestReplacedDeploymentKeepsTheLock(t *testing.T) {
	for _, tool := range []string{"rpm-ostree rebase", "rpm-ostree deploy", "rpm-ostree image"} {
		onSites(t, []string{tool}, func(b *osHost, s site, d engine.Desired) {
			longtest.SkipOthers(b.T, tool, "rpm-ostree rebase")
			b.Write("file-lock", "")
			theirs := engine.Desired{OS: &engine.OS{Driver: "rpm-ostree", Remote: "lab", Ref: "lab/theirs", Commit: moduletest.V3}}
			b.Want(b.stage(theirs), 0, "staged and locked")
			b.Want(b.stage(d), 0, "staged and locked")
			if !b.isReady(d) || strings.Contains(b.Log(), "\nunlocked\n") {
				b.T.Errorf("it was unlocked for a moment:\n%s", b.Log())
			}
		})
	}
}

// The unit that stages locks the deployment itself if its tool has not, because the script that
// waits for it may have lost its connection.
func TestUnitLocksTheDeployment(t *testing.T) {
	onSites(t, []string{"rpm-ostree rebase"}, func(b *osHost, s site, d engine.Desired) {
		b.Write("file-lock", "")
		b.Write("forget-lock", "")
		script := b.steps(d).Stage[0].Do.Exec.Script.String()
		cut := strings.Replace(script, "\nif await_staged; then report_staged; fi\ncheck_hold #", "\nexit 3\ncheck_hold #", 1)
		if cut == script {
			t.Fatal("the script has no such line")
		}
		b.Want(b.Run(cut), 3, "")
		if !b.isReady(d) {
			b.T.Errorf("it is not locked:\n%s", b.Log())
		}
	})
}

// TestStagingRequestsNoReboot: bootc writes the file for which kured reboots a node, whatever is staged. A staging that is
// killed leaves none either, and a file that was there before stays.
func TestStagingRequestsNoReboot(t *testing.T) {
	const file = "run/reboot-required"
	onSites(t, []string{"bootc"}, func(b *osHost, _ site, d engine.Desired) {
		script := b.steps(d).Stage[0].Do.Exec.Script.String()
		if killed := strings.Replace(script, "if ! ${mirrored:+run_with_registries} bootc switch $options \"$image\"", "bootc switch $options \"$image\"; exit 137; if ! :", 1); killed == script {
			b.T.Fatal("the script has no such line")
		} else if b.Run(killed); !b.Exists("staged") || b.Exists(file) {
			b.T.Errorf("a staging that is killed: staged %v, requested %v", b.Exists("staged"), b.Exists(file))
		}
		b.Want(b.stage(d), 0, "staged and locked")
		if b.Exists(file) {
			b.T.Error("a reboot is requested")
		}
		b.Run("ostree admin undeploy 0")
		b.Write(file, "kernel-livepatch")
		b.Want(b.stage(d), 0, "staged and locked")
		if !b.Exists(file) {
			b.T.Error("somebody else has requested a reboot, and the request is gone")
		}
	})
}

// TestACommitOutsideOfTheHistoryOfItsRef: rpm-ostree looks for the commit in the history of the newest commit of the ref, and
// ostree takes any. A host that changes its ref, or has an rpm-ostree without the option, reports what rpm-ostree says.
func TestACommitOutsideOfTheHistoryOfItsRef(t *testing.T) {
	onSites(t, []string{"rpm-ostree deploy", "rpm-ostree rebase"}, func(b *osHost, _ site, d engine.Desired) {
		b.Write("off-branch", "")
		const fails = "not found in lab:lab/"
		if b.read("booted") == moduletest.V1+" lab:lab/old" {
			b.Want(b.stage(d), 1, fails)
			return
		}
		b.Want(b.stage(d), 0, "staged and locked")
		b.Run("ostree admin undeploy 0")
		b.Write("no-skip", "")
		b.Want(b.stage(d), 1, fails)
	})
}

// planStage returns the script of the stage step for a host without a staged
// deployment.
func (b *osHost) planStage(d engine.Desired) string {
	f := b.gatherFacts(d)
	for i := range f.Deployments {
		f.Deployments[i].Locked = false
	}
	changes := []engine.Change{{Module: "os"}}
	return planSteps(moduletest.Target(d, f), changes).Stage[0].Do.Exec.Script.String()
}

func TestFinalizeTouchesNothingUnlessAllIsAsPlanned(t *testing.T) {
	spoil := map[string]struct {
		do   func(*osHost)
		code int
		says string
	}{
		"not held":         {func(b *osHost) { b.Remove(engine.HoldPath) }, hostscript.ScriptHeld, "not held by this run"},
		"held by a person": {func(b *osHost) { b.Hold(engine.MaintenanceHold, "m1") }, hostscript.ScriptHeld, "someone else"},
		"held by a run":    {func(b *osHost) { b.Hold(engine.RunHold, "r2") }, hostscript.ScriptHeld, "someone else"},
		"rebooted":         {func(b *osHost) { b.Write("proc/sys/kernel/random/boot_id", "other") }, hostscript.ScriptChanged, "has rebooted"},
		"soft rebooted":    {func(b *osHost) { b.Write("soft-reboots", "1") }, hostscript.ScriptChanged, "has rebooted"},
		"nothing staged":   {func(b *osHost) { b.Run("ostree admin undeploy 0") }, hostscript.ScriptChanged, "nothing is staged"},
		"another staged":   {func(b *osHost) { b.Write("staged", moduletest.V3+" lab:lab/stable") }, hostscript.ScriptChanged, moduletest.V3 + ".0 is staged, which is not"},
		"unlocked": {func(b *osHost) {
			b.Run("ostree admin lock-finalization --unlock; rm -f /run/ostree/staged-deployment-locked")
		}, hostscript.ScriptChanged, "not locked"},
		"no finalize service": {func(b *osHost) { b.Write("fail-start", "Unit is masked.") }, hostscript.ScriptChanged, "does not start"},
		"status fails":        {func(b *osHost) { b.Write("fail-status", "error: opening repo") }, hostscript.ScriptChanged, "error: opening repo"},
		"reboot under way":    {func(b *osHost) { b.Write("unit-fails", "") }, 1, "already loaded"},
	}
	for name, s := range spoil {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newOSHost(t) // all drivers use the same script
			d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
			b.Want(b.stage(d), 0, "staged and locked")
			b.Hold(engine.RunHold, "r1")
			script := moduletest.OrderOf(b.steps(d).Reboot)
			s.do(b)
			before := b.Log()
			b.Want(b.Run(script), s.code, s.says)
			did := strings.TrimPrefix(b.Log(), before)
			if strings.Contains(did, "rebooted") || strings.Contains(did, "--unlock") {
				t.Errorf("log:\n%s", did)
			}
		})
	}
}

func TestAnUnlockedDeploymentNeverStaysWithoutAReboot(t *testing.T) {
	longtest.SkipSlow(t)
	onEachTool(t, func(b *osHost, s site, d engine.Desired) {
		b.Want(b.stage(d), 0, "staged and locked")
		b.Hold(engine.RunHold, "r1")
		b.Write("fail-reboot", "Call to Reboot failed: Connection reset by peer")
		b.Want(b.finalize(d), 1, "Connection reset by peer")
		if !b.isReady(d) {
			b.T.Fatal("the reboot was refused and the deployment stays unlocked")
		}

		b.Write("system", "stopping")
		b.Want(b.finalize(d), 0, "rebooting into")
		if f := b.gatherFacts(d); f.Staged() == nil || f.Staged().Locked {
			b.T.Error("the reboot was ordered and the deployment is locked again")
		}
	})
}

func TestStageLeavesAHeldHostAlone(t *testing.T) {
	b := newOSHost(t)
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
	script := b.steps(d).Stage[0].Do.Exec.Script.String()
	for _, kind := range []engine.HoldKind{engine.MaintenanceHold, engine.RunHold} {
		b.Hold(kind, "x1")
		b.Want(b.Run(script), hostscript.ScriptHeld, "someone else")
	}
	if strings.Contains(b.Log(), "systemd-run") {
		t.Error("something was staged")
	}
	b.Want(b.stage(d), 0, "staged and locked") // a new plan adopts the hold of run x1
	b.Run("ostree admin undeploy 0")
	b.Hold(engine.MaintenanceHold, "x1")
	b.Want(b.stage(d), hostscript.ScriptHeld, "someone else")
	b.Hold(engine.RunHold, "r1")
	b.Want(b.Run(script), 0, "staged and locked")
}

func TestStageSaysWhyItFails(t *testing.T) {
	onEachTool(t, func(b *osHost, s site, d engine.Desired) {
		longtest.SkipOthers(b.T, s.os.Driver, "ostree")
		b.Write("free", "1048575")
		b.Want(b.stage(d), hostscript.ScriptNoSpace, "1023 MiB are free in /sysroot, 1024 MiB are needed")
		b.Write("free", "?")
		b.Want(b.stage(d), 1, "not known")
		b.Write("free", "2000000")
		b.Write("unit-dies", "")
		b.Want(b.stage(d), 1, "is not staged")
		b.Remove("unit-dies")
		if s.os.Driver == "rpm-ostree" {
			return
		}
		b.Write("pull-fails", "error: While fetching http://10.0.0.1/summary: Server returned HTTP 404")
		code := 1
		if s.os.Driver == "ostree" {
			code = 5
		}
		b.Want(b.stage(d), code, "HTTP 404")
		b.Write("pull-fails", "error: Writing content object: No space left on device")
		b.Want(b.stage(d), hostscript.ScriptNoSpace, "No space left on device")
		b.Remove("pull-fails")
		if b.Exists("run/ostree/staged-deployment-locked") {
			b.T.Error("a lock without a deployment was left behind")
		}
		b.Want(b.stage(d), 0, "staged and locked")
	})
}

func TestStageJoinsAUnitThatIsUnderWay(t *testing.T) {
	onEachTool(t, func(b *osHost, s site, d engine.Desired) {
		longtest.SkipOthers(b.T, s.os.Driver, "bootc")
		stage := b.steps(d).Stage[0].Do.Exec.Script.String()
		b.Want(b.Run(stage), 0, "staged and locked")
		b.Check(exec.Command("mv", b.Root+"/staged", b.Root+"/later").Run())
		b.Write("units/"+hostscript.StageUnit, "active")
		b.Write("on-sleep", `mv "$BOX/later" "$BOX/staged"; rm "$BOX/units/`+hostscript.StageUnit+`"`)
		before := b.Log()
		b.Want(b.Run(stage), 0, "waiting for a staging that is under way")
		if strings.Contains(strings.TrimPrefix(b.Log(), before), "systemd-run") {
			b.T.Error("it staged as well")
		}

		// The unit ends and has not staged the wanted OS.
		b.Run("ostree admin undeploy 0")
		b.Write("units/"+hostscript.StageUnit, "deactivating")
		b.Write("on-sleep", `rm "$BOX/units/`+hostscript.StageUnit+`"`)
		b.Want(b.Run(stage), 0, "staged and locked: "+s.os.Digest())
	})
}

func TestMembersOfEtcdWriteObjectByObject(t *testing.T) {
	longtest.SkipSlow(t)
	for name, s := range sites() {
		b := newOSHost(t)
		if s.prep != nil {
			s.prep(b)
		}
		d := engine.Desired{OS: &s.os}
		changes := []engine.Change{{Module: "os"}}
		tgt := moduletest.Target(d, b.gatherFacts(d))
		tgt.Host.Cluster = "main"
		b.Want(b.Run(planSteps(tgt, changes).Stage[0].Do.Exec.Script.String()), 0, "staged and locked")
		flag := strings.Contains(b.Log(), "ostree pull --per-object-fsync lab")
		set := strings.Contains(b.Log(), "set core.per-object-fsync true")
		if wantFlag := s.os.Driver == "ostree" && name != "ostree 2022.7"; flag != wantFlag || set == wantFlag {
			t.Errorf("%s: flag %v, set %v", name, flag, set)
		}
	}
}

// A person takes a hold after the check of a staging, and before its unit starts.
// Then the unit does not stage.
func TestStagingAsksForTheHoldOnceMore(t *testing.T) {
	b := newOSHost(t)
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
	f := b.gatherFacts(d)
	changes, err := findChanges(d, f)
	b.Check(err)
	script := planSteps(moduletest.Target(d, f), changes).Stage[0].Do.Exec.Script.String()
	b.Write("theirs", moduletest.TheirHold)
	swapped := strings.Replace(script, "\nsystemd-run --quiet", "\nmkdir -p "+engine.StateDir+"; cp \"$BOX/theirs\" "+engine.HoldPath+"\nsystemd-run --quiet", 1)
	if swapped == script {
		t.Fatal("the script has no such line")
	}
	b.Want(b.Run(swapped), hostscript.ScriptHeld, "held by someone else")
	if b.Exists("staged") || strings.Contains(b.Log(), "ostree pull") {
		t.Errorf("a host is staged that a person holds:\n%s", b.Log())
	}
}

// TestStageBlamesNoEarlierLog: a unit ends before it stages, because it does not get the lock of holds. The log of an earlier staging, for which
// the disk was too full, is not its log.
func TestStageBlamesNoEarlierLog(t *testing.T) {
	b := newOSHost(t)
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
	b.Write("pull-fails", "error: Writing content object: No space left on device")
	b.Want(b.stage(d), hostscript.ScriptNoSpace, "No space left on device")
	b.Remove("pull-fails")
	script := b.steps(d).Stage[0].Do.Exec.Script.String()
	const start = "\nsystemd-run --quiet"
	swapped := strings.Replace(script, start, "\nrm -f \"$holdlock\"; mkdir \"$holdlock\""+start, 1)
	if swapped == script {
		t.Fatal("the script has no such line")
	}
	if out := b.Run(swapped); out.Code != 1 || strings.Contains(out.Stderr+out.Stdout, "No space left") || !strings.Contains(out.Stderr+out.Stdout, "the deployment is not staged") {
		t.Errorf("exit status %d\n%s%s", out.Code, out.Stdout, out.Stderr)
	}
}

func TestValuesReachScriptsQuoted(t *testing.T) {
	evil := "x'; touch /pwned; $(touch /pwned) `touch /pwned` \n"
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: evil, Ref: evil, Commit: evil}}
	f := engine.Facts{BootID: resource.BootID(evil), Deployments: []engine.Deployment{{Digest: moduletest.V1, Booted: true}}}
	tgt := moduletest.Target(d, f)
	tgt.Run, tgt.Host.Cluster = evil, evil
	b := newOSHost(t)
	for _, s := range append(stageAndReboot(tgt), engine.Step{}) {
		if s.Do.Exec == nil {
			continue
		}
		b.Run(strings.ReplaceAll(s.Do.Exec.Script.String(), "/pwned", b.Root+"/pwned"))
		b.Hold(engine.RunHold, strings.ReplaceAll(evil, "/pwned", b.Root+"/pwned"))
		b.Run(strings.ReplaceAll(s.Do.Exec.Script.String(), "/pwned", b.Root+"/pwned"))
	}
	if b.Exists("pwned") {
		t.Error("a value was carried out")
	}
}

func stageAndReboot(t engine.Target) []engine.Step {
	steps := planSteps(t, []engine.Change{{Module: "os"}})
	return append(steps.Stage, steps.Reboot...)
}

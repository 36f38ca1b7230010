package osimage

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/pathtest"
	"holdfast/engine/resource"
	"holdfast/modules/moduletest"
)

// rollbackTarget returns a host to plan for, in a pool that rolls failed hosts
// back.
func rollbackTarget(d engine.Desired, f engine.Facts) engine.Target {
	t := moduletest.Target(d, f)
	t.Pool.OnFailure = engine.RollbackFailed
	return t
}

// rollbackSteps returns the steps that roll the host back from the OS that it
// boots next.
func (b *osHost) rollbackSteps(d engine.Desired) []engine.Step {
	b.T.Helper()
	f := b.gatherFacts(d)
	changes, err := findChanges(d, f)
	b.Check(err)
	return planSteps(rollbackTarget(d, f), changes).Rollback
}

// simulateBoot reboots the host into the staged deployment, if there is one that
// is not locked, or else into the pending one.
func (b *osHost) simulateBoot() {
	b.T.Helper()
	next := ""
	switch {
	case b.Exists("staged") && !b.Exists("key") && !b.Exists("run/ostree/staged-deployment-locked"):
		next = "staged"
	case b.Exists("pending"):
		next = "pending"
	}
	if next != "" {
		b.Check(os.Rename(filepath.Join(b.Root, "booted"), filepath.Join(b.Root, "rollback")))
		b.Check(os.Rename(filepath.Join(b.Root, next), filepath.Join(b.Root, "booted")))
		if b.Exists(next + "-args") {
			b.Write("proc/cmdline", strings.ReplaceAll(b.read(next+"-args"), "\n", " "))
		}
	}
	b.Run("rm -rf /run/ostree /run/holdfast " + b.Root + "/staged " + b.Root + "/staged-args " + b.Root + "/key")
	b.Write("proc/sys/kernel/random/boot_id", fmt.Sprintf("00000000-0000-0000-0000-%012d", strings.Count(b.Log(), "systemctl reboot")))
}

// failNewOS updates the host to an OS that fails, and returns the script that
// rolls the host back.
func (b *osHost) failNewOS(d engine.Desired) string {
	b.T.Helper()
	b.Want(b.stage(d), 0, "staged and locked")
	b.Hold(engine.RunHold, "r1")
	steps := b.rollbackSteps(d)
	if len(steps) != 3 || steps[0].Reboots || !steps[1].Reboots || steps[2].Do.AwaitBoot == nil {
		b.T.Fatalf("the rollback is %+v", steps)
	}
	if want := b.gatherFacts(d).Booted().Digest; steps[2].Do.AwaitBoot.Digest != want || steps[2].Do.AwaitBoot.BootID != "" {
		b.T.Errorf("it waits for %+v, not for any boot of %s", steps[2].Do.AwaitBoot, want)
	}
	b.Want(b.finalize(d), 0, "rebooting into")
	b.simulateBoot()
	if got := b.gatherFacts(d).Booted().Digest; got != d.OS.Digest() {
		b.T.Fatalf("it has booted %s", got)
	}
	return moduletest.OrderOf(steps)
}

// isBack requires that the host runs its previous OS permanently, and does not
// roll back from the failed OS again.
func (b *osHost) isBack(d engine.Desired, digest string) {
	b.T.Helper()
	f := b.gatherFacts(d)
	if f.Booted() == nil || f.Booted().Digest != digest || f.Staged() != nil || len(f.Problems) > 0 {
		b.T.Fatalf("not back: %+v", f.Deployments)
	}
	if len(f.Rejected) != 1 || f.Rejected[0] != d.OS.Digest() {
		b.T.Errorf("rejected: %v", f.Rejected)
	}
	if changes, err := findChanges(d, f); err != nil || len(changes) != 1 {
		b.T.Errorf("the difference is not what it was: %v, %v", changes, err)
	}
	if steps := b.rollbackSteps(d); len(steps) > 0 {
		b.T.Error("it would be rolled back from the same OS again")
	}
	b.simulateBoot()
	if got := b.gatherFacts(d).Booted().Digest; got != digest {
		b.T.Errorf("the next boot brings %s", got)
	}
}

func backSites(t *testing.T, test func(*osHost, site, engine.Desired)) {
	t.Helper()
	onSites(t, []string{"ostree", "ostree 2022.7", "rpm-ostree layered", "rpm-ostree image", "bootc", "bootc from a commit", "bootc on ostree 2022.7", "bootc index", "rpm-ostree index"}, test)
}

func TestAHostGoesBackToTheOSItRanBefore(t *testing.T) {
	longtest.SkipSlow(t)
	backSites(t, func(b *osHost, s site, d engine.Desired) {
		old := b.gatherFacts(d).Booted().Digest
		before := b.read("proc/cmdline")
		script := b.failNewOS(d)
		b.Want(b.Run(script), 0, "rebooting back into "+old)
		if !strings.Contains(b.Log(), "--unit="+hostscript.RebootUnit) || !strings.HasSuffix(b.Log(), "rebooted unlocked\n") {
			b.T.Errorf("log:\n%s", b.Log())
		}
		if left := listFiles(b.Root + "/run/holdfast"); left != "finalize.log\nrebooting\n" {
			b.T.Errorf("left behind: %s", left)
		}
		if info, err := os.Stat(filepath.Join(b.Root, hostscript.RejectedPath)); err != nil || info.Mode() != 0o600 {
			b.T.Errorf("%v, %v", info, err)
		}
		b.simulateBoot()
		if got := b.read("proc/cmdline"); got != before {
			b.T.Errorf("booted with %s", got)
		}
		b.isBack(d, old)
	})
}

// A dead run left a host with the new OS. As long as the host has the OS that its
// hold names, the same script rolls the host back to that OS.
func TestAHostThatWasLeftBehindGoesBack(t *testing.T) {
	longtest.SkipSlow(t)
	backSites(t, func(b *osHost, s site, d engine.Desired) {
		old := b.gatherFacts(d).Booted().Digest
		b.failNewOS(d)
		again := func(from string) []engine.Step {
			f := b.gatherFacts(d)
			f.Hold.PreviousOS = from
			return module{}.RollbackSteps(rollbackTarget(d, f))
		}
		for what, from := range map[string]string{"none": "", "the one that failed": d.OS.Digest(), "one that it has not got": moduletest.V3} {
			if steps := again(from); len(steps) > 0 {
				t.Errorf("it goes back where the hold names %s: %+v", what, steps)
			}
		}
		steps := again(old)
		if len(steps) != 3 {
			t.Fatalf("%+v", steps)
		}
		b.Want(b.Run(moduletest.OrderOf(steps)), 0, "rebooting back into "+old)
		b.simulateBoot()
		b.isBack(d, old)
		if steps := again(old); len(steps) > 0 {
			t.Error("it would be rolled back once more")
		}
	})
}

// If a rejected OS succeeds later, the host removes it from the rejected digests,
// under the same digest as it was added.
func TestAnOSThatGoesWellHasNotFailed(t *testing.T) {
	longtest.SkipSlow(t)
	backSites(t, func(b *osHost, s site, d engine.Desired) {
		script := b.failNewOS(d)
		b.Want(b.Run(script), 0, "rebooting back into")
		b.simulateBoot()
		b.Want(b.stage(d), 0, "staged and locked")
		b.Hold(engine.RunHold, "r1")
		b.Want(b.finalize(d), 0, "rebooting into")
		b.simulateBoot()
		f := b.gatherFacts(d)
		if f.Booted() == nil || f.Booted().Digest != d.OS.Digest() || strings.Join(f.Rejected, " ") != d.OS.Digest() {
			b.T.Fatalf("it runs %+v and has rejected %v", f.Booted(), f.Rejected)
		}
		b.Want(b.Run(hostscript.ReleaseScript(moduletest.By("r1"), engine.Release{Updated: true, Accepts: f.Booted().Digest})), 0, "")
		if f := b.gatherFacts(d); len(f.Rejected) > 0 || f.Hold != nil || f.Updated.IsZero() {
			b.T.Errorf("it has rejected %v, is held by %v, and was updated at %s", f.Rejected, f.Hold, f.Updated)
		}
	})
}

// If ostree cannot change the order of deployments, the script deploys the
// previous OS again. The new deployment keeps the kernel arguments of the
// previous deployment, and does not get those of the failed one.
func TestAnOldOSTreeGoesBackWithTheArgumentsOfBefore(t *testing.T) {
	longtest.SkipSlow(t)
	b := newOSHost(t)
	b.Write("ostree-version", "2022.7")
	d := withArgs(engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}})
	script := b.failNewOS(d)
	entry := func(n int, options, id string) {
		link := fmt.Sprintf("ostree/boot.1/lab/%d", n)
		b.Mkdir("ostree/boot.1/lab")
		b.Check(os.Symlink("../../../deploy/lab/deploy/"+id, filepath.Join(b.Root, link)))
		b.Write(fmt.Sprintf("boot/loader/entries/ostree-%d-lab.conf", 2-n), "title lab\noptions "+options+" ostree="+b.Root+"/"+link+" quiet\nlinux /vmlinuz")
	}
	entry(0, "root=LABEL=root new=1", moduletest.V2+".0")
	entry(1, "root=LABEL=root rw console=tty0 glob=*", moduletest.V1+".0")
	b.Want(b.Run(script), 0, "rebooting back into "+moduletest.V1)
	b.simulateBoot()
	if got := b.read("proc/cmdline"); got != "root=LABEL=root rw console=tty0 glob=* quiet" {
		t.Errorf("booted with %s", got)
	}
	if got := b.gatherFacts(d).Booted(); got.Digest != moduletest.V1 || got.Origin != "lab:lab/stable" {
		t.Errorf("booted %+v", got)
	}
}

func TestAHostThatIsNotAsExpectedIsNotRolledBack(t *testing.T) {
	longtest.SkipSlow(t)
	swap := func(b *osHost) { b.Write("rollback", moduletest.V3+" lab:lab/stable") }
	cases := map[string]struct {
		site string
		do   func(*osHost)
		code int
		says string
	}{
		"not held":                   {"ostree", func(b *osHost) { b.Remove(engine.HoldPath) }, hostscript.ScriptHeld, "not held by this run"},
		"held by a person":           {"ostree", func(b *osHost) { b.Hold(engine.MaintenanceHold, "m1") }, hostscript.ScriptHeld, "someone else"},
		"old OS booted":              {"ostree", func(b *osHost) { b.Write("booted", moduletest.V1+" lab:lab/stable") }, hostscript.ScriptChanged, "runs " + moduletest.V1 + " already"},
		"another OS booted":          {"ostree", func(b *osHost) { b.Write("booted", moduletest.V3+" lab:lab/stable") }, hostscript.ScriptChanged, "runs " + moduletest.V3 + ", which is not " + moduletest.V2},
		"previous OS gone":           {"ostree", func(b *osHost) { b.Remove("rollback") }, hostscript.ScriptCannot, "has not got " + moduletest.V1 + " any more"},
		"another one instead":        {"ostree", swap, hostscript.ScriptCannot, "has not got " + moduletest.V1 + " any more"},
		"gone, of rpm-ostree":        {"rpm-ostree deploy", func(b *osHost) { b.Remove("rollback") }, hostscript.ScriptCannot, "has not got"},
		"status fails":               {"ostree", func(b *osHost) { b.Write("fail-status", "error: opening repo") }, 1, "error: opening repo"},
		"commit, and no set-default": {"bootc from a commit", func(b *osHost) { b.Write("ostree-version", "2022.7") }, hostscript.ScriptCannot, "bootc goes back only to images"},
		"gone, of bootc":             {"bootc", swap, hostscript.ScriptCannot, "has not got"},
	}
	for name, c := range cases {
		on2(t, name, c.site, func(b *osHost, s site, d engine.Desired) {
			script := b.failNewOS(d)
			c.do(b)
			before := b.Log()
			b.Want(b.Run(script), c.code, c.says)
			if did := strings.TrimPrefix(b.Log(), before); strings.Contains(did, "reboot") || strings.Contains(did, "set-default") || strings.Contains(did, "rollback") {
				b.T.Errorf("log:\n%s", did)
			}
			if b.Exists(hostscript.RejectedPath) {
				b.T.Error("the OS counts as rejected")
			}
		})
	}
}

// on2 runs a test for the site with this name, as a subtest.
func on2(t *testing.T, name, siteName string, test func(*osHost, site, engine.Desired)) {
	t.Run(name, func(t *testing.T) { onSites(t, []string{siteName}, test) })
}

func TestWhatIsStagedDoesNotComeBackAfterARollback(t *testing.T) {
	longtest.SkipSlow(t)
	for _, locked := range []bool{true, false} {
		onEachTool(t, func(b *osHost, s site, d engine.Desired) {
			old := b.gatherFacts(d).Booted().Digest
			script := b.failNewOS(d)
			b.Run("ostree pull lab lab/stable@" + moduletest.V3 + "; ostree admin deploy --stage --lock-finalization lab:lab/stable")
			if !locked {
				b.Run("ostree admin lock-finalization --unlock; rm -f /run/ostree/staged-deployment-locked")
			}
			b.Want(b.Run(script), 0, "rebooting back into "+old)
			b.simulateBoot()
			b.isBack(d, old)
		})
	}
}

// If the tools of hosts are called twice, they swap the deployments back.
func TestARollbackThatIsDoneAgainStays(t *testing.T) {
	longtest.SkipSlow(t)
	backSites(t, func(b *osHost, s site, d engine.Desired) {
		old := b.gatherFacts(d).Booted().Digest
		script := b.failNewOS(d)
		b.Write("fail-reboot", "Call to Reboot failed: Access denied")
		code := 1
		if b.read("ostree-version") == "2022.7" && s.os.Driver == "ostree" {
			code = hostscript.ScriptHalfDone
		}
		b.Want(b.Run(script), code, "Access denied")
		b.Remove("fail-reboot")
		b.Want(b.Run(script), 0, "rebooting back into "+old)
		b.simulateBoot()
		b.isBack(d, old)
		b.Want(b.Run(script), hostscript.ScriptChanged, "runs "+old+" already")
	})
}

// A rollback whose reboot is refused, or comes too late, leaves the running OS as the default: a power cut must not start
// an OS that nobody expects.
func TestARollbackWithoutARebootIsUndone(t *testing.T) {
	refuse := func(b *osHost, script string) engine.Output {
		b.Write("fail-reboot", "Call to Reboot failed: Access denied")
		defer b.Remove("fail-reboot")
		return b.Run(script)
	}
	comeLate := func(b *osHost, script string) engine.Output {
		late := strings.Replace(script, "\nsystemd-run --quiet", "\necho 1300.00 9.00 >/proc/uptime\nsystemd-run --quiet", 1)
		defer b.Write("proc/uptime", b.read("proc/uptime"))
		return b.Run(late)
	}
	for name, c := range map[string]struct {
		run  func(*osHost, string) engine.Output
		code int
	}{"refused": {refuse, 1}, "late": {comeLate, hostscript.ScriptChanged}} {
		t.Run(name, func(t *testing.T) {
			backSites(t, func(b *osHost, s site, d engine.Desired) {
				longtest.SkipOthers(b.T, s.os.Driver+" "+name, "ostree refused", "bootc late")
				old := b.gatherFacts(d).Booted().Digest
				script := b.failNewOS(d)
				if b.read("ostree-version") == "2022.7" && s.os.Driver == "ostree" { // it has no command for this
					b.Want(c.run(b, script), hostscript.ScriptHalfDone, "would boot "+old)
					if _, err := findChanges(d, b.gatherFacts(d)); err == nil || !strings.Contains(err.Error(), "would boot") {
						b.T.Errorf("it counts as a host that matches: %v", err)
					}
					return
				}
				b.Want(c.run(b, script), c.code, "")
				f := b.gatherFacts(d)
				if changes, err := findChanges(d, f); f.Stopping || err != nil || len(changes) > 0 {
					b.T.Errorf("not as before: %v, %v", changes, err)
				}
				b.Want(b.Run(script), 0, "rebooting back into "+old)
				b.simulateBoot()
				b.isBack(d, old)
			})
		})
	}
}

// TestBootcGoesBackToACommit: bootc itself goes back only to an image.
func TestBootcGoesBackToACommit(t *testing.T) {
	onSites(t, []string{"bootc from a commit"}, func(b *osHost, _ site, d engine.Desired) {
		old := b.gatherFacts(d).Booted().Digest
		script := b.failNewOS(d)
		b.Write("fail-reboot", "Call to Reboot failed: Access denied")
		b.Want(b.Run(script), 1, "Access denied")
		if f := b.gatherFacts(d); f.NextBoot != "" || f.Booted().Digest != d.OS.Digest() {
			b.T.Errorf("it boots %s next of %+v", f.NextBoot, f.Deployments)
		}
		b.Remove("fail-reboot")
		b.Want(b.Run(script), 0, "rebooting back into "+old)
		b.simulateBoot()
		b.isBack(d, old)
	})
}

// TestARollbackWithoutARebootBesideAPinnedOS: a second "rpm-ostree rollback" would put the pinned deployment on top.
func TestARollbackWithoutARebootBesideAPinnedOS(t *testing.T) {
	onSites(t, []string{"ostree", "rpm-ostree image", "bootc"}, func(b *osHost, _ site, d engine.Desired) {
		longtest.SkipOthers(b.T, d.OS.Driver, "rpm-ostree")
		script := b.failNewOS(d)
		b.Write("pinned", moduletest.V3+" lab:lab/stable")
		b.Write("fail-reboot", "Call to Reboot failed: Access denied")
		b.Want(b.Run(script), 1, "Access denied")
		if f := b.gatherFacts(d); f.NextBoot != "" || f.Booted() == nil || f.Booted().Digest != d.OS.Digest() {
			b.T.Errorf("it boots %s next of %+v", f.NextBoot, f.Deployments)
		}
	})
}

// TestARollbackOfAnOldOSTreeWithoutAReboot: where ostree has no set-default, rpm-ostree makes the running OS the default
// again, but only if it does not put another one on top.
func TestARollbackOfAnOldOSTreeWithoutAReboot(t *testing.T) {
	for _, pinned := range []bool{false, true} {
		on2(t, fmt.Sprintf("pinned %v", pinned), "rpm-ostree image", func(b *osHost, _ site, d engine.Desired) {
			old := b.gatherFacts(d).Booted()
			script := b.failNewOS(d)
			b.Write("ostree-version", "2022.7")
			b.Write("fail-reboot", "Call to Reboot failed: Access denied")
			if !pinned {
				b.Want(b.Run(script), 1, "Access denied")
				return
			}
			b.Write("pinned", moduletest.V3+" lab:lab/stable")
			b.Want(b.Run(script), hostscript.ScriptHalfDone, "would boot "+commitOf(*old))
		})
	}
}

// TestARollbackWhoseStatusFails: a rollback that does not know its result must not end as one that changed nothing.
func TestARollbackWhoseStatusFails(t *testing.T) {
	on2(t, "status fails", "ostree", func(b *osHost, _ site, d engine.Desired) {
		script := b.failNewOS(d)
		const line = "\ntimeout 5 sync"
		failing := strings.Replace(script, line, "\necho error: opening repo >\"$BOX/fail-status\"; exit 1"+line, 1)
		if failing == script {
			t.Fatal("the script has no such line")
		}
		b.Want(b.Run(failing), hostscript.ScriptHalfDone, "would boot an unknown OS next")
	})
}

// A rollback that is killed before its reboot leaves the previous OS as the default. Until somebody corrects that, or the host
// reboots, the host does not count as one that matches: no run releases it.
func TestAHostThatWouldBootAnotherOSDoesNotMatch(t *testing.T) {
	onSites(t, []string{"ostree", "ostree 2026.4", "rpm-ostree image", "bootc"}, func(b *osHost, s site, d engine.Desired) {
		longtest.SkipOthers(b.T, s.os.Driver, "ostree")
		old := b.gatherFacts(d).Booted().Digest
		script := b.failNewOS(d)
		killed := strings.ReplaceAll(script, "\nif is_order_void; then", "\nkill -KILL $$\nif is_order_void; then")
		if killed == script {
			t.Fatal("the script has no such line")
		}
		b.Run(killed)
		f := b.gatherFacts(d)
		changes, err := findChanges(d, f)
		if err == nil || !strings.Contains(err.Error(), "would boot") || !strings.Contains(err.Error(), engine.ShortDigest(old)) {
			b.T.Fatalf("%v, %v in %+v", changes, err, f.Deployments)
		}
		next := engine.Desired{OS: &engine.OS{Driver: d.OS.Driver, Remote: "lab", Ref: "lab/stable", Commit: moduletest.V3}}
		if d.OS.Image != "" {
			next.OS = &engine.OS{Driver: d.OS.Driver, Image: image1[:len(image1)-1] + "c"}
		}
		if changes, err := findChanges(next, f); err != nil || len(changes) == 0 {
			b.T.Errorf("another OS, which becomes the default, does not replace it: %v, %v", changes, err)
		}
		b.Want(b.Run(script), 0, "rebooting back into "+old) // as by a person, or by a run that still waits
		b.simulateBoot()
		b.isBack(d, old)
	})
}

func TestAToolThatDoesNotGoBackIsReported(t *testing.T) {
	b := newOSHost(t)
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
	script := b.failNewOS(d)
	broken := strings.ReplaceAll(script, `ostree admin set-default "$index"`, ":")
	before := b.Log()
	b.Want(b.Run(broken), 1, "would still not boot "+moduletest.V1)
	if strings.Contains(strings.TrimPrefix(b.Log(), before), "systemctl reboot") {
		t.Error("it was rebooted")
	}
}

func TestNotedDigestsAreFewAndOnce(t *testing.T) {
	b := newOSHost(t)
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
	script := b.failNewOS(d)
	var old []string
	for i := range 150 {
		old = append(old, fmt.Sprintf("%064x", i))
	}
	text := strings.Join(old, "\n") + "\n" + moduletest.V2 + "\n" + moduletest.V3 // without a newline at the end
	b.Check(os.WriteFile(filepath.Join(b.Root, hostscript.RejectedPath), []byte(text), 0o600))
	b.Want(b.Run(script), 0, "rebooting")
	got := b.gatherFacts(d).Rejected
	if n := len(got); n != 99 || got[n-1] != moduletest.V2 || got[n-2] != moduletest.V3 || got[0] != old[149-96] {
		t.Errorf("%d: %v", n, got)
	}
}

func TestNoStepsRollBackWhereThereIsNothingToGoBackTo(t *testing.T) {
	booted := engine.Facts{BootID: moduletest.Boot, Tool: "ostree 2025.2", KernelArgs: []string{"a"}, Deployments: []engine.Deployment{{Digest: moduletest.V1, ID: "my-os-" + moduletest.V1 + ".3", Booted: true}}}
	rejected := booted
	rejected.Rejected = []string{moduletest.V3, moduletest.V2}
	other := booted
	other.Rejected = []string{moduletest.V3}
	nameless := booted
	nameless.Deployments = []engine.Deployment{{Digest: moduletest.V1, Booted: true}}
	next := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "x", Commit: moduletest.V2}}
	args := engine.Desired{OS: &engine.OS{Driver: "ostree"}, Config: &resource.Config{KernelArgs: []string{"b"}}}
	cases := map[string]struct {
		d    engine.Desired
		f    engine.Facts
		mode engine.FailureMode
		want int
	}{
		"a new OS":              {next, booted, engine.RollbackFailed, 3},
		"after another failed":  {next, other, engine.RollbackFailed, 3},
		"as the pool wants it":  {next, booted, engine.HoldFailed, 0},
		"it has failed before":  {next, rejected, engine.RollbackFailed, 0},
		"other arguments alone": {args, booted, engine.RollbackFailed, 0},
		"nothing to name":       {next, nameless, engine.RollbackFailed, 0},
	}
	for name, c := range cases {
		changes, err := findChanges(c.d, c.f)
		if err != nil || len(changes) == 0 {
			t.Fatalf("%s: %v, %v", name, changes, err)
		}
		tgt := moduletest.Target(c.d, c.f)
		tgt.Pool.OnFailure = c.mode
		if got := planSteps(tgt, changes).Rollback; len(got) != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestValuesReachRollbacksQuoted(t *testing.T) {
	b := newOSHost(t)
	evil := "x'; touch " + b.Root + "/pwned; $(touch " + b.Root + "/pwned) \n"
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "x", Commit: evil}}
	f := engine.Facts{BootID: moduletest.Boot, Deployments: []engine.Deployment{{Digest: evil, ID: "lab-" + moduletest.V1 + ".0", Booted: true}}}
	d.OS.Commit += "new"
	tgt := rollbackTarget(d, f)
	tgt.Run = evil
	script := moduletest.OrderOf(planSteps(tgt, []engine.Change{{Module: "os"}}).Rollback)
	b.Run(script)
	b.Hold(engine.RunHold, evil)
	b.Want(b.Run(script), hostscript.ScriptChanged, "runs "+evil+" already")
	if b.Exists("pwned") {
		t.Error("a value was carried out")
	}
}

// After a rollback, the new arguments are in a deployment that the host no longer
// runs. Their absence is no drift.
func TestArgumentsThatWentWithARollbackAreNoDrift(t *testing.T) {
	want := resource.Config{KernelArgs: []string{"a"}}
	f := engine.Facts{
		BootID: moduletest.Boot, Tool: "ostree 2025.2", KernelArgs: []string{"b"}, Config: &resource.ConfigFacts{Applied: &resource.Record{Config: want}}, Rejected: []string{moduletest.V2},
		Deployments: []engine.Deployment{{Digest: moduletest.V1, ID: "lab-" + moduletest.V1 + ".0", Booted: true}, {Digest: moduletest.V2, ID: "lab-" + moduletest.V2 + ".0", Rollback: true}},
	}
	d := engine.Desired{OS: &engine.OS{Driver: "ostree"}, Config: &want, ReportDrift: true}
	if changes, err := findChanges(d, f); err != nil || len(changes) != 1 || changes[0].Drift {
		t.Errorf("rolled back: %+v, %v", changes, err)
	}
	f.Deployments[1].Digest = moduletest.V3 // the host has another OS there by now
	if changes, err := findChanges(d, f); err != nil || len(changes) != 1 || !changes[0].Drift {
		t.Errorf("updated since: %+v, %v", changes, err)
	}
}

// An interrupted rollback can be repeated. Then the host boots the previous OS.
func TestARollbackCutShortIsDoneAgain(t *testing.T) {
	longtest.SkipSlow(t)
	onSites(t, []string{"ostree", "bootc"}, func(b *osHost, s site, d engine.Desired) {
		old := b.gatherFacts(d).Booted().Digest
		script := b.failNewOS(d)
		saved := b.Root
		for n := 1; ; n += longtest.Pick(5, 1) {
			copied := filepath.Join(b.T.TempDir(), "box")
			b.Check(exec.Command("cp", "-a", saved, copied).Run())
			c := &osHost{Box: &moduletest.Box{T: b.T, Root: copied}}
			killed := c.runKilledAt(script, n)
			if strings.Contains(c.Log(), "set-default") && !c.Exists(hostscript.RejectedPath) {
				b.T.Fatalf("killed at command %d: it goes back, and the OS that failed is not noted", n)
			}
			if !strings.HasSuffix(c.Log(), "rebooted unlocked\n") || !c.Exists("pending") {
				c.Want(c.Run(script), 0, "rebooting back into "+old)
			}
			c.simulateBoot()
			c.isBack(d, old)
			if !killed {
				if n < 8 {
					b.T.Errorf("only %d commands were seen", n)
				}
				return
			}
		}
	})
}

// runKilledAt kills the shell of a script at its nth command that changes
// something or reads deployments. It returns false if the script runs fewer such
// commands.
func (b *osHost) runKilledAt(script string, n int) bool {
	b.T.Helper()
	fakes := moduletest.FakeTools(b.T)
	b.Mkdir("kill")
	dir := filepath.Join(b.Root, "kill")
	for _, name := range []string{"mv", "sync", "rm", "tail", "mktemp", "ostree", "bootc", "systemctl", "systemd-run"} {
		real := filepath.Join(fakes, name)
		if _, err := os.Stat(real); err != nil {
			real, err = exec.LookPath(name)
			b.Check(err)
		}
		wrapper := fmt.Sprintf("#!/bin/sh\nprintf x >>%[1]s/count\nread -r c <%[1]s/count || :\n[ ${#c} -ne %[2]d ] || { kill -9 $PPID; exit 1; }\nexec %[3]s \"$@\"\n", dir, n, real)
		b.Check(os.WriteFile(filepath.Join(dir, name), []byte(wrapper), 0o755))
	}
	for _, path := range []string{"/var/lib/holdfast", "/run/holdfast", "/run/ostree", "/proc/sys", "/ostree/deploy"} {
		script = strings.ReplaceAll(script, path, b.Root+path)
	}
	cmd := exec.Command(pathtest.Shell(), "-c", script+"\n:\n")
	cmd.Env = []string{"PATH=" + dir + ":" + fakes + ":" + pathtest.Tools(), "BOX=" + b.Root}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.T.Fatal(err)
	}
	return len(b.read("kill/count")) >= n
}

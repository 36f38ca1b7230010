package modules

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
)

// rollbackTarget returns a host of a pool whose failed hosts are rolled back.
func rollbackTarget(d engine.Desired, f engine.Facts) engine.Target {
	t := target(d, f)
	t.Pool.OnFailure = engine.RollbackFailed
	return t
}

// rollbackSteps returns the steps that roll the host back from the OS that it
// will boot.
func (b *box) rollbackSteps(d engine.Desired) []engine.Step {
	b.t.Helper()
	f := b.gatherFacts(d)
	changes, err := operatingSystem{}.Diff(d, f)
	b.check(err)
	return operatingSystem{}.Steps(rollbackTarget(d, f), changes).Rollback
}

// simulateBoot reboots: the first deployment takes effect, unless it is locked.
func (b *box) simulateBoot() {
	b.t.Helper()
	next := ""
	switch {
	case b.exists("staged") && !b.exists("key") && !b.exists("run/ostree/staged-deployment-locked"):
		next = "staged"
	case b.exists("pending"):
		next = "pending"
	}
	if next != "" {
		b.check(os.Rename(filepath.Join(b.root, "booted"), filepath.Join(b.root, "rollback")))
		b.check(os.Rename(filepath.Join(b.root, next), filepath.Join(b.root, "booted")))
		if b.exists(next + "-args") {
			b.write("proc/cmdline", strings.ReplaceAll(b.read(next+"-args"), "\n", " "))
		}
	}
	b.run("rm -rf /run/ostree /run/holdfast " + b.root + "/staged " + b.root + "/staged-args " + b.root + "/key")
	b.write("proc/sys/kernel/random/boot_id", fmt.Sprint("boot-", strings.Count(b.log(), "systemctl reboot")))
}

// failNewOS runs the host until its new OS fails, and returns the script that
// rolls it back.
func (b *box) failNewOS(d engine.Desired) string {
	b.t.Helper()
	b.want(b.stage(d), 0, "staged and locked")
	b.hold(engine.RunHold, "r1")
	steps := b.rollbackSteps(d)
	if len(steps) != 3 || steps[0].Reboots || !steps[1].Reboots || steps[2].Do.AwaitBoot == nil {
		b.t.Fatalf("the rollback is %+v", steps)
	}
	if want := b.gatherFacts(d).Booted().Digest; steps[2].Do.AwaitBoot.Digest != want || steps[2].Do.AwaitBoot.BootID != "" {
		b.t.Errorf("it waits for %+v, not for any boot of %s", steps[2].Do.AwaitBoot, want)
	}
	b.want(b.finalize(d), 0, "rebooting into")
	b.simulateBoot()
	if got := b.gatherFacts(d).Booted().Digest; got != d.OS.Digest() {
		b.t.Fatalf("it has booted %s", got)
	}
	return orderOf(steps)
}

// isBack requires that the host runs its previous OS for good, and that the
// failed OS is not rolled back again.
func (b *box) isBack(d engine.Desired, digest string) {
	b.t.Helper()
	f := b.gatherFacts(d)
	if f.Booted() == nil || f.Booted().Digest != digest || f.Staged() != nil || len(f.Problems) > 0 {
		b.t.Fatalf("not back: %+v", f.Deployments)
	}
	if len(f.Rejected) != 1 || f.Rejected[0] != d.OS.Digest() {
		b.t.Errorf("rejected: %v", f.Rejected)
	}
	if changes, err := (operatingSystem{}).Diff(d, f); err != nil || len(changes) != 1 {
		b.t.Errorf("the difference is not what it was: %v, %v", changes, err)
	}
	if steps := b.rollbackSteps(d); len(steps) > 0 {
		b.t.Error("it would be rolled back from the same OS again")
	}
	b.simulateBoot()
	if got := b.gatherFacts(d).Booted().Digest; got != digest {
		b.t.Errorf("the next boot brings %s", got)
	}
}

func backSites(t *testing.T, test func(*box, site, engine.Desired)) {
	t.Helper()
	on(t, []string{"ostree", "ostree 2022.7", "rpm-ostree layered", "rpm-ostree image", "bootc"}, test)
}

func TestAHostGoesBackToTheOSItRanBefore(t *testing.T) {
	backSites(t, func(b *box, s site, d engine.Desired) {
		old := b.gatherFacts(d).Booted().Digest
		before := b.read("proc/cmdline")
		script := b.failNewOS(d)
		b.want(b.run(script), 0, "rebooting back into "+old)
		if !strings.Contains(b.log(), "--unit="+engine.RebootUnit) || !strings.HasSuffix(b.log(), "rebooted unlocked\n") {
			b.t.Errorf("log:\n%s", b.log())
		}
		if left := files(b.root + "/run/holdfast"); left != "finalize.log\nrebooting\n" {
			b.t.Errorf("left behind: %s", left)
		}
		if info, err := os.Stat(filepath.Join(b.root, hostscript.RejectedPath)); err != nil || info.Mode() != 0o600 {
			b.t.Errorf("%v, %v", info, err)
		}
		b.simulateBoot()
		if got := b.read("proc/cmdline"); got != before {
			b.t.Errorf("booted with %s", got)
		}
		b.isBack(d, old)
	})
}

// A host that a dead run left with the new OS returns to the OS in its hold, by
// the same script, as long as it still has that OS.
func TestAHostThatWasLeftBehindGoesBack(t *testing.T) {
	backSites(t, func(b *box, s site, d engine.Desired) {
		old := b.gatherFacts(d).Booted().Digest
		b.failNewOS(d)
		again := func(from string) []engine.Step {
			f := b.gatherFacts(d)
			f.Hold.PreviousOS = from
			return operatingSystem{}.RollbackSteps(rollbackTarget(d, f))
		}
		for what, from := range map[string]string{"none": "", "the one that failed": d.OS.Digest(), "one that it has not got": v3} {
			if steps := again(from); len(steps) > 0 {
				t.Errorf("it goes back where the hold names %s: %+v", what, steps)
			}
		}
		steps := again(old)
		if len(steps) != 3 {
			t.Fatalf("%+v", steps)
		}
		b.want(b.run(orderOf(steps)), 0, "rebooting back into "+old)
		b.simulateBoot()
		b.isBack(d, old)
		if steps := again(old); len(steps) > 0 {
			t.Error("it would be rolled back once more")
		}
	})
}

// An OS that succeeds at a later attempt is removed from the rejected ones, by
// the name under which it was added.
func TestAnOSThatGoesWellHasNotFailed(t *testing.T) {
	backSites(t, func(b *box, s site, d engine.Desired) {
		script := b.failNewOS(d)
		b.want(b.run(script), 0, "rebooting back into")
		b.simulateBoot()
		b.want(b.stage(d), 0, "staged and locked")
		b.hold(engine.RunHold, "r1")
		b.want(b.finalize(d), 0, "rebooting into")
		b.simulateBoot()
		f := b.gatherFacts(d)
		if f.Booted() == nil || f.Booted().Digest != d.OS.Digest() || strings.Join(f.Rejected, " ") != d.OS.Digest() {
			b.t.Fatalf("it runs %+v and has rejected %v", f.Booted(), f.Rejected)
		}
		b.want(b.run(hostscript.ReleaseScript(by("r1"), engine.Release{Updated: true, Accepts: f.Booted().Digest})), 0, "")
		if f := b.gatherFacts(d); len(f.Rejected) > 0 || f.Hold != nil || f.Updated.IsZero() {
			b.t.Errorf("it has rejected %v, is held by %v, and was updated at %s", f.Rejected, f.Hold, f.Updated)
		}
	})
}

// If ostree cannot change the order of deployments, it deploys the previous one
// again. That one keeps its own kernel arguments, and does not get the
// arguments of the failed one.
func TestAnOldOSTreeGoesBackWithTheArgumentsOfBefore(t *testing.T) {
	b := newBox(t)
	b.write("ostree-version", "2022.7")
	d := withArgs(engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: v2}})
	script := b.failNewOS(d)
	entry := func(n int, options, id string) {
		link := fmt.Sprintf("ostree/boot.1/lab/%d", n)
		b.mkdir("ostree/boot.1/lab")
		b.check(os.Symlink("../../../deploy/lab/deploy/"+id, filepath.Join(b.root, link)))
		b.write(fmt.Sprintf("boot/loader/entries/ostree-%d-lab.conf", 2-n), "title lab\noptions "+options+" ostree="+b.root+"/"+link+" quiet\nlinux /vmlinuz")
	}
	entry(0, "root=LABEL=root new=1", v2+".0")
	entry(1, "root=LABEL=root rw console=tty0 glob=*", v1+".0")
	b.want(b.run(strings.ReplaceAll(script, "/boot/loader", b.root+"/boot/loader")), 0, "rebooting back into "+v1)
	b.simulateBoot()
	if got := b.read("proc/cmdline"); got != "root=LABEL=root rw console=tty0 glob=* quiet" {
		t.Errorf("booted with %s", got)
	}
	if got := b.gatherFacts(d).Booted(); got.Digest != v1 || got.Origin != "lab:lab/stable" {
		t.Errorf("booted %+v", got)
	}
}

func TestAHostThatIsNotAsExpectedIsNotRolledBack(t *testing.T) {
	swap := func(b *box) { b.write("rollback", v3+" lab:lab/stable") }
	cases := map[string]struct {
		site string
		do   func(*box)
		code int
		says string
	}{
		"not held":            {"ostree", func(b *box) { b.remove(engine.HoldPath) }, hostscript.ScriptHeld, "not held by this run"},
		"held by a person":    {"ostree", func(b *box) { b.hold(engine.MaintenanceHold, "m1") }, hostscript.ScriptHeld, "someone else"},
		"old OS booted":       {"ostree", func(b *box) { b.write("booted", v1+" lab:lab/stable") }, hostscript.ScriptChanged, "runs " + v1 + " already"},
		"another OS booted":   {"ostree", func(b *box) { b.write("booted", v3+" lab:lab/stable") }, hostscript.ScriptChanged, "runs " + v3 + ", which is not " + v2},
		"previous OS gone":    {"ostree", func(b *box) { b.remove("rollback") }, hostscript.ScriptCannot, "has not got " + v1 + " any more"},
		"another one instead": {"ostree", swap, hostscript.ScriptCannot, "has not got " + v1 + " any more"},
		"gone, of rpm-ostree": {"rpm-ostree deploy", func(b *box) { b.remove("rollback") }, hostscript.ScriptCannot, "has not got"},
		"status fails":        {"ostree", func(b *box) { b.write("fail-status", "error: opening repo") }, 1, "error: opening repo"},
		"gone, of bootc":      {"bootc", swap, hostscript.ScriptCannot, "has not got"},
	}
	for name, c := range cases {
		on2(t, name, c.site, func(b *box, s site, d engine.Desired) {
			script := b.failNewOS(d)
			c.do(b)
			before := b.log()
			b.want(b.run(script), c.code, c.says)
			if did := strings.TrimPrefix(b.log(), before); strings.Contains(did, "reboot") || strings.Contains(did, "set-default") || strings.Contains(did, "rollback") {
				b.t.Errorf("log:\n%s", did)
			}
			if b.exists(hostscript.RejectedPath) {
				b.t.Error("the OS counts as rejected")
			}
		})
	}
}

// on2 runs a test for one site under a name.
func on2(t *testing.T, name, siteName string, test func(*box, site, engine.Desired)) {
	t.Run(name, func(t *testing.T) { on(t, []string{siteName}, test) })
}

func TestWhatIsStagedDoesNotComeBackAfterARollback(t *testing.T) {
	for _, locked := range []bool{true, false} {
		one(t, func(b *box, s site, d engine.Desired) {
			old := b.gatherFacts(d).Booted().Digest
			script := b.failNewOS(d)
			b.run("ostree pull lab lab/stable@" + v3 + "; ostree admin deploy --lock-finalization lab:lab/stable")
			if !locked {
				b.run("ostree admin lock-finalization --unlock; rm -f /run/ostree/staged-deployment-locked")
			}
			b.want(b.run(script), 0, "rebooting back into "+old)
			b.simulateBoot()
			b.isBack(d, old)
		})
	}
}

// The tools of hosts swap the deployments back when they are called twice.
func TestARollbackThatIsDoneAgainStays(t *testing.T) {
	backSites(t, func(b *box, s site, d engine.Desired) {
		old := b.gatherFacts(d).Booted().Digest
		script := b.failNewOS(d)
		b.write("fail-reboot", "Call to Reboot failed: Access denied")
		b.want(b.run(script), 1, "Access denied")
		b.remove("fail-reboot")
		b.want(b.run(script), 0, "rebooting back into "+old)
		b.simulateBoot()
		b.isBack(d, old)
		b.want(b.run(script), hostscript.ScriptChanged, "runs "+old+" already")
	})
}

func TestAToolThatDoesNotGoBackIsReported(t *testing.T) {
	b := newBox(t)
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: v2}}
	script := b.failNewOS(d)
	broken := strings.ReplaceAll(script, `ostree admin set-default "$index"`, ":")
	before := b.log()
	b.want(b.run(broken), 1, "would still not boot "+v1)
	if strings.Contains(strings.TrimPrefix(b.log(), before), "systemctl reboot") {
		t.Error("it was rebooted")
	}
}

func TestNotedDigestsAreFewAndOnce(t *testing.T) {
	b := newBox(t)
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: v2}}
	script := b.failNewOS(d)
	var old []string
	for i := range 150 {
		old = append(old, fmt.Sprintf("%064x", i))
	}
	text := strings.Join(old, "\n") + "\n" + v2 + "\n" + v3 // no newline at the end
	b.check(os.WriteFile(filepath.Join(b.root, hostscript.RejectedPath), []byte(text), 0o600))
	b.want(b.run(script), 0, "rebooting")
	got := b.gatherFacts(d).Rejected
	if n := len(got); n != 99 || got[n-1] != v2 || got[n-2] != v3 || got[0] != old[149-96] {
		t.Errorf("%d: %v", n, got)
	}
}

func TestNoStepsRollBackWhereThereIsNothingToGoBackTo(t *testing.T) {
	booted := engine.Facts{BootID: boot, Tool: "ostree 2025.2", CmdLine: []string{"a"}, Deployments: []engine.Deployment{{Digest: v1, ID: "my-os-" + v1 + ".3", Booted: true}}}
	rejected := booted
	rejected.Rejected = []string{v3, v2}
	other := booted
	other.Rejected = []string{v3}
	nameless := booted
	nameless.Deployments = []engine.Deployment{{Digest: v1, Booted: true}}
	next := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "x", Commit: v2}}
	args := engine.Desired{OS: &engine.OS{Driver: "ostree"}, Config: &engine.Config{KernelArgs: []string{"b"}}}
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
		changes, err := operatingSystem{}.Diff(c.d, c.f)
		if err != nil || len(changes) == 0 {
			t.Fatalf("%s: %v, %v", name, changes, err)
		}
		tgt := target(c.d, c.f)
		tgt.Pool.OnFailure = c.mode
		if got := (operatingSystem{}).Steps(tgt, changes).Rollback; len(got) != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestValuesReachRollbacksQuoted(t *testing.T) {
	b := newBox(t)
	evil := "x'; touch " + b.root + "/pwned; $(touch " + b.root + "/pwned) \n"
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "x", Commit: evil}}
	f := engine.Facts{BootID: boot, Deployments: []engine.Deployment{{Digest: evil, ID: "lab-" + v1 + ".0", Booted: true}}}
	d.OS.Commit += "new"
	tgt := rollbackTarget(d, f)
	tgt.Run = evil
	script := orderOf(operatingSystem{}.Steps(tgt, []engine.Change{{Module: "os"}}).Rollback)
	b.run(script)
	b.hold(engine.RunHold, evil)
	b.want(b.run(script), hostscript.ScriptChanged, "runs "+evil+" already")
	if b.exists("pwned") {
		t.Error("a value was carried out")
	}
}

// The arguments of a rolled-back host are in a deployment that it does not run
// any more: their absence is no drift.
func TestArgumentsThatWentWithARollbackAreNoDrift(t *testing.T) {
	want := engine.Config{KernelArgs: []string{"a"}}
	f := engine.Facts{
		BootID: boot, Tool: "ostree 2025.2", CmdLine: []string{"b"}, Config: &engine.ConfigFacts{Applied: &engine.Record{Config: want}}, Rejected: []string{v2},
		Deployments: []engine.Deployment{{Digest: v1, ID: "lab-" + v1 + ".0", Booted: true}, {Digest: v2, ID: "lab-" + v2 + ".0", Rollback: true}},
	}
	d := engine.Desired{OS: &engine.OS{Driver: "ostree"}, Config: &want, ReportDrift: true}
	if changes, err := (operatingSystem{}).Diff(d, f); err != nil || len(changes) != 1 || changes[0].Drift {
		t.Errorf("rolled back: %+v, %v", changes, err)
	}
	f.Deployments[1].Digest = v3 // it has got another OS since
	if changes, err := (operatingSystem{}).Diff(d, f); err != nil || len(changes) != 1 || !changes[0].Drift {
		t.Errorf("updated since: %+v, %v", changes, err)
	}
}

// An interrupted rollback can be repeated, and the host boots the previous OS.
func TestARollbackCutShortIsDoneAgain(t *testing.T) {
	on(t, []string{"ostree", "bootc"}, func(b *box, s site, d engine.Desired) {
		old := b.gatherFacts(d).Booted().Digest
		script := b.failNewOS(d)
		saved := b.root
		for n := 1; ; n += longtest.Pick(3, 1) {
			copied := filepath.Join(b.t.TempDir(), "box")
			b.check(exec.Command("cp", "-a", saved, copied).Run())
			c := &box{t: b.t, root: copied}
			killed := c.runKilledAt(script, n)
			if strings.Contains(c.log(), "set-default") && !c.exists(hostscript.RejectedPath) {
				b.t.Fatalf("killed at command %d: it goes back, and the OS that failed is not noted", n)
			}
			if !strings.HasSuffix(c.log(), "rebooted unlocked\n") || !c.exists("pending") {
				c.want(c.run(script), 0, "rebooting back into "+old)
			}
			c.simulateBoot()
			c.isBack(d, old)
			if !killed {
				if n < 8 {
					b.t.Errorf("only %d commands were seen", n)
				}
				return
			}
		}
	})
}

// runKilledAt kills the shell of a script at its nth command that changes
// something or reads deployments; false if there is no nth.
func (b *box) runKilledAt(script string, n int) bool {
	b.t.Helper()
	fakes, err := filepath.Abs("../testdata/fake")
	b.check(err)
	b.mkdir("kill")
	dir := filepath.Join(b.root, "kill")
	for _, name := range []string{"mv", "sync", "rm", "tail", "mktemp", "ostree", "bootc", "systemctl", "systemd-run"} {
		real := filepath.Join(fakes, name)
		if _, err := os.Stat(real); err != nil {
			real, err = exec.LookPath(name)
			b.check(err)
		}
		wrapper := fmt.Sprintf("#!/bin/sh\nprintf x >>%[1]s/count\nread -r c <%[1]s/count || :\n[ ${#c} -ne %[2]d ] || { kill -9 $PPID; exit 1; }\nexec %[3]s \"$@\"\n", dir, n, real)
		b.check(os.WriteFile(filepath.Join(dir, name), []byte(wrapper), 0o755))
	}
	for _, path := range []string{"/var/lib/holdfast", "/run/holdfast", "/run/ostree", "/proc/sys", "/ostree/deploy"} {
		script = strings.ReplaceAll(script, path, b.root+path)
	}
	cmd := exec.Command("sh", "-c", script+"\n:\n")
	cmd.Env = []string{"PATH=" + dir + ":" + fakes + ":" + pathtest.Tools(), "BOX=" + b.root}
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.t.Fatal(err)
	}
	return len(b.read("kill/count")) >= n
}

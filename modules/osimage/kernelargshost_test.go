package osimage

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/planner"
	"holdfast/engine/resource"
	"holdfast/modules/moduletest"
)

func (b *osHost) read(name string) string {
	b.T.Helper()
	text, err := os.ReadFile(filepath.Join(b.Root, name))
	b.Check(err)
	return strings.TrimSpace(string(text))
}

// reboot makes the staged deployment the booted one, unless the deployment is
// locked.
func (b *osHost) reboot() {
	b.T.Helper()
	if strings.HasSuffix(b.Log(), "rebooted unlocked\n") {
		b.Write("booted", b.read("staged"))
		if b.Exists("staged-args") {
			b.Write("proc/cmdline", strings.ReplaceAll(b.read("staged-args"), "\n", " "))
		}
	}
	b.Run("rm -rf /run/ostree /run/holdfast " + b.Root + "/staged " + b.Root + "/staged-args " + b.Root + "/key")
	b.Write("proc/sys/kernel/random/boot_id", "00000000-0000-0000-0000-000000000001")
}

// withArgs adds kernel arguments to a desired state: it removes one argument of
// the fake host, and adds two.
func withArgs(d engine.Desired) engine.Desired {
	d.Config = &resource.Config{KernelArgs: []string{"a=1", "$(touch$IFS''pwned)'b"}, NoKernelArgs: []string{"console=tty0"}}
	return d
}

// onlyArgs returns a desired state with kernel arguments and the OS that is
// booted.
func onlyArgs(driver string) engine.Desired {
	return withArgs(engine.Desired{OS: &engine.OS{Driver: driver}})
}

const newCmdLine = "root=LABEL=root rw ostree=/ostree/boot.1/lab/1/0 a=1 $(touch$IFS''pwned)'b"

func forArgs(t *testing.T, test func(*osHost, site, engine.Desired)) {
	t.Helper()
	onSites(t, []string{
		"ostree", "ostree follows the booted ref", "ostree 2026.4",
		"rpm-ostree rebase", "rpm-ostree deploy", "rpm-ostree layered", "rpm-ostree image", "rpm-ostree signed image, layered",
	}, func(b *osHost, s site, d engine.Desired) { test(b, s, withArgs(d)) })
}

func TestAnOSAndItsArgumentsAreOneDeployment(t *testing.T) {
	longtest.SkipSlow(t)
	forArgs(t, func(b *osHost, s site, d engine.Desired) {
		f := b.gatherFacts(d)
		changes, err := findChanges(d, f)
		if err != nil || len(changes) != 4 {
			b.T.Fatalf("%v, %v", changes, err)
		}
		b.Want(b.stage(d), 0, "staged and locked: "+s.os.Digest())
		if strings.Contains(b.Log(), "\nunlocked\n") {
			b.T.Error("it was staged unlocked for a moment")
		}
		if steps := b.steps(d); len(steps.Stage) != 0 || b.gatherFacts(d).StagedArgs == "" {
			b.T.Fatal("it is staged again")
		}
		b.Hold(engine.RunHold, "r1")
		b.Want(b.finalize(d), 0, "rebooting into "+s.os.Digest())
		if strings.Count(b.Log(), "rebooted unlocked\n") != 1 {
			b.T.Errorf("log:\n%s", b.Log())
		}
		b.reboot()
		b.checkSettledArgs(d, newCmdLine)
	})
}

// checkSettledArgs requires that the host has these kernel arguments, and that
// nothing is left to do.
func (b *osHost) checkSettledArgs(d engine.Desired, cmdline string) {
	b.T.Helper()
	f := b.gatherFacts(d)
	if got := strings.Join(f.KernelArgs, " "); got != cmdline {
		b.T.Errorf("booted with %s", got)
	}
	if changes, err := findChanges(d, f); err != nil || len(changes) > 0 {
		b.T.Errorf("still to do: %v, %v", changes, err)
	}
	if b.Exists("pwned") {
		b.T.Error("an argument was carried out")
	}
}

func TestArgumentsAloneDeployTheBootedOSAgain(t *testing.T) {
	for _, driver := range []string{"ostree", "rpm-ostree"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			b := newOSHost(t)
			d := onlyArgs(driver)
			// Somebody else stages another OS with other arguments.
			b.Run("ostree pull lab lab/stable@" + moduletest.V3 + "; ostree admin deploy --stage --lock-finalization --karg-append=theirs lab:lab/stable")
			b.Want(b.stage(d), 0, "staged and locked: "+moduletest.V1)
			b.Hold(engine.RunHold, "r1")
			steps := b.steps(d)
			if len(steps.Stage) != 0 {
				t.Fatal("it is staged again")
			}
			if wait := steps.Reboot[2].Do.AwaitBoot; wait.Digest != moduletest.V1 {
				t.Errorf("waits for %s", wait.Digest)
			}
			b.Want(b.finalize(d), 0, "rebooting into "+moduletest.V1)
			b.reboot()
			b.checkSettledArgs(d, newCmdLine)
			if b.Exists("origin") && strings.Contains(b.read("origin"), "pinned") {
				t.Error("it is pinned like the booted one")
			}
			if origin := b.gatherFacts(d).Booted().Origin; origin != "lab:lab/stable" {
				t.Errorf("follows %s", origin)
			}
		})
	}
}

// TestQuotedArgumentsAreRemovedAsTheEntryHasThem: GRUB passes arguments on in another spelling than that of the boot loader
// entry, with which the OS tools compare. A quoted argument that is there already is not added again.
func TestQuotedArgumentsAreRemovedAsTheEntryHasThem(t *testing.T) {
	t.Parallel()
	b := newOSHost(t)
	b.Mkdir("ostree/boot.1/lab")
	for n, entry := range []string{`options other="x y" root=LABEL=root`, `title lab` + "\n" + `options root=LABEL=root gone="file a.c +p" "kept=b c"`} {
		link := fmt.Sprintf("ostree/boot.1/lab/%d", n)
		b.Check(os.Symlink("../../../deploy/lab/deploy/"+[]string{moduletest.V2, moduletest.V1}[n]+".0", filepath.Join(b.Root, link)))
		b.Write(fmt.Sprintf("boot/loader/entries/ostree-%d-lab.conf", 2-n), entry+" ostree="+b.Root+"/"+link)
	}
	b.Write("proc/cmdline", `BOOT_IMAGE=/x root=LABEL=root "gone=file a.c +p" "kept=b c" ostree=/ostree/boot.1/lab/1`)
	d := engine.Desired{OS: &engine.OS{Driver: "ostree"}, Config: &resource.Config{KernelArgs: []string{`kept="b c"`}, NoKernelArgs: []string{`gone="file a.c +p"`}}}
	changes, err := findChanges(d, b.gatherFacts(d))
	if err != nil || len(changes) != 1 || changes[0].Verb != engine.Delete {
		t.Fatalf("%+v, %v", changes, err)
	}
	script := b.steps(d).Stage[0].Do.Exec.Script.String()
	if want := `set -- '\''--karg-delete=gone="file a.c +p"'\''`; !strings.Contains(script, want) {
		t.Errorf("no %s in %s", want, script)
	}
	b.Write("proc/cmdline", `BOOT_IMAGE=/x root=LABEL=root "kept=b c" ostree=/ostree/boot.1/lab/1`)
	if changes, err := findChanges(d, b.gatherFacts(d)); err != nil || len(changes) > 0 {
		t.Errorf("%+v, %v", changes, err)
	}
}

// TestArgumentsThatNeedQuotesAreRemovedAsTheEntryHasThem: an entry without quotes may have arguments that holdfast writes in
// quotes, with a boot loader that passes them on.
func TestArgumentsThatNeedQuotesAreRemovedAsTheEntryHasThem(t *testing.T) {
	t.Parallel()
	for _, gone := range []string{"a=b;c", "a=b&c", "a=b|c", "a=b<c", "a=b>c", "a={b", "a=b}", `a=b\x2dc`} {
		b := newOSHost(t)
		b.Mkdir("ostree/boot.1/lab")
		link := "ostree/boot.1/lab/1"
		b.Check(os.Symlink("../../../deploy/lab/deploy/"+moduletest.V1+".0", filepath.Join(b.Root, link)))
		b.Write("boot/loader/entries/ostree-1-lab.conf", "options root=LABEL=root "+gone+" ostree="+b.Root+"/"+link)
		b.Write("proc/cmdline", "BOOT_IMAGE=/x root=LABEL=root "+gone+" ostree=/ostree/boot.1/lab/1")
		d := engine.Desired{OS: &engine.OS{Driver: "ostree"}, Config: &resource.Config{NoKernelArgs: resource.NormalizeKernelArgs(gone)}}
		script := b.steps(d).Stage[0].Do.Exec.Script.String()
		if want := `set -- '\''--karg-delete=` + gone + `'\''`; !strings.Contains(script, want) {
			t.Errorf("no %s in %s", want, script)
		}
		d.Config = &resource.Config{KernelArgs: resource.NormalizeKernelArgs(gone)}
		if changes, err := findChanges(d, b.gatherFacts(d)); err != nil || len(changes) > 0 {
			t.Errorf("%s: %+v, %v", gone, changes, err)
		}
	}
}

func TestOtherArgumentsThanPlannedAreNotReady(t *testing.T) {
	longtest.SkipSlow(t)
	stagers := map[string]func(*osHost, engine.Desired){
		"without arguments": func(b *osHost, d engine.Desired) {
			b.Run("ostree admin deploy --stage --lock-finalization lab:lab/stable")
		},
		"with others": func(b *osHost, d engine.Desired) {
			b.Run("ostree admin deploy --stage --lock-finalization --karg-append=theirs lab:lab/stable")
		},
		"with others, unlocked": func(b *osHost, d engine.Desired) {
			b.Run("ostree admin deploy --stage --lock-finalization --karg-append=theirs lab:lab/stable; ostree admin lock-finalization --unlock")
		},
		"by holdfast, with others": func(b *osHost, d engine.Desired) {
			d.Config = &resource.Config{KernelArgs: []string{"once"}}
			b.Want(b.stage(d), 0, "staged and locked")
		},
		"by holdfast, without any": func(b *osHost, d engine.Desired) {
			d.Config = nil
			b.Want(b.stage(d), 0, "staged and locked")
		},
	}
	for name, stage := range stagers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, driver := range []string{"ostree", "rpm-ostree"} {
				b := newOSHost(t)
				d := withArgs(engine.Desired{OS: &engine.OS{Driver: driver, Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}})
				b.Hold(engine.RunHold, "r1")
				b.Want(b.stage(d), 0, "staged and locked")
				planned := moduletest.OrderOf(b.steps(d).Reboot)
				b.Run("ostree pull lab lab/stable@" + moduletest.V2)
				stage(b, d)
				before := b.Log()
				says := "is not staged by holdfast with the planned kernel arguments"
				if strings.HasSuffix(name, "unlocked") {
					says = "is not locked any more"
				}
				b.Want(b.Run(planned), hostscript.ScriptChanged, says)
				if did := strings.TrimPrefix(b.Log(), before); strings.Contains(did, "rebooted") || strings.Contains(did, "--unlock") {
					t.Errorf("log:\n%s", did)
				}
				if len(b.steps(d).Stage) == 0 {
					t.Error("it is not staged again")
				}
				b.Want(b.stage(d), 0, "staged and locked")
				b.Want(b.finalize(d), 0, "rebooting into")
				b.reboot()
				b.checkSettledArgs(d, newCmdLine)
			}
		})
	}
}

// TestStagedBySomebodyElseIsStagedAgain: an OS that is staged and locked counts as ready only if holdfast has staged it to the
// end, also if the update plans no kernel arguments. Somebody else may have staged it with arguments of their own.
func TestStagedBySomebodyElseIsStagedAgain(t *testing.T) {
	theirs := map[string]string{
		"ostree":           "ostree pull lab lab/stable@" + moduletest.V2 + "; ostree admin deploy --stage --lock-finalization --karg-append=theirs lab:lab/stable",
		"rpm-ostree image": "rpm-ostree rebase --lock-finalization ostree-unverified-registry:" + image2 + "; rpm-ostree kargs --lock-finalization --append=theirs",
		// The unit was killed after bootc had staged the OS, and before it had the images that are bound to the OS.
		"bootc": "rm /run/holdfast/staged-args; mkdir -p /run/ostree; : >/run/ostree/staged-deployment-locked; bootc switch " + image2,
	}
	onEachTool(t, func(b *osHost, s site, d engine.Desired) {
		longtest.SkipOthers(b.T, d.OS.Driver, "ostree")
		b.Hold(engine.RunHold, "r1")
		b.Want(b.stage(d), 0, "staged and locked")
		planned := moduletest.OrderOf(b.steps(d).Reboot)
		name, _, _ := strings.Cut(strings.TrimPrefix(b.T.Name(), "TestStagedBySomebodyElseIsStagedAgain/"), "#")
		b.Run("ostree admin undeploy 0")
		b.Want(b.Run(theirs[strings.ReplaceAll(name, "_", " ")]), 0, "")
		if staged := b.gatherFacts(d).Staged(); staged == nil || staged.Digest != s.os.Digest() || !staged.Locked {
			b.T.Fatalf("the test is wrong: %+v is staged", staged)
		}
		b.Want(b.Run(planned), hostscript.ScriptChanged, "is not staged by holdfast with the planned kernel arguments")
		if strings.Contains(b.Log(), "rebooted") {
			b.T.Errorf("log:\n%s", b.Log())
		}
		b.Want(b.stage(d), 0, "staged and locked")
		if len(b.steps(d).Stage) != 0 {
			b.T.Error("it is staged again and again")
		}
		b.Want(b.finalize(d), 0, "rebooting into")
		b.reboot()
		b.checkSettledArgs(d, "root=LABEL=root rw console=tty0 ostree=/ostree/boot.1/lab/1/0")
	})
}

func TestWithoutArgumentsThoseOfTheBootedOSStay(t *testing.T) {
	longtest.SkipSlow(t)
	for _, driver := range []string{"ostree", "rpm-ostree"} {
		b := newOSHost(t)
		d := engine.Desired{OS: &engine.OS{Driver: driver, Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
		b.Hold(engine.RunHold, "r1")
		b.Want(b.stage(withArgs(d)), 0, "staged and locked")
		b.Want(b.stage(d), 0, "staged and locked") // these arguments left the configuration
		b.Want(b.finalize(d), 0, "rebooting into")
		b.reboot()
		b.checkSettledArgs(d, "root=LABEL=root rw console=tty0 ostree=/ostree/boot.1/lab/1/0")
	}
}

func TestAnUnlockedDeploymentIsLockedAgainWithItsArguments(t *testing.T) {
	longtest.SkipSlow(t)
	onSites(t, []string{"ostree", "rpm-ostree image"}, func(b *osHost, s site, d engine.Desired) {
		d = withArgs(d)
		b.Want(b.stage(d), 0, "staged and locked")
		b.Hold(engine.RunHold, "r1")
		b.Write("fail-reboot", "Call to Reboot failed: Connection reset by peer")
		b.Want(b.finalize(d), 1, "Connection reset by peer")
		if len(b.steps(d).Stage) > 0 {
			b.T.Error("it has to be staged again")
		}
		b.Remove("fail-reboot")
		b.Want(b.finalize(d), 0, "rebooting into")
	})
}

func TestStepsMakeTheChangesTheyAreGiven(t *testing.T) {
	b := newOSHost(t)
	d := withArgs(engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}})
	f := b.gatherFacts(d)
	changes, err := findChanges(d, f)
	b.Check(err)
	i := slices.IndexFunc(changes, func(c engine.Change) bool { return c.Resource == "os" })
	b.Want(b.Run(planSteps(moduletest.Target(d, f), changes[i:i+1]).Stage[0].Do.Exec.Script.String()), 0, "staged and locked: "+moduletest.V2)
	if b.Exists("staged-args") {
		t.Error("arguments were changed that were only to be reported")
	}
	changes = slices.Delete(changes, i, i+1)
	b.Want(b.Run(planSteps(moduletest.Target(d, f), changes).Stage[0].Do.Exec.Script.String()), 0, "staged and locked: "+moduletest.V1)
}

func TestAHostWhoseArgumentsCannotBeChangedIsLeftAlone(t *testing.T) {
	booted := engine.Facts{
		BootID: moduletest.Boot, Tool: "ostree 2022.7", KernelArgs: []string{"a", "b"},
		Deployments: []engine.Deployment{{Digest: moduletest.V1, ID: "lab-" + moduletest.V1 + ".0", Booted: true}},
	}
	args := func(driver string, c resource.Config) engine.Desired {
		return engine.Desired{OS: &engine.OS{Driver: driver}, Config: &c}
	}
	a, ab := resource.Config{NoKernelArgs: []string{"a"}}, resource.Config{NoKernelArgs: []string{"a", "b"}}
	unknown, applied := booted, booted
	unknown.KernelArgs = nil
	applied.Config = &resource.ConfigFacts{Applied: &resource.Record{AddedArgs: []string{"a"}}}
	cases := map[string]struct {
		d    engine.Desired
		f    engine.Facts
		says string // "": the arguments are changed
	}{
		"old ostree, one to go":        {args("ostree", a), booted, ""},
		"old ostree, two to go":        {args("ostree", ab), booted, "removes only one kernel argument at once"},
		"bootc":                        {args("bootc", a), booted, "/usr/lib/bootc/kargs.d"},
		"bootc, recorded":              {args("bootc", resource.Config{}), applied, "/usr/lib/bootc/kargs.d"},
		"no os block":                  {engine.Desired{Config: &a}, booted, `kernel arguments need an os block that names the driver: os { driver = "ostree" }`},
		"no os block, recorded":        {engine.Desired{Config: &resource.Config{}}, applied, "kernel argument a was set by holdfast"},
		"a command line that is empty": {args("ostree", a), unknown, "are not known"},
		"ostree=":                      {args("ostree", resource.Config{KernelArgs: []string{"ostree=/x"}}), booted, "ostree sets it"},
		"no ostree=":                   {args("ostree", resource.Config{NoKernelArgs: []string{"ostree=/x"}}), booted, "ostree sets it"},
	}
	for name, c := range cases {
		changes, err := findChanges(c.d, c.f)
		if c.says == "" && (err != nil || len(changes) == 0) || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, %v", name, changes, err)
		}
	}
}

func TestAHostIsStagedOnlyWithItsArguments(t *testing.T) {
	b := newOSHost(t)
	d := withArgs(engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}})
	state := func(f engine.Facts) engine.HostState {
		return planner.NewStatus(planner.Input{
			Request: planner.Request{Inventory: engine.Inventory{Pools: []engine.Pool{{Name: "p"}}, Hosts: []engine.Host{{Name: "w-1", Pool: "p"}}}, Desired: map[string]engine.Desired{"w-1": d}, Modules: []engine.Module{Module()}},
			Facts:   map[string]engine.Facts{"w-1": f},
		}).Hosts[0].State
	}
	b.Want(b.stage(d), 0, "staged and locked")
	f := b.gatherFacts(d)
	if got := state(f); got != engine.Staged {
		t.Errorf("staged with its arguments it is %s", got)
	}
	f.StagedArgs = ""
	if got := state(f); got != engine.Pending {
		t.Errorf("staged with others it is %s", got)
	}
}

func TestArgumentsThatWereAppliedAndAreGoneAreDrift(t *testing.T) {
	want := resource.Config{KernelArgs: []string{"a"}, NoKernelArgs: []string{"b"}}
	d := engine.Desired{OS: &engine.OS{Driver: "ostree"}, Config: &want, ReportDrift: true}
	cases := map[string]struct {
		record *resource.Record
		drift  bool
	}{
		"the same":             {&resource.Record{Config: want}, true},
		"never recorded":       {nil, false},
		"not finished":         {&resource.Record{Config: want, Unfinished: &resource.UnfinishedWrite{Config: want}}, false},
		"other arguments":      {&resource.Record{Config: resource.Config{NoKernelArgs: []string{"b"}}}, false},
		"others were unwanted": {&resource.Record{Config: resource.Config{KernelArgs: []string{"a"}}}, false},
	}
	for name, c := range cases {
		f := engine.Facts{
			BootID: moduletest.Boot, Tool: "ostree 2025.2", KernelArgs: []string{"b"}, Config: &resource.ConfigFacts{Applied: c.record},
			Deployments: []engine.Deployment{{Digest: moduletest.V1, ID: "lab-" + moduletest.V1 + ".0", Booted: true}},
		}
		changes, err := findChanges(d, f)
		if err != nil || len(changes) != 2 || changes[0].Drift != c.drift || changes[1].Drift != c.drift {
			t.Errorf("%s: %+v, %v", name, changes, err)
		}
	}
}

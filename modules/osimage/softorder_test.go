package osimage

import (
	"os"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/shelltest"
	"holdfast/modules/moduletest"
)

// softOrder plans a soft reboot for the present state of the host, and returns the script that
// orders it: into the OS of d, which is staged, or into the running OS if d has none.
func (b *osHost) softOrder(d engine.Desired, fallback string) string {
	b.T.Helper()
	mode := map[string]engine.SoftRebootMode{"yes": engine.AutoSoft, "no": engine.RequireSoft}[fallback]
	return b.rebootOrder(d, engine.SoftReboot, engine.RebootSetting{Soft: mode})
}

// rebootOrder plans a reboot of a kind that the pool allows, and returns the script that orders it.
func (b *osHost) rebootOrder(d engine.Desired, kind engine.RebootKind, allowed engine.RebootSetting) string {
	b.T.Helper()
	f := b.gatherFacts(d)
	t := moduletest.Target(d, f)
	t.Reboot, t.Pool.Reboot, t.Host.Cluster = kind, allowed, b.cluster
	steps := PlainReboot(t)
	if d.OS != nil {
		changes, err := findChanges(d, f)
		if err != nil || len(changes) == 0 {
			b.T.Fatalf("changes %v, %v", changes, err)
		}
		steps = planSteps(t, changes).Reboot
	}
	return moduletest.OrderOf(steps)
}

func newSoftHost(t *testing.T) *osHost {
	b := newOSHost(t)
	b.makeSoft()
	b.Hold(engine.RunHold, "r1")
	return b
}

// makeSoft gives the host programs that can soft reboot it.
func (b *osHost) makeSoft() {
	b.Write("ostree-version", "2026.4")
	b.Write("systemd-version", "262")
	b.Write("units/ostree-boot-complete.service", "active")
}

var softUpdate = engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}

// TestASoftRebootIntoAnotherOS checks the state of a host after each end of the order: the staged
// deployment is unlocked and prepared if the host soft reboots, unlocked if it reboots in full, and
// locked and not prepared if it does not reboot.
func TestASoftRebootIntoAnotherOS(t *testing.T) {
	for name, c := range map[string]struct {
		do       func(*osHost)
		fallback string
		code     int
		says     string
		logs     string // end of the log
	}{
		"prepared":            {func(b *osHost) {}, "yes", 0, "soft rebooting into " + moduletest.V2, "soft rebooted unlocked into the next root\n"},
		"cannot, must":        {func(b *osHost) { b.Write("fail-prepare", "error: different kernel state") }, "no", hostscript.ScriptCannot, "reboot: the host cannot soft reboot: error: different kernel state", "lock-finalization\n"},
		"cannot, in full":     {func(b *osHost) { b.Write("fail-prepare", "error: different kernel state") }, "yes", 0, "it reboots in full instead: it cannot soft reboot: error: different kernel state", "rebooted unlocked\n"},
		"another prepared":    {func(b *osHost) { b.Write("prepares-another", "") }, "no", hostscript.ScriptCannot, "ostree has not prepared " + moduletest.V2 + ".0", "lock-finalization\n"},
		"the target is lost":  {func(b *osHost) { b.Write("loses-target", "") }, "no", 0, "soft rebooting into", "soft rebooted unlocked into the next root\n"},
		"not finalized":       {func(b *osHost) { b.Write("fail-finalize", "") }, "no", hostscript.ScriptCannot, "ostree has not finalized " + moduletest.V2 + ".0", "lock-finalization\n"},
		"another run starts":  {func(b *osHost) { b.Write("starts-finalization", "") }, "yes", 0, "soft rebooting into", "soft rebooted unlocked into the next root\n"},
		"not ordered":         {func(b *osHost) { b.Write("fail-soft-reboot", "Failed to connect to bus") }, "yes", 1, "Failed to connect to bus", "start ostree-boot-complete.service\n"},
		"not staged":          {func(b *osHost) { b.Run("ostree admin undeploy 0") }, "yes", hostscript.ScriptChanged, "nothing is staged", ""},
		"not locked":          {func(b *osHost) { b.Run("ostree admin lock-finalization --unlock") }, "yes", hostscript.ScriptChanged, "is not locked any more", ""},
		"a soft reboot since": {func(b *osHost) { b.Write("soft-reboots", "1") }, "yes", hostscript.ScriptChanged, "has rebooted", ""},
		"a program blocks it": {func(b *osHost) { b.blockShutdown() }, "yes", hostscript.ScriptChanged, "a program blocks the shutdown (flasher", ""},
		"held by a person":    {func(b *osHost) { b.Hold(engine.MaintenanceHold, "m1") }, "yes", hostscript.ScriptHeld, "someone else", ""},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "prepared", "cannot, must", "cannot, in full", "not staged", "a program blocks it", "held by a person")
			t.Parallel()
			b := newSoftHost(t)
			b.Want(b.stage(softUpdate), 0, "staged and locked")
			script := b.softOrder(softUpdate, c.fallback)
			c.do(b)
			before := b.Log()
			b.Want(b.Run(script), c.code, c.says)
			did := strings.TrimPrefix(b.Log(), before)
			if !strings.HasSuffix(did, c.logs) || strings.Contains(did, "rebooted") != strings.Contains(c.logs, "rebooted") {
				t.Errorf("log:\n%s", did)
			}
			soft := strings.HasPrefix(c.logs, "soft rebooted")
			if b.Exists("soft-target") != soft || b.Exists("run/nextroot/usr/lib/os-release") != soft || b.Exists("run/ostree/nextroot-booted") != soft {
				t.Error("the host is prepared for a soft reboot without one, or the other way round")
			}
			if b.Exists("units/ostree-boot-complete.service") == soft {
				t.Error("the unit that moves the mark of the prepared root is active in the soft reboot, or is not active without one")
			}
			if b.Exists("run/holdfast/rebooting") != (c.code == 0) {
				t.Error("the mark of an ordered reboot is wrong")
			}
			if f := b.gatherFacts(softUpdate); c.code == hostscript.ScriptCannot && !f.Staged().Locked {
				t.Error("the staged deployment is not locked, so any reboot boots it")
			}
		})
	}
}

// TestASoftRebootIntoTheRunningOS: nothing is prepared for it, and it must not lead into a root
// that somebody else has prepared.
func TestASoftRebootIntoTheRunningOS(t *testing.T) {
	for name, c := range map[string]struct {
		do       func(*osHost)
		fallback string
		code     int
		says     string
		logs     string
	}{
		"nothing staged":        {func(b *osHost) {}, "yes", 0, "soft rebooting\n", "soft rebooted unlocked into the running root\n"},
		"an empty next root":    {func(b *osHost) { b.Mkdir("run/nextroot") }, "yes", 0, "soft rebooting\n", "soft rebooted unlocked into the running root\n"},
		"staged and locked":     {func(b *osHost) { b.Want(b.stage(softUpdate), 0, "staged and locked") }, "yes", 0, "soft rebooting\n", "soft rebooted locked into the running root\n"},
		"another is prepared":   {func(b *osHost) { b.Write("run/nextroot/usr/lib/os-release", "") }, "no", hostscript.ScriptCannot, "reboot: the host cannot soft reboot: another root is prepared", "start ostree-boot-complete.service\n"},
		"prepared, and in full": {func(b *osHost) { b.Write("run/nextroot/usr/lib/os-release", "") }, "yes", 0, "it reboots in full instead", "rebooted unlocked\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newSoftHost(t)
			script := b.softOrder(engine.Desired{}, c.fallback)
			c.do(b)
			before := b.Log()
			b.Want(b.Run(script), c.code, c.says)
			if did := strings.TrimPrefix(b.Log(), before); !strings.HasSuffix(did, c.logs) || strings.Contains(did, "prepare-soft-reboot") {
				t.Errorf("log:\n%s", did)
			}
		})
	}
}

// TestTheKindOfAReboot: names and number of the steps are the same for each kind, because saved plans compare them.
func TestTheKindOfAReboot(t *testing.T) {
	target := moduletest.Target(engine.Desired{}, engine.Facts{BootID: moduletest.Boot})
	names := func(steps []engine.Step) (all string) {
		for _, s := range steps {
			all += s.Name + "\n"
		}
		return all
	}
	full := PlainReboot(target)
	target.Reboot = engine.SoftReboot
	soft := PlainReboot(target)
	if names(full) != names(soft) || full[2].Do.AwaitBoot.Kind != "" || soft[2].Do.AwaitBoot.Kind != engine.SoftReboot {
		t.Errorf("full:\n%s%+v\nsoft:\n%s%+v", names(full), full[2].Do.AwaitBoot, names(soft), soft[2].Do.AwaitBoot)
	}
}

// TestTheBootedOSAfterASoftReboot: as long as ostree has not moved the mark of the root that was prepared, it
// names the wrong deployment as booted.
func TestTheBootedOSAfterASoftReboot(t *testing.T) {
	b := newSoftHost(t)
	b.Want(b.stage(softUpdate), 0, "staged and locked")
	b.Want(b.Run(b.softOrder(softUpdate, "yes")), 0, "soft rebooting")
	if f := b.gatherFacts(softUpdate); f.Booted() == nil || f.Booted().Digest != moduletest.V1 {
		t.Errorf("before the soft reboot, %+v is booted", f.Booted())
	}
	b.Check(os.RemoveAll(b.Root + "/run/nextroot/usr")) // systemd has moved the root
	f := b.gatherFacts(softUpdate)
	if f.Booted() != nil || !slices.ContainsFunc(f.Problems, func(p string) bool { return strings.Contains(p, "restart ostree-boot-complete.service corrects it") }) {
		t.Errorf("%+v is booted, problems %q", f.Booted(), f.Problems)
	}
	if _, err := findChanges(softUpdate, f); err == nil || !strings.Contains(err.Error(), "its booted OS is not known: ") {
		t.Errorf("the host is planned: %v", err)
	}
	b.Remove("run/ostree/nextroot-booted")
	if f := b.gatherFacts(softUpdate); f.Booted() == nil || len(f.Problems) > 0 {
		t.Errorf("%+v is booted, problems %q", f.Booted(), f.Problems)
	}
}

// TestTheMountedDeploymentDecides: ostree loses the mark of the prepared root if somebody asks for its status while the host goes down.
func TestTheMountedDeploymentDecides(t *testing.T) {
	for name, c := range map[string]struct {
		mounts string
		known  bool
	}{
		"no file":         {"", true},
		"composefs":       {"1176 209 0:124 / / ro - overlay composefs ro\n1180 1176 7:1 /ostree/deploy/lab/deploy/" + moduletest.V1 + ".0/etc /etc rw - ext4 /dev/loop1 rw", true},
		"no composefs":    {"1176 209 7:1 /ostree/deploy/lab/deploy/" + moduletest.V1 + ".0 / ro - ext4 /dev/loop1 ro", true},
		"another":         {"1176 209 0:124 / / ro - overlay composefs ro\n1180 1176 7:1 /ostree/deploy/lab/deploy/" + moduletest.V2 + ".0/etc /etc rw - ext4 /dev/loop1 rw", false},
		"another serial":  {"1176 209 7:1 /ostree/deploy/lab/deploy/" + moduletest.V1 + ".1 / ro - ext4 /dev/loop1 ro", false},
		"another layout":  {"1176 209 7:1 /roots/a / ro - ext4 /dev/loop1 ro\n1180 1176 0:5 / /etc rw - tmpfs tmpfs rw", true},
		"another /ostree": {"1176 209 7:1 / /x ro - ext4 /dev/loop1 ro", true},
	} {
		b := newSoftHost(t)
		if c.mounts != "" {
			b.Write("proc/self/mountinfo", c.mounts)
		}
		f := b.gatherFacts(softUpdate)
		if (f.Booted() != nil) != c.known || c.known != (len(f.Problems) == 0) {
			t.Errorf("%s: %+v is booted, problems %q", name, f.Booted(), f.Problems)
		}
	}
}

func TestShellcheckOfASoftReboot(t *testing.T) {
	b := newSoftHost(t)
	b.Want(b.stage(softUpdate), 0, "staged and locked")
	script := b.softOrder(softUpdate, "yes")
	_, job, ok := strings.Cut(script, "\njob='")
	job, _, ended := strings.Cut(job, "\n'\n")
	if !ok || !ended {
		t.Fatal("the script has no job")
	}
	shelltest.Check(t, "finalize", script)
	shelltest.Check(t, "job", "asked=1000 member=yes\n"+strings.ReplaceAll(job, `'\''`, "'"))
}

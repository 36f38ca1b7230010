package osimage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/shelltest"
	"holdfast/modules/moduletest"
)

// kexecOrder plans a kexec for the present state of the host, and returns the script that
// orders it: into the OS of d, which is staged, or into the running OS if d has none.
func (b *osHost) kexecOrder(d engine.Desired) string {
	b.T.Helper()
	return b.rebootOrder(d, engine.KexecReboot, engine.RebootSetting{Kexec: engine.AutoKexec})
}

// writeDeployment writes the kernel and the initramfs of a deployment, and their entry of the boot
// loader below dir.
func (b *osHost) writeDeployment(dir, commit, kernel, version string) {
	b.T.Helper()
	deployment := "ostree/deploy/lab/deploy/" + commit + ".0"
	b.Write(deployment+"/usr/lib/modules/"+kernel+"/vmlinuz", "kernel "+kernel)
	b.Write(deployment+"/usr/lib/modules/"+kernel+"/initramfs.img", "initramfs "+kernel)
	b.Write("boot/ostree/lab-"+kernel+"/vmlinuz-"+kernel, "kernel "+kernel)
	b.Write("boot/ostree/lab-"+kernel+"/initramfs-"+kernel+".img", "initramfs "+kernel)
	link := filepath.Join(b.Root, "ostree/boot.1/lab", kernel, "0")
	b.Check(os.MkdirAll(filepath.Dir(link), 0o755))
	b.Check(os.Symlink("../../../deploy/lab/deploy/"+commit+".0", link))
	b.Write(dir+"/ostree-"+version+".conf", strings.Join([]string{
		"title Lab " + kernel, "version " + version, "options root=LABEL=root rw ostree=" + link + " quiet",
		"linux /ostree/lab-" + kernel + "/vmlinuz-" + kernel, "initrd /ostree/lab-" + kernel + "/initramfs-" + kernel + ".img",
	}, "\n"))
}

func newKexecHost(t *testing.T) *osHost {
	b := newOSHost(t)
	b.Write("systemd-version", "262")
	b.Write("sys/kernel/kexec_loaded", "0")
	b.writeDeployment("boot/loader/entries", moduletest.V1, "6.1", "1")
	b.writeDeployment("next-entries", moduletest.V2, "6.2", "2")
	b.Hold(engine.RunHold, "r1")
	return b
}

// TestAKexecIntoAnotherOS checks which kernel a host boots after each end of the order, and that
// nothing stays loaded if the host does not kexec.
func TestAKexecIntoAnotherOS(t *testing.T) {
	edit := func(b *osHost, name, old, text string) {
		name = filepath.Join(b.Root, name)
		was, err := os.ReadFile(name)
		b.Check(err)
		b.Check(os.WriteFile(name, []byte(strings.Replace(string(was), old, text, 1)), 0o644))
	}
	entry := func(old, text string) func(*osHost) {
		return func(b *osHost) { edit(b, "next-entries/ostree-2.conf", old, text) }
	}
	const (
		inFull  = "it reboots in full instead: it cannot kexec: "
		staysUp = "the host would not come up from any reboot, and does not reboot: "
	)
	for name, c := range map[string]struct {
		do   func(*osHost)
		code int
		says string
		logs string // end of the log
	}{
		"loaded":               {func(*osHost) {}, 0, "kexec rebooting into " + moduletest.V2, "kexec into vmlinuz-6.2 initramfs-6.2.img --command-line=root=LABEL=root rw ostree=ROOT/ostree/boot.1/lab/6.2/0 quiet\n"},
		"the kernel is cut":    {func(b *osHost) { b.Write("boot/ostree/lab-6.2/vmlinuz-6.2", "kern") }, 1, staysUp + "ROOT/boot/ostree/lab-6.2/vmlinuz-6.2 is not the kernel of " + moduletest.V2 + ".0; mend it: cp ROOT/ostree/deploy/lab/deploy/" + moduletest.V2 + ".0/usr/lib/modules/6.2/vmlinuz ROOT/boot/ostree/lab-6.2/vmlinuz-6.2", ""},
		"the initramfs is cut": {func(b *osHost) { b.Write("boot/ostree/lab-6.2/initramfs-6.2.img", "") }, 1, staysUp + "ROOT/boot/ostree/lab-6.2/initramfs-6.2.img is not the initramfs of", ""},
		"both are empty": {func(b *osHost) {
			for _, f := range []string{"boot/ostree/lab-6.2/vmlinuz-6.2", "ostree/deploy/lab/deploy/" + moduletest.V2 + ".0/usr/lib/modules/6.2/vmlinuz"} {
				b.Check(os.Truncate(filepath.Join(b.Root, f), 0))
			}
		}, 0, inFull, "rebooted unlocked\n"},
		"no deployment": {func(b *osHost) {
			b.Check(os.RemoveAll(b.Root + "/ostree/deploy/lab/deploy/" + moduletest.V2 + ".0/usr"))
		}, 0, inFull, "rebooted unlocked\n"},
		"does not load":       {func(b *osHost) { b.Write("fail-kexec", "Cannot determine the file type of vmlinuz") }, 0, inFull + "kexec does not load ostree-2.conf: Cannot determine the file type", "rebooted unlocked\n"},
		"loads nothing":       {func(b *osHost) { b.Write("loads-nothing", "") }, 0, inFull + "kexec has loaded nothing", "rebooted unlocked\n"},
		"loaded by others":    {func(b *osHost) { b.Write("sys/kernel/kexec_loaded", "1") }, 0, inFull + "somebody has loaded a kernel, which kexec --unload undoes", "rebooted unlocked\n"},
		"not finalized":       {func(b *osHost) { b.Write("fail-finalize", "") }, 0, inFull + "ostree has not finalized " + moduletest.V2 + ".0", "rebooted unlocked\n"},
		"no entry":            {func(b *osHost) { b.Check(os.RemoveAll(b.Root + "/next-entries")) }, 0, inFull + "no entry of the boot loader belongs to " + moduletest.V2 + ".0", "rebooted unlocked\n"},
		"entry of another":    {entry("/6.2/0", "/6.1/0"), 0, inFull + "no entry of the boot loader belongs to " + moduletest.V2 + ".0", "rebooted unlocked\n"},
		"not the default":     {entry("version 2", "version 0"), 0, inFull + "ostree-2.conf is not the default of the boot loader", "rebooted unlocked\n"},
		"a device tree":       {entry("title", "devicetree /x.dtb\ntitle"), 0, inFull + "ostree-2.conf has devicetree", "rebooted unlocked\n"},
		"a second initrd":     {entry("title", "initrd /microcode.img\ntitle"), 0, inFull + "ostree-2.conf has a second initrd", "rebooted unlocked\n"},
		"a variable":          {entry("quiet", "$ignition_firstboot"), 0, inFull + "ostree-2.conf has a variable of the boot loader", "rebooted unlocked\n"},
		"no initramfs":        {entry("initrd ", "#"), 0, inFull + "ostree-2.conf has no kernel, or no initramfs", "rebooted unlocked\n"},
		"kexec not ordered":   {func(b *osHost) { b.Write("refuse-kexec", "Failed to connect to bus") }, 1, "Failed to connect to bus", "kexec --unload\n"},
		"not staged":          {func(b *osHost) { b.Run("ostree admin undeploy 0") }, hostscript.ScriptChanged, "nothing is staged", ""},
		"a soft reboot since": {func(b *osHost) { b.Write("soft-reboots", "1") }, hostscript.ScriptChanged, "has rebooted", ""},
		"a program blocks it": {func(b *osHost) { b.blockShutdown() }, hostscript.ScriptChanged, "a program blocks the shutdown (flasher", ""},
		"held by a person":    {func(b *osHost) { b.Hold(engine.MaintenanceHold, "m1") }, hostscript.ScriptHeld, "someone else", ""},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "loaded", "the kernel is cut", "does not load", "a program blocks it", "held by a person")
			t.Parallel()
			b := newKexecHost(t)
			b.Want(b.stage(softUpdate), 0, "staged and locked")
			script := b.kexecOrder(softUpdate)
			c.do(b)
			before := b.Log()
			b.Want(b.Run(script), c.code, strings.ReplaceAll(c.says, "ROOT", b.Root))
			did := strings.TrimPrefix(b.Log(), before)
			if !strings.HasSuffix(did, strings.ReplaceAll(c.logs, "ROOT", b.Root)) || strings.Contains(did, "kexec into") != strings.HasPrefix(c.logs, "kexec into") {
				t.Errorf("log:\n%s", did)
			}
			if c.code != 0 && strings.Contains(did, "rebooted") {
				t.Errorf("it reboots after all:\n%s", did)
			}
			if loaded := b.Exists("kexec-of"); loaded != strings.HasPrefix(c.logs, "kexec into") {
				t.Errorf("loaded: %t", loaded)
			}
			if b.Exists("run/holdfast/rebooting") != (c.code == 0) {
				t.Error("the mark of an ordered reboot is wrong")
			}
			if name == "not finalized" && !b.Exists("units/ostree-finalize-staged.service") {
				t.Error("the full reboot does not finalize")
			}
		})
	}
}

// TestAKexecIntoTheRunningOS checks that the kernel of the running deployment is loaded, also if
// another OS is staged and locked.
func TestAKexecIntoTheRunningOS(t *testing.T) {
	for name, do := range map[string]func(*osHost){
		"nothing staged":    func(*osHost) {},
		"staged and locked": func(b *osHost) { b.Want(b.stage(softUpdate), 0, "staged and locked") },
	} {
		b := newKexecHost(t)
		do(b)
		script := b.kexecOrder(engine.Desired{})
		b.Want(b.Run(script), 0, "kexec rebooting\n")
		if !strings.Contains(b.Log(), "kexec into vmlinuz-6.1 initramfs-6.1.img") || strings.Contains(b.Log(), "stop ostree-finalize-staged") {
			t.Errorf("%s: log:\n%s", name, b.Log())
		}
	}
}

// TestTheWaitForAKexec checks that only a boot of the kernel ends the wait, as after a full reboot.
func TestTheWaitForAKexec(t *testing.T) {
	target := moduletest.Target(engine.Desired{}, engine.Facts{BootID: moduletest.Boot})
	target.Reboot = engine.KexecReboot
	steps, full := PlainReboot(target), PlainReboot(moduletest.Target(engine.Desired{}, engine.Facts{BootID: moduletest.Boot}))
	if w := steps[2].Do.AwaitBoot; w.Kind != engine.KexecReboot || w.Kind.SharesKernel() || len(steps) != len(full) || steps[1].Name != full[1].Name {
		t.Errorf("%+v", w)
	}
}

func TestShellcheckOfAKexec(t *testing.T) {
	b := newKexecHost(t)
	b.Want(b.stage(softUpdate), 0, "staged and locked")
	script := b.kexecOrder(softUpdate)
	_, job, ok := strings.Cut(script, "\njob='")
	job, _, ended := strings.Cut(job, "\n'\n")
	if !ok || !ended {
		t.Fatal("the script has no job")
	}
	shelltest.Check(t, "order", script)
	shelltest.Check(t, "job", "asked=1000 member=yes\n"+strings.ReplaceAll(job, `'\''`, "'"))
}

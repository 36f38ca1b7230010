package osimage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/modules/moduletest"
)

// blockShutdown starts a program that blocks the shutdown of the host.
func (b *osHost) blockShutdown() {
	b.Write("run/systemd/inhibit/1", "")
	b.Write("blocks", "flasher 0 root 990 flash shutdown:sleep firmware block")
}

// silenceLogind makes all questions about inhibitors fail.
func (b *osHost) silenceLogind() {
	b.Write("run/systemd/inhibit/1", "")
	b.Write("fail-busctl", "")
	b.Write("fail-inhibit", "")
}

// Lines of shell that run in the middle of an order.
const (
	passTime    = `echo 1300.00 9.00 >"$BOX/proc/uptime"`
	writeFlash  = `mkdir -p "$BOX/run/systemd/inhibit"; : >"$BOX/run/systemd/inhibit/1"; echo "flasher 0 root 990 flash shutdown firmware block" >"$BOX/blocks"`
	writeOnce   = writeFlash + `; echo "rm \"\$BOX/blocks\"" >"$BOX/on-list"` // ends once somebody has asked
	stageOther  = `echo "` + moduletest.V3 + ` lab:lab/stable" >"$BOX/staged"; rm -f "$BOX/staged-args" "$BOX/key" "$BOX/run/ostree/staged-deployment-locked"; serialize`
	stageEdited = `echo quiet >"$BOX/staged-args"; rm -f "$BOX/key" "$BOX/run/ostree/staged-deployment-locked"; serialize`
	breakStatus = `echo "error: opening repo" >"$BOX/fail-status"`
	slowLogind  = `: >"$BOX/run/systemd/inhibit/1"; echo 'echo 1300.00 9.00 >"$BOX/proc/uptime"' >"$BOX/slow"; echo 'mv "$BOX/slow" "$BOX/on-busctl"' >"$BOX/on-busctl"` // at its second answer
	onStart     = "on-start"
)

// orderWith returns the script that orders a reboot of that kind into the OS of d, or into the running one, and in
// which something happens: right before the unit starts, or when a fake runs that hook.
func (b *osHost) orderWith(d engine.Desired, kind engine.RebootKind, hook, happens string) string {
	b.T.Helper()
	script := b.rebootOrder(d, kind, engine.RebootSetting{Soft: engine.AutoSoft, Kexec: engine.AutoKexec})
	b.Write(hook, happens)
	if hook != onStart {
		return script
	}
	const start = "\nsystemd-run --quiet"
	changed := strings.Replace(script, start, "\n. \"$BOX/on-start\""+start, 1)
	if changed == script {
		b.T.Fatal("the script has no such line")
	}
	return changed
}

// TestAnOrderThatIsOvertaken: while the transient unit prepares a reboot into another OS, time passes, a program begins to
// block the shutdown, or another program replaces the staged deployment. The host does not reboot. Until ostree
// has finalized the staged deployment, it is locked again; the message names a deployment that is the default by then.
func TestAnOrderThatIsOvertaken(t *testing.T) {
	const (
		late  = "reboot: 300 s have passed since the order to reboot, and at least as many since the check of etcd; the host does not reboot"
		flash = "reboot: a program blocks the shutdown (flasher 0 root 990 flash shutdown firmware block); the host does not reboot"
		isNew = ", but " + moduletest.V2 + ".0 is the default of the boot loader now"
	)
	full, soft, kexec := engine.FullReboot, engine.SoftReboot, engine.KexecReboot
	for name, c := range map[string]struct {
		kind          engine.RebootKind
		hook, happens string
		code          int
		says          string
		locked        bool // the planned deployment is staged and locked, as before
	}{
		"full, late":                 {full, "on-unlock", passTime, hostscript.ScriptChanged, late, true},
		"soft, late":                 {soft, "on-unlock", passTime, hostscript.ScriptChanged, late, true},
		"kexec, late":                {kexec, "on-unlock", passTime, hostscript.ScriptChanged, late, true},
		"soft, prepared late":        {soft, "on-prepare", passTime, hostscript.ScriptChanged, late, true},
		"soft, finalized late":       {soft, "on-finalize", passTime, hostscript.ScriptHalfDone, late + isNew, false},
		"kexec, finalized late":      {kexec, "on-finalize", passTime, hostscript.ScriptHalfDone, late + isNew, false},
		"full, logind is slow":       {full, "on-unlock", slowLogind, hostscript.ScriptChanged, late, true},
		"full, blocked":              {full, onStart, writeFlash, hostscript.ScriptChanged, flash, true},
		"full, blocked meanwhile":    {full, "on-unlock", writeFlash, hostscript.ScriptChanged, flash, true},
		"soft, blocked":              {soft, "on-prepare", writeFlash, hostscript.ScriptChanged, flash, true},
		"soft, blocked once":         {soft, "on-prepare", writeOnce, hostscript.ScriptChanged, flash, true},
		"kexec, blocked once":        {kexec, "on-unlock", writeOnce, hostscript.ScriptChanged, flash, true},
		"kexec, blocked":             {kexec, "on-finalize", writeFlash, hostscript.ScriptHalfDone, flash + isNew, false},
		"full, another OS at once":   {full, onStart, stageOther, hostscript.ScriptChanged, "reboot: " + moduletest.V3 + ".0 is staged now, and not " + moduletest.V2, false},
		"full, another OS":           {full, "on-unlock", stageOther, hostscript.ScriptChanged, "reboot: " + moduletest.V3 + ".0 is staged now, and not " + moduletest.V2, false},
		"soft, another OS":           {soft, "on-unlock", stageOther, hostscript.ScriptChanged, "reboot: " + moduletest.V3 + ".0 is staged now, and not " + moduletest.V2, false},
		"soft, another OS later":     {soft, "on-prepare", stageOther, hostscript.ScriptChanged, "reboot: the host would boot " + moduletest.V3 + ".0, and not " + moduletest.V2, false},
		"kexec, another OS":          {kexec, "on-unlock", stageOther, hostscript.ScriptChanged, "reboot: " + moduletest.V3 + ".0 is staged now, and not " + moduletest.V2, false},
		"kexec, another OS later":    {kexec, "on-finalize", stageOther, hostscript.ScriptChanged, "reboot: the host would boot " + moduletest.V3 + ".0, and not " + moduletest.V2, false},
		"full, other arguments":      {full, onStart, stageEdited, hostscript.ScriptChanged, "reboot: " + moduletest.V2 + ".0 is not as holdfast has staged it", false},
		"full, nothing is staged":    {full, onStart, "ostree admin undeploy 0", hostscript.ScriptChanged, "reboot: nothing is staged now", false},
		"full, ostree fails":         {full, onStart, breakStatus, hostscript.ScriptChanged, "reboot: ostree admin status fails, so the staged OS is not known", true},
		"full, ostree fails later":   {full, "on-unlock", breakStatus, hostscript.ScriptChanged, "reboot: ostree admin status fails, so the staged OS is not known", true},
		"soft, ostree fails at last": {soft, "on-finalize", breakStatus, hostscript.ScriptHalfDone, "but an unknown OS is the default of the boot loader now", false},
		"full, the lock is not free": {full, "on-unlock", "exit 124", hostscript.ScriptChanged, "reboot: ostree cannot unlock " + moduletest.V2 + ".0, because another program changes the deployments", true},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "full, late", "soft, blocked once", "kexec, finalized late", "full, another OS", "full, other arguments")
			t.Parallel()
			b := newKexecHost(t)
			if c.kind == soft {
				b = newSoftHost(t)
			}
			b.cluster = "main"
			b.Want(b.stage(softUpdate), 0, "staged and locked")
			b.Mkdir("run/systemd/inhibit")
			script := b.orderWith(softUpdate, c.kind, c.hook, c.happens)
			before := b.Log()
			out := b.Run(script)
			b.Want(out, c.code, c.says)
			if !strings.HasPrefix(out.Stderr, "reboot: ") || strings.Count(out.Stderr, "\n") != 1 {
				t.Errorf("the reason is not the only line of diagnostics:\n%s", out.Stderr)
			}
			if did := strings.TrimPrefix(b.Log(), before); strings.Contains(did, "rebooted") || strings.Contains(did, "kexec into") {
				t.Errorf("the host reboots:\n%s", did)
			}
			if b.Exists("run/holdfast/rebooting") || b.Exists("soft-target") || b.Exists("kexec-of") {
				t.Error("the host counts as rebooting, or is prepared for a reboot")
			}
			for _, file := range []string{"fail-status", "on-unlock"} {
				b.Check(os.RemoveAll(filepath.Join(b.Root, file)))
			}
			if c.locked && !b.isReady(softUpdate) {
				t.Errorf("the staged OS is not locked again: %+v", b.gatherFacts(softUpdate).Deployments)
			}
			if next := b.gatherFacts(softUpdate).Staged(); strings.Contains(c.happens, moduletest.V3) && next != nil && (next.Locked || next.Digest != moduletest.V3) {
				t.Errorf("it touched the deployment of another program: %+v", next)
			}
		})
	}
}

// TestASlowOrder: only on a member of etcd does an order become void because its host is slow to prepare the reboot. Even there, a soft
// reboot whose preparation hangs leaves time for a full reboot instead.
func TestASlowOrder(t *testing.T) {
	const (
		asMember = "300 s have passed since the order to reboot, and at least as many since the check of etcd; the host does not reboot"
		advice   = "; if it is always this slow, use --full-reboot, or forbid soft reboots and kexecs in its pool"
		hang     = `read -r up rest <"$BOX/proc/uptime"; bound=$(tr '\0' '\n' <"/proc/$PPID/cmdline" | sed -n 4p); echo "$((${up%%.*} + bound + 5)).00 9.00" >"$BOX/proc/uptime"; exit 124`
	)
	soft, kexec := engine.SoftReboot, engine.KexecReboot
	for name, c := range map[string]struct {
		kind    engine.RebootKind
		cluster string
		hooks   map[string]string
		code    int
		says    []string
	}{
		"kexec, slow":                 {kexec, "", map[string]string{"on-finalize": passTime}, 0, []string{"kexec rebooting into"}},
		"kexec, slow, member":         {kexec, "main", map[string]string{"on-finalize": passTime}, hostscript.ScriptHalfDone, []string{asMember, advice}},
		"soft, slow":                  {soft, "", map[string]string{"on-finalize": passTime}, 0, []string{"soft rebooting into"}},
		"soft, slow to mount":         {soft, "", map[string]string{"on-prepare": passTime}, 0, []string{"soft rebooting into"}},
		"soft, slow to mount, member": {soft, "main", map[string]string{"on-prepare": passTime}, hostscript.ScriptChanged, []string{asMember, advice}},
		"soft, hangs":                 {soft, "", map[string]string{"on-prepare": hang, "on-reset": hang}, 0, []string{"it reboots in full instead"}},
		"soft, hangs, member":         {soft, "main", map[string]string{"on-prepare": hang, "on-reset": hang}, 0, []string{"it reboots in full instead"}},
		"soft, late at once":          {soft, "", map[string]string{onStart: passTime}, hostscript.ScriptChanged, []string{"300 s have passed since the order to reboot; the host"}},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "kexec, slow, member", "soft, slow", "soft, slow to mount, member", "soft, hangs", "soft, late at once")
			t.Parallel()
			b := newKexecHost(t)
			if c.kind == soft {
				b = newSoftHost(t)
			}
			b.cluster = c.cluster
			b.Want(b.stage(softUpdate), 0, "staged and locked")
			var script string
			for hook, happens := range c.hooks {
				script = b.orderWith(softUpdate, c.kind, hook, happens)
			}
			before := b.Log()
			out := b.Run(script)
			for _, says := range c.says {
				b.Want(out, c.code, says)
			}
			did := strings.TrimPrefix(b.Log(), before)
			if reboots := strings.Contains(did, "rebooted") || strings.Contains(did, "kexec into"); reboots != (c.code == 0) {
				t.Errorf("log:\n%s", did)
			}
		})
	}
}

// TestAPlainRebootThatIsOvertaken: another program stages an OS after the check of an order to reboot into the running OS.
func TestAPlainRebootThatIsOvertaken(t *testing.T) {
	for _, kind := range []engine.RebootKind{engine.FullReboot, engine.SoftReboot, engine.KexecReboot} {
		b := newKexecHost(t)
		b.makeSoft()
		script := b.orderWith(engine.Desired{}, kind, onStart, stageOther)
		b.Want(b.Run(script), hostscript.ScriptChanged, "reboot: "+moduletest.V3+".0 is staged and not locked, so it would boot that")
		if strings.Contains(b.Log(), "rebooted") || strings.Contains(b.Log(), "kexec into") || b.Exists("run/holdfast/rebooting") {
			t.Errorf("%s: log:\n%s", kind, b.Log())
		}
	}
}

// TestABlockedRollback: a program blocks the shutdown of a host that is to go back. The host does not reject its OS yet, so a later run can
// roll it back.
func TestABlockedRollback(t *testing.T) {
	b := newOSHost(t)
	script := b.failNewOS(softUpdate)
	b.blockShutdown()
	b.Want(b.Run(script), hostscript.ScriptChanged, "a program blocks the shutdown (flasher")
	if f := b.gatherFacts(softUpdate); len(f.Rejected) > 0 {
		t.Errorf("rejected: %v", f.Rejected)
	}
	b.Remove("blocks")
	b.Want(b.Run(script), 0, "rebooting back into")
}

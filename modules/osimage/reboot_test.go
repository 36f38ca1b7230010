package osimage

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/modules/moduletest"
)

// plainRebootStep returns the script that orders a reboot of the host in its
// present state.
func (b *osHost) plainRebootStep() string {
	f := b.gatherFacts(engine.Desired{})
	return moduletest.OrderOf(PlainReboot(moduletest.Target(engine.Desired{}, f)))
}

// A plain reboot returns to the running OS. On a host without an os block, no probe reads the OS, so any OS of another boot will do.
func TestAPlainRebootWaitsForTheRunningOS(t *testing.T) {
	unknown := engine.Facts{BootID: moduletest.Boot}
	known := unknown
	known.Deployments = []engine.Deployment{{Digest: moduletest.V2, Staged: true, Locked: true}, {Digest: moduletest.V1, Booted: true}}
	for _, c := range []struct {
		facts engine.Facts
		want  engine.AwaitBoot
	}{
		{unknown, engine.AwaitBoot{BootID: moduletest.Boot}},
		{known, engine.AwaitBoot{BootID: moduletest.Boot, Digest: moduletest.V1, Kept: true}},
	} {
		steps := PlainReboot(moduletest.Target(engine.Desired{}, c.facts))
		if len(steps) != 3 || !steps[1].Reboots || steps[2].Do.AwaitBoot == nil || *steps[2].Do.AwaitBoot != c.want {
			t.Errorf("%+v", steps)
		}
	}
}

// A separate step syncs the disks, and after that step the engine checks etcd.
// The order to reboot then does nothing that may take long.
func TestARebootSyncsBeforeItsOrder(t *testing.T) {
	b := newOSHost(t)
	b.Hold(engine.RunHold, "r1")
	steps := PlainReboot(moduletest.Target(engine.Desired{}, b.gatherFacts(engine.Desired{})))
	long := regexp.MustCompile(`timeout ([0-9]{2,}) sync`)
	if steps[0].Reboots || !long.MatchString(steps[0].Do.Exec.Script.String()) {
		t.Errorf("the first step is %+v", steps[0])
	}
	b.Want(b.Run(steps[0].Do.Exec.Script.String()), 0, "")
	for _, s := range steps {
		if s.Reboots && (long.MatchString(s.Do.Exec.Script.String()) || s.Timeout > engine.Duration(2*time.Minute)) {
			t.Errorf("the order to reboot may take long: %s\n%s", s.Timeout, s.Do.Exec.Script.String())
		}
	}
	b.Remove(engine.HoldPath)
	b.Want(b.Run(steps[0].Do.Exec.Script.String()), hostscript.ScriptHeld, "not held by this run")
}

// A host does not reboot long after the order, because the check of etcd is too
// old by then.
func TestARebootThatComesLate(t *testing.T) {
	b := newOSHost(t)
	b.Hold(engine.RunHold, "r1")
	script := b.plainRebootStep()
	late := strings.Replace(script, "\nsystemd-run --quiet", "\necho 1300.00 9.00 >/proc/uptime\nsystemd-run --quiet", 1)
	if late == script {
		t.Fatal("the script has no such line")
	}
	b.Want(b.Run(late), hostscript.ScriptChanged, "300 s have passed since the order to reboot")
	if strings.Contains(b.Log(), "rebooted") || b.gatherFacts(engine.Desired{}).Stopping {
		t.Error("the host reboots")
	}
	b.Want(b.Run(script), 0, "rebooting")
}

// A host with an ordered reboot is unavailable, even while logind delays the
// shutdown. A host is available if it has refused to reboot, or if the order is
// old.
func TestARebootThatIsDelayed(t *testing.T) {
	b := newOSHost(t)
	b.Hold(engine.RunHold, "r1")
	script := b.plainRebootStep()
	b.Write("fail-reboot", "Call to Reboot failed: Access denied")
	b.Want(b.Run(script), 1, "Access denied")
	if b.gatherFacts(engine.Desired{}).Stopping {
		t.Error("a host that has refused is going down")
	}
	b.Remove("fail-reboot")
	b.Want(b.Run(script), 0, "rebooting")
	if !b.gatherFacts(engine.Desired{}).Stopping {
		t.Error("a host that was told to reboot is not going down")
	}
	b.Write("soft-reboots", "1")
	if b.gatherFacts(engine.Desired{}).Stopping {
		t.Error("a host that has soft rebooted since the order is going down")
	}
	b.Remove("soft-reboots")
	b.Write("run/holdfast/rebooting", "-700 "+moduletest.Boot+"\n")
	if b.gatherFacts(engine.Desired{}).Stopping {
		t.Error("a host that was told to reboot long ago is still going down")
	}
}

// TestAPlainRebootIntoAnotherOS: somebody has made the previous OS the default, and has not rebooted. No plan includes it.
func TestAPlainRebootIntoAnotherOS(t *testing.T) {
	onSites(t, []string{"ostree", "rpm-ostree image", "bootc"}, func(b *osHost, _ site, d engine.Desired) {
		longtest.SkipOthers(b.T, d.OS.Driver, "ostree")
		b.failNewOS(d)
		running := b.gatherFacts(d).Booted()
		script := b.plainRebootStep()
		back := map[string]string{"ostree": "ostree admin set-default 1"}[d.OS.Driver]
		if back == "" {
			back = d.OS.Driver + " rollback"
		}
		b.Want(b.Run(back), 0, "")
		b.Want(b.Run(script), hostscript.ScriptChanged, "not the running")
		b.simulateBoot()
		if got := b.gatherFacts(d).Booted(); got == nil || got.Digest == running.Digest {
			t.Errorf("the test is wrong: a reboot starts %+v", got)
		}
	})
}

func TestAPlainReboot(t *testing.T) {
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
	unlock := func(b *osHost) {
		b.Want(b.stage(d), 0, "staged and locked")
		b.Run("ostree admin lock-finalization --unlock")
	}
	unwatched := func(b *osHost) {
		b.Mkdir("var/lib/holdfast/tx/r0/probation")
		b.Write("var/lib/holdfast/write.lock", "run r0")
	}
	watched := func(b *osHost) { unwatched(b); b.lockWrites() }
	cases := map[string]struct {
		do   func(*osHost)
		code int
		says string
		logs string // end of the log; "": no reboot
	}{
		"nothing staged":        {func(b *osHost) {}, 0, "rebooting\n", "rebooted unlocked\n"},
		"staged and locked":     {func(b *osHost) { b.Want(b.stage(d), 0, "staged and locked") }, 0, "rebooting\n", "rebooted locked\n"},
		"staged and not locked": {unlock, hostscript.ScriptChanged, moduletest.V2 + ".0 is staged and not locked", ""},
		"other arguments next": {func(b *osHost) {
			b.Write("pending", moduletest.V1+" lab:lab/stable")
			b.Write("pending-serial", "1")
		}, hostscript.ScriptChanged, "would boot " + moduletest.V1 + ".1, not the running " + moduletest.V1 + ".0", ""},
		"taken away again": {func(b *osHost) { unlock(b); b.Run("ostree admin undeploy 0") }, 0, "rebooting\n", "rebooted unlocked\n"},
		"no ostree at all": {func(b *osHost) {
			b.Write("fail-status", "error: opening repo")
			b.Remove("run/ostree-booted")
		}, 0, "rebooting\n", "rebooted unlocked\n"},
		"ostree fails":        {func(b *osHost) { b.Write("fail-status", "error: opening repo") }, hostscript.ScriptChanged, "reboot: ostree does not list the deployments, so the OS that the host would boot is not known: error: opening repo; nothing was done\n", ""},
		"status is not known": {func(b *osHost) { unlock(b); b.Write("fail-status", "error: opening repo") }, hostscript.ScriptChanged, "error: opening repo", ""},
		"nothing is booted":   {func(b *osHost) { b.Remove("booted") }, 0, "rebooting\n", "rebooted unlocked\n"},
		"a program blocks it": {func(b *osHost) { b.blockShutdown() }, hostscript.ScriptChanged, "reboot: a program blocks the shutdown (flasher 0 root 990 flash shutdown:sleep firmware block); wait", ""},
		"a program delays it": {func(b *osHost) {
			b.blockShutdown()
			b.Write("blocks", "kubelet 0 root 991 kubelet shutdown wait delay")
		}, 0, "rebooting\n", "rebooted unlocked\n"},
		"logind does not answer": {func(b *osHost) { b.silenceLogind(); b.Write("units/systemd-logind.service", "active") }, hostscript.ScriptChanged, "reboot: a program blocks the shutdown (perhaps: systemd-logind does not answer); restart it (systemctl restart systemd-logind)", ""},
		"logind has failed":      {func(b *osHost) { b.silenceLogind(); b.Write("units/systemd-logind.service", "failed") }, 0, "rebooting\n", "rebooted unlocked\n"},
		"logind does not run":    {func(b *osHost) { b.silenceLogind() }, 0, "rebooting\n", "rebooted unlocked\n"},
		"another boot":           {func(b *osHost) { b.Write("proc/sys/kernel/random/boot_id", "other") }, hostscript.ScriptChanged, "has rebooted", ""},
		"a soft reboot since":    {func(b *osHost) { b.Write("soft-reboots", "1") }, hostscript.ScriptChanged, "has rebooted", ""},
		"boot is not known":      {func(b *osHost) { b.Write("fail-show", "Failed to connect to bus") }, hostscript.ScriptChanged, "systemd does not answer", ""},
		"a soft reboot is ready": {func(b *osHost) { b.Mkdir("run/nextroot") }, 0, "rebooting\n", "rebooted unlocked\n"},
		"a kexec is ready":       {func(b *osHost) { b.Write("kexec-loaded", "1") }, 0, "rebooting\n", "rebooted unlocked\n"},
		"not held":               {func(b *osHost) { b.Remove(engine.HoldPath) }, hostscript.ScriptHeld, "not held by this run", ""},
		"held by a person":       {func(b *osHost) { b.Hold(engine.MaintenanceHold, "m1") }, hostscript.ScriptHeld, "someone else", ""},
		"a login is not proved":  {watched, hostscript.ScriptChanged, "waits for a new login", ""},
		"its watch is gone":      {unwatched, 0, "rebooting\n", "rebooted unlocked\n"},
		"a reboot is under way":  {func(b *osHost) { b.Write("unit-fails", "") }, 1, "already loaded", ""},
		"refused":                {func(b *osHost) { b.Write("fail-reboot", "Call to Reboot failed: Access denied") }, 1, "Access denied", ""},
		"refused, or not at all": {func(b *osHost) { b.Write("fail-reboot", "Connection reset by peer"); b.Write("system", "stopping") }, 0, "rebooting\n", "is-system-running\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newOSHost(t)
			b.Hold(engine.RunHold, "r1")
			script := b.plainRebootStep()
			c.do(b)
			before := b.Log()
			b.Want(b.Run(script), c.code, c.says)
			did := strings.TrimPrefix(b.Log(), before)
			if c.logs == "" && strings.Contains(did, "rebooted") || !strings.HasSuffix(did, c.logs) {
				t.Errorf("log:\n%s", did)
			}
			if strings.Contains(did, "unlock\n") || strings.Contains(did, "lock-finalization\n") {
				t.Errorf("it touched the lock:\n%s", did)
			}
			if left := listFiles(b.Root + "/run/holdfast"); strings.Count(left, "finalize.") > strings.Count(left, "finalize.log") {
				t.Errorf("left behind: %s", left)
			}
		})
	}
}

// A person takes a hold after the check of the order to reboot, and before its
// unit starts. Then the host does not reboot.
func TestARebootAsksForTheHoldOnceMore(t *testing.T) {
	b := newOSHost(t)
	b.Hold(engine.RunHold, "r1")
	script := b.plainRebootStep()
	b.Write("theirs", moduletest.TheirHold)
	swapped := strings.Replace(script, "\nsystemd-run --quiet", "\ncp \"$BOX/theirs\" "+engine.HoldPath+"\nsystemd-run --quiet", 1)
	if swapped == script {
		t.Fatal("the script has no such line")
	}
	b.Want(b.Run(swapped), hostscript.ScriptHeld, "held by someone else")
	if strings.Contains(b.Log(), "rebooted") {
		t.Error("a host is rebooted that a person holds")
	}
}

// lockWrites holds the lock of writes until the test ends, as the watch of a write on probation does.
func (b *osHost) lockWrites() {
	b.T.Helper()
	b.Write("var/lib/holdfast/write.lock", "run r0, locked") // hosts with the same files share one run of a script
	f, err := os.Open(b.Root + "/var/lib/holdfast/write.lock")
	if err == nil {
		b.T.Cleanup(func() { _ = f.Close() })
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		b.T.Fatal(err)
	}
}

// TestWatchWithoutFlock: on a host without flock, the process of the watch decides.
func TestWatchWithoutFlock(t *testing.T) {
	for watcher, code := range map[string]int{strconv.Itoa(os.Getpid()): hostscript.ScriptChanged, "4999999": 0, "": 0} {
		b := newOSHost(t)
		b.Hold(engine.RunHold, "r1")
		b.Mkdir("var/lib/holdfast/tx/r0/probation")
		if watcher != "" {
			b.Write("var/lib/holdfast/tx/r0/watcher", watcher+"\n")
		}
		script := b.plainRebootStep()
		without := strings.ReplaceAll(script, "command -v flock", "command -v no-flock")
		if without == script {
			t.Fatal("the script does not look for flock")
		}
		b.Want(b.Run(without), code, "")
	}
}

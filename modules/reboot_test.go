package modules

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
)

// plainRebootStep returns the order to reboot for a host in its present state.
func (b *box) plainRebootStep() string {
	f := b.gatherFacts(engine.Desired{})
	return orderOf(rebootPlain(target(engine.Desired{}, f)))
}

func TestAPlainRebootWaitsForAnyOSOfAnotherBoot(t *testing.T) {
	steps := rebootPlain(target(engine.Desired{}, engine.Facts{BootID: boot}))
	if len(steps) != 3 || !steps[1].Reboots || steps[2].Do.AwaitBoot == nil || *steps[2].Do.AwaitBoot != (engine.AwaitBoot{BootID: boot}) {
		t.Errorf("%+v", steps)
	}
}

// A step of its own syncs the disks, and then the engine checks etcd; the order
// to reboot does nothing that may take as long.
func TestARebootSyncsBeforeItsOrder(t *testing.T) {
	b := newBox(t)
	b.hold(engine.RunHold, "r1")
	steps := rebootPlain(target(engine.Desired{}, b.gatherFacts(engine.Desired{})))
	long := regexp.MustCompile(`timeout ([0-9]{2,}) sync`)
	if steps[0].Reboots || !long.MatchString(steps[0].Do.Exec.Script) {
		t.Errorf("the first step is %+v", steps[0])
	}
	b.want(b.run(steps[0].Do.Exec.Script), 0, "")
	for _, s := range steps {
		if s.Reboots && (long.MatchString(s.Do.Exec.Script) || s.Timeout > engine.Duration(2*time.Minute)) {
			t.Errorf("the order to reboot may take long: %s\n%s", s.Timeout, s.Do.Exec.Script)
		}
	}
	b.remove(engine.HoldPath)
	b.want(b.run(steps[0].Do.Exec.Script), hostscript.ScriptHeld, "not held by this run")
}

// A host does not reboot long after the order: etcd was checked before that.
func TestARebootThatComesLate(t *testing.T) {
	b := newBox(t)
	b.hold(engine.RunHold, "r1")
	script := b.plainRebootStep()
	late := strings.Replace(script, "\nsystemd-run --quiet", "\necho 1300.00 9.00 >/proc/uptime\nsystemd-run --quiet", 1)
	if late == script {
		t.Fatal("the script has no such line")
	}
	b.want(b.run(late), hostscript.ScriptChanged, "300 s have passed since the order to reboot")
	if strings.Contains(b.log(), "rebooted") || b.gatherFacts(engine.Desired{}).Stopping {
		t.Error("the host reboots")
	}
	b.want(b.run(script), 0, "rebooting")
}

// A host whose reboot is ordered is unavailable, also if logind delays the
// shutdown. A host that has refused to reboot is available, and so is one whose
// order is old.
func TestARebootThatIsDelayed(t *testing.T) {
	b := newBox(t)
	b.hold(engine.RunHold, "r1")
	script := b.plainRebootStep()
	b.write("fail-reboot", "Call to Reboot failed: Access denied")
	b.want(b.run(script), 1, "Access denied")
	if b.gatherFacts(engine.Desired{}).Stopping {
		t.Error("a host that has refused is going down")
	}
	b.remove("fail-reboot")
	b.want(b.run(script), 0, "rebooting")
	if !b.gatherFacts(engine.Desired{}).Stopping {
		t.Error("a host that was told to reboot is not going down")
	}
	b.write("run/holdfast/rebooting", "-700\n")
	if b.gatherFacts(engine.Desired{}).Stopping {
		t.Error("a host that was told to reboot long ago is still going down")
	}
}

func TestAPlainReboot(t *testing.T) {
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: v2}}
	unlock := func(b *box) {
		b.want(b.stage(d), 0, "staged and locked")
		b.run("ostree admin lock-finalization --unlock")
	}
	cases := map[string]struct {
		do   func(*box)
		code int
		says string
		logs string // at the end; "": no reboot
	}{
		"nothing staged":         {func(b *box) {}, 0, "rebooting\n", "rebooted unlocked\n"},
		"staged and locked":      {func(b *box) { b.want(b.stage(d), 0, "staged and locked") }, 0, "rebooting\n", "rebooted locked\n"},
		"staged and not locked":  {unlock, hostscript.ScriptChanged, v2 + ".0 is staged and not locked", ""},
		"taken away again":       {func(b *box) { unlock(b); b.run("ostree admin undeploy 0") }, 0, "rebooting\n", "rebooted unlocked\n"},
		"no ostree at all":       {func(b *box) { b.write("fail-status", "error: opening repo") }, 0, "rebooting\n", "rebooted unlocked\n"},
		"status is not known":    {func(b *box) { unlock(b); b.write("fail-status", "error: opening repo") }, 1, "error: opening repo", ""},
		"another boot":           {func(b *box) { b.write("proc/sys/kernel/random/boot_id", "other") }, hostscript.ScriptChanged, "has rebooted", ""},
		"not held":               {func(b *box) { b.remove(engine.HoldPath) }, hostscript.ScriptHeld, "not held by this run", ""},
		"held by a person":       {func(b *box) { b.hold(engine.MaintenanceHold, "m1") }, hostscript.ScriptHeld, "someone else", ""},
		"a reboot is under way":  {func(b *box) { b.write("unit-fails", "") }, 1, "already loaded", ""},
		"refused":                {func(b *box) { b.write("fail-reboot", "Call to Reboot failed: Access denied") }, 1, "Access denied", ""},
		"refused, or not at all": {func(b *box) { b.write("fail-reboot", "Connection reset by peer"); b.write("system", "stopping") }, 0, "rebooting\n", "is-system-running\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			b.hold(engine.RunHold, "r1")
			script := b.plainRebootStep()
			c.do(b)
			before := b.log()
			b.want(b.run(script), c.code, c.says)
			did := strings.TrimPrefix(b.log(), before)
			if c.logs == "" && strings.Contains(did, "rebooted") || !strings.HasSuffix(did, c.logs) {
				t.Errorf("log:\n%s", did)
			}
			if strings.Contains(did, "unlock\n") || strings.Contains(did, "lock-finalization\n") {
				t.Errorf("it touched the lock:\n%s", did)
			}
			if left := files(b.root + "/run/holdfast"); strings.Count(left, "finalize.") > strings.Count(left, "finalize.log") {
				t.Errorf("left behind: %s", left)
			}
		})
	}
}

// A person who takes a hold after the check of the order to reboot, and before
// its unit starts, keeps the host.
func TestARebootAsksForTheHoldOnceMore(t *testing.T) {
	b := newBox(t)
	b.hold(engine.RunHold, "r1")
	script := b.plainRebootStep()
	b.write("theirs", theirHold)
	swapped := strings.Replace(script, "\nsystemd-run --quiet", "\ncp \"$BOX/theirs\" "+engine.HoldPath+"\nsystemd-run --quiet", 1)
	if swapped == script {
		t.Fatal("the script has no such line")
	}
	b.want(b.run(swapped), hostscript.ScriptHeld, "held by someone else")
	if strings.Contains(b.log(), "rebooted") {
		t.Error("a host is rebooted that a person holds")
	}
}

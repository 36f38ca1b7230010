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

const survivorDropin = "etc/systemd/system/etcd.service.d/51-holdfast-settings.conf"

// addSurvivor gives the host an etcd that survives soft reboots, and that runs from a root: "now" is the root of the host.
func (b *osHost) addSurvivor(root string) {
	b.T.Helper()
	b.Write(survivorDropin, "[Unit]\nSurviveFinalKillSignal=yes")
	b.Write("main-pid", "160")
	for pid, name := range map[string]string{"1": "now", "160": root} {
		b.Write("proc/"+pid+"/stat", pid)
		b.Mkdir("roots/" + name)
		b.Check(os.Symlink(filepath.Join(b.Root, "roots", name), filepath.Join(b.Root, "proc", pid, "root")))
	}
	b.runFrom(moduletest.V3)
}

// runFrom sets the deployment whose files the process of addSurvivor sees.
func (b *osHost) runFrom(commit string) {
	b.T.Helper()
	b.Write("proc/160/mountinfo", "2 1 0:20 /ostree/deploy/lab/deploy/"+commit+".0/etc /etc rw - ext4 /dev/x rw")
}

// runOnHost runs a script that sees the services and processes of the host.
func (b *osHost) runOnHost(script string) engine.Output {
	b.T.Helper()
	var paths []string
	for _, path := range []string{"/etc/systemd/system", "/proc/$pid/", "/proc/$1/"} {
		paths = append(paths, path, b.Root+path)
	}
	return b.Run(strings.NewReplacer(paths...).Replace(script))
}

// survivorStates are states of a host at the moment of an order that its plan has not foreseen, and what the order says.
func survivorStates() map[string]struct {
	do   func(*osHost)
	code int
	says string
} {
	const outdated = "etcd.service (process 160) runs from another deployment than the host, which may go now; nothing was done; restart etcd.service"
	return map[string]struct {
		do   func(*osHost)
		code int
		says string
	}{
		"no survivor":          {func(*osHost) {}, 0, ""},
		"from the host":        {func(b *osHost) { b.addSurvivor("now") }, 0, ""},
		"from another":         {func(b *osHost) { b.addSurvivor("before") }, hostscript.ScriptOldProcess, outdated},
		"other settings":       {func(b *osHost) { b.addSurvivor("before"); b.Write(survivorDropin, "[Service]\nUser=etcd") }, 0, ""},
		"stopped":              {func(b *osHost) { b.addSurvivor("before"); b.Write("main-pid", "0") }, 0, ""},
		"has ended":            {func(b *osHost) { b.addSurvivor("before"); b.Check(os.RemoveAll(b.Root + "/proc/160")) }, 0, ""},
		"systemd is silent":    {func(b *osHost) { b.addSurvivor("now"); b.Write("main-pid", "") }, hostscript.ScriptOldProcess, "it is not known from which deployment etcd.service runs"},
		"its root is not told": {func(b *osHost) { b.addSurvivor("now"); b.Remove("proc/160/root") }, hostscript.ScriptOldProcess, "etcd.service (process 160)"},
	}
}

// TestStagingUnderASurvivor: the host itself refuses to stage an OS while a service runs from a deployment that would go,
// before the unit starts and in the unit.
func TestStagingUnderASurvivor(t *testing.T) {
	for name, c := range survivorStates() {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "stopped", "from the host")
			t.Parallel()
			for _, inUnit := range []bool{false, true} {
				b := newSoftHost(t)
				script := b.steps(softUpdate).Stage[0].Do.Exec.Script.String()
				if inUnit {
					const check = "check_hold\ncheck_survivors stage\n"
					if !strings.Contains(script, check) {
						t.Fatal("no check before the unit starts")
					}
					script = strings.Replace(script, check, "check_hold\n", 1)
				}
				c.do(b)
				says := c.says
				if c.code == 0 {
					says = "staged and locked"
				}
				b.Want(b.runOnHost(script), c.code, says)
				if f := b.gatherFacts(softUpdate); (f.Staged() != nil) != (c.code == 0) {
					t.Errorf("in the unit %t: staged %+v", inUnit, f.Staged())
				}
			}
		})
	}
}

// TestFinalizingUnderASurvivor: the host itself refuses to finalize an OS while a service runs from a deployment that would
// go, for each kind of reboot. The OS stays staged and locked.
func TestFinalizingUnderASurvivor(t *testing.T) {
	for name, c := range survivorStates() {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "stopped", "from the host")
			t.Parallel()
			for _, kind := range []engine.RebootKind{engine.SoftReboot, engine.FullReboot} {
				for _, inUnit := range []bool{false, true} {
					b := newSoftHost(t)
					b.Want(b.stage(softUpdate), 0, "staged and locked")
					script := b.rebootOrder(softUpdate, kind, engine.RebootSetting{Soft: engine.AutoSoft})
					if inUnit {
						const check = "check_boot finalize\ncheck_survivors finalize\n"
						if !strings.Contains(script, check) {
							t.Fatal("no check before the unit starts")
						}
						script = strings.Replace(script, check, "check_boot finalize\n", 1)
					}
					c.do(b)
					before := b.Log()
					b.Want(b.runOnHost(script), c.code, c.says)
					if did := strings.TrimPrefix(b.Log(), before); strings.Contains(did, "rebooted unlocked") != (c.code == 0) {
						t.Errorf("%s, in the unit %t: log:\n%s", kind, inUnit, did)
					}
					if c.code != 0 && (!b.gatherFacts(softUpdate).Staged().Locked || b.Exists("run/holdfast/rebooting")) {
						t.Errorf("%s, in the unit %t: the staged OS is not locked, or the host counts as rebooting", kind, inUnit)
					}
				}
			}
		})
	}
}

// TestRebootUnderASurvivor: a reboot into the running OS removes no deployment, so a service may run from another one.
func TestRebootUnderASurvivor(t *testing.T) {
	b := newSoftHost(t)
	b.addSurvivor("before")
	b.Want(b.runOnHost(b.softOrder(engine.Desired{}, "no")), 0, "soft rebooting")
}

// TestRollbackUnderASurvivor: a rollback keeps the deployments that ostree lists, so a service may run from one of them. It
// does not clean up another one under a service.
func TestRollbackUnderASurvivor(t *testing.T) {
	for name, c := range map[string]struct {
		from string
		code int
		says string
	}{
		"listed": {moduletest.V1, 0, "rebooting back into"}, "not listed": {moduletest.V3, hostscript.ScriptOldProcess, "roll back: etcd.service (process 160)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &osHost{Box: moduletest.NewBox(t)}
			b.makeSoft()
			script := b.failNewOS(softUpdate)
			b.addSurvivor("before")
			b.runFrom(c.from)
			before := b.Log()
			b.Want(b.runOnHost(script), c.code, c.says)
			if did := strings.TrimPrefix(b.Log(), before); strings.Contains(did, "set-default") != (c.code == 0) {
				t.Errorf("log:\n%s", did)
			}
		})
	}
}

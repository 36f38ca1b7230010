package osimage

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdfast/engine"
	"holdfast/engine/longtest"
	"holdfast/modules/moduletest"
)

// startLimits starts the loop that limits a unit of a fake host, until the test calls stop. A fake systemctl writes the
// limits to the log and to io.max of the unit, which is running if the file group has its cgroup. Each prepare changes
// the host first.
func startLimits(t *testing.T, prepare ...func(*governorLoop)) *governorLoop {
	t.Helper()
	l := newLoop(t)
	l.write("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory")
	l.write("group", "/system.slice/rpm-ostreed.service")
	l.write("sys/fs/cgroup/system.slice/rpm-ostreed.service/io.max", "8:16 rbps=max wbps=max riops=100 wiops=max")
	l.writeTool("systemctl", "cd "+l.root+`
case "$*" in
'show --property=ControlGroup --value rpm-ostreed.service') if [ -e group ]; then cat group; fi ;;
'set-property --runtime rpm-ostreed.service IOReadBandwidthMax=/sysroot '*' IOWriteBandwidthMax=/sysroot '*)
	printf 'limit %s %s\n' "${4##* }" "${5##* }" >log
	if [ -e slow ]; then read -r _ <wake; fi
	if [ -e refusal ]; then
		cat refusal >&2
		exit 1
	fi
	if [ -e group ] && [ ! -e ignored ]; then
		printf '8:16 rbps=max wbps=max riops=100 wiops=max\n8:0 rbps=%s wbps=%s riops=max wiops=max\n' "${4##* }" "${5##* }" >"sys/fs/cgroup$(cat group)/io.max"
	fi
	;;
*) printf 'unknown: %s\n' "$*" >log ;;
esac`)
	for _, change := range prepare {
		change(l)
	}
	l.check(os.MkdirAll(filepath.Join(l.root, "run/holdfast"), 0o755))
	l.check(syscall.Mkfifo(filepath.Join(l.root, "stop"), 0o600))
	l.start("governed=daemon limited=rpm-ostreed.service sysroot=/sysroot slice=1 pause=200 safeslice=1 safepause=200 rate=1000 saferate=1000 silence=15\n" +
		libScript + governorScript + ioLimitScript + "note_lever freeze no a daemon\nstart_limits\n" +
		"kill() { command kill \"$@\"; say kill >" + l.root + "/log; }\nread -r _ <" + l.root + "/stop\nstop_limits\n")
	return l
}

// stop lets the staging end.
func (l *governorLoop) stop() {
	l.t.Helper()
	l.check(os.WriteFile(filepath.Join(l.root, "stop"), []byte("\n"), 0o600))
}

func (l *governorLoop) remove(name string) { l.check(os.Remove(filepath.Join(l.root, name))) }

// wantLever checks the report about the io lever.
func (l *governorLoop) wantLever(want string) {
	l.t.Helper()
	text, err := os.ReadFile(filepath.Join(l.root, "run/holdfast/stage.levers"))
	l.check(err)
	if got := string(text); got != "freeze no a daemon\nio "+want+"\n" {
		l.t.Errorf("levers:\n%swant io %s", got, want)
	}
}

// nextCheck lets a second pass, and waits until the loop sleeps again after these effects.
func (l *governorLoop) nextCheck(effects ...string) {
	l.t.Helper()
	l.endSleep()
	l.expectEffects(effects...)
	l.wantSleep("1")
}

// TestLimitsFollowTheBastion checks that the limits are at the rate of the latest message of the bastion, that a message
// of an older bastion changes nothing, and that 15 s after the last message the safe rate is in force.
func TestLimitsFollowTheBastion(t *testing.T) {
	t.Parallel()
	l := startLimits(t)
	l.expectEffects("limit 1000 1000")
	l.wantSleep("1")
	l.wantLever("yes")
	l.nextCheck()
	l.write("run/holdfast/stage.pace", "11 1 0 1 200 5000 3000")
	l.nextCheck("limit 5000 5000")
	for _, ignored := range []string{"11 1 0 1 200 6000 3000", "12 1 0 1 200 6000x 3000", "13 1 0 1 200", "14 1 0 1 200 6000", "15 1 0 1 200 6000 3000 1"} {
		l.write("run/holdfast/stage.pace", ignored)
		l.nextCheck()
	}
	l.write("run/holdfast/stage.pace", "16 0 200 1 200 7000 3000")
	l.nextCheck("limit 7000 7000")
	l.setTime(1014)
	l.nextCheck()
	l.setTime(1015)
	l.nextCheck("limit 3000 3000")
	l.write("run/holdfast/stage.pace", "17 1 0 1 200 8000 3000")
	l.nextCheck("limit 8000 8000")
	l.wantLever("yes")
}

// TestLostLimitsAreSetAgain checks that a limit that the unit has lost is set again, that a refusal is reported until
// the limit is in force again, and that a unit that has ended gets its limit when it runs again.
func TestLostLimitsAreSetAgain(t *testing.T) {
	t.Parallel()
	l := startLimits(t)
	const ioMax = "sys/fs/cgroup/system.slice/rpm-ostreed.service/io.max"
	l.expectEffects("limit 1000 1000")
	l.wantSleep("1")
	l.write(ioMax, "8:0 rbps=1000 wbps=max riops=max wiops=max")
	l.nextCheck("limit 1000 1000")
	l.wantLever("yes")
	l.write(ioMax, "")
	l.write("refusal", "Failed to set unit properties on rpm-ostreed.service: Access denied\nmore")
	l.nextCheck("limit 1000 1000")
	l.wantLever("no systemctl set-property fails: Failed to set unit properties on rpm-ostreed.service: Access denied")
	l.nextCheck("limit 1000 1000")
	l.remove("refusal")
	l.nextCheck("limit 1000 1000")
	l.wantLever("yes")
	l.remove("group")
	l.nextCheck()
	l.write("run/holdfast/stage.pace", "11 1 0 1 200 5000 3000")
	l.nextCheck("limit 5000 5000")
	l.nextCheck()
	l.wantLever("yes")
	l.write("group", "/system.slice/rpm-ostreed.service")
	l.write(ioMax, "")
	l.nextCheck("limit 5000 5000")
	l.wantLever("yes")
}

// TestLimitsThatAreNotInForceAreReported checks the reasons why the lever is not in force.
func TestLimitsThatAreNotInForceAreReported(t *testing.T) {
	t.Parallel()
	t.Run("no io controller", func(t *testing.T) {
		t.Parallel()
		l := startLimits(t, func(l *governorLoop) { l.write("sys/fs/cgroup/cgroup.controllers", "cpu memory") })
		l.stop()
		l.wantEnd(0)
		l.wantLever("no the host has no io controller of cgroup v2")
		if _, err := os.Stat(filepath.Join(l.root, "run/holdfast/stage.iolimit")); err == nil {
			t.Error("the mark of a limit is there")
		}
	})
	t.Run("cgroup v1", func(t *testing.T) {
		t.Parallel()
		l := startLimits(t, func(l *governorLoop) { l.remove("sys/fs/cgroup/cgroup.controllers") })
		l.stop()
		l.wantEnd(0)
		l.wantLever("no the host has no io controller of cgroup v2")
	})
	t.Run("the disk is not known", func(t *testing.T) {
		t.Parallel()
		l := startLimits(t, func(l *governorLoop) { l.write("ignored", "") })
		l.expectEffects("limit 1000 1000")
		l.wantSleep("1")
		l.wantLever("no io.max of rpm-ostreed.service does not have the limit")
		l.nextCheck("limit 1000 1000")
	})
	t.Run("the daemon does not run", func(t *testing.T) {
		t.Parallel()
		l := startLimits(t, func(l *governorLoop) { l.remove("group") })
		l.expectEffects("limit 1000 1000")
		for range 9 {
			l.wantSleep("1")
			if _, err := os.Stat(filepath.Join(l.root, "run/holdfast/stage.levers")); err == nil {
				t.Fatal("the levers are reported before the daemon had time to start")
			}
			l.endSleep()
		}
		l.wantSleep("1")
		l.wantLever("no rpm-ostreed.service does not run")
	})
}

// TestLimitsOfAnotherHierarchy checks that the limits are also found where cgroup v2 is not at the top.
func TestLimitsOfAnotherHierarchy(t *testing.T) {
	t.Parallel()
	l := startLimits(t, func(l *governorLoop) {
		l.remove("sys/fs/cgroup/cgroup.controllers")
		l.write("sys/fs/cgroup/unified/cgroup.controllers", "io")
		l.write("group", "/unified/system.slice/rpm-ostreed.service")
		l.write("sys/fs/cgroup/unified/system.slice/rpm-ostreed.service/io.max", "")
	})
	l.expectEffects("limit 1000 1000")
	l.wantSleep("1")
	l.wantLever("yes")
}

// TestLimitsEndWithTheStaging checks that the staging waits until the loop has ended, and that the loop ends after a
// sleep or a call of systemctl. So no limit is set later.
func TestLimitsEndWithTheStaging(t *testing.T) {
	t.Parallel()
	t.Run("during a sleep", func(t *testing.T) {
		t.Parallel()
		l := startLimits(t)
		l.expectEffects("limit 1000 1000")
		l.wantSleep("1")
		l.write("run/holdfast/stage.pace", "11 1 0 1 200 5000 3000")
		l.stop()
		l.expectEffects("kill")
		l.endSleep()
		l.wantEnd(0)
	})
	t.Run("during a call of systemctl", func(t *testing.T) {
		t.Parallel()
		l := startLimits(t, func(l *governorLoop) { l.write("slow", "") })
		l.expectEffects("limit 1000 1000")
		l.stop()
		l.expectEffects("kill")
		l.endSleep()
		l.wantEnd(0)
	})
}

// addIOController adds an io controller, and rpm-ostree's daemon and the staging unit with a cgroup each.
func (b *osHost) addIOController() {
	b.Write("sys/fs/cgroup/cgroup.controllers", "cpu io memory")
	for _, unit := range []string{"rpm-ostreed.service", "holdfast-stage.service"} {
		b.Write("sys/fs/cgroup/system.slice/"+unit+"/io.max", "")
	}
}

// awaitLimits changes a stage script: at that place it waits until the limits are in force. The script is quoted
// once more, so no single quote may be in it.
func awaitLimits(b *osHost, script, place string) string {
	b.T.Helper()
	if !strings.Contains(script, place) {
		b.T.Fatalf("the script has no %q", place)
	}
	return strings.Replace(script, place, place+"until [ -e \"$work/stage.levers\" ] && { read -r _; read -r lever; } <\"$work/stage.levers\" && [ \"$lever\" = \"io yes\" ]; do sleep 0.1; done\n", 1)
}

// checkNoLimits checks that neither unit has a limit, that the limits were set before, and that no process that could set
// one is left.
func (b *osHost) checkNoLimits() {
	b.T.Helper()
	if !strings.Contains(b.Log(), "systemctl set-property --runtime rpm-ostreed.service IOReadBandwidthMax=/sysroot 1048576 IOWriteBandwidthMax=/sysroot 1048576") {
		b.T.Fatalf("no limit was set:\n%s", b.Log())
	}
	for _, name := range []string{"run/holdfast/stage.iolimit", "run/systemd/system.control/rpm-ostreed.service.d/50-IOReadBandwidthMax.conf", "run/systemd/system.control/rpm-ostreed.service.d/50-IOWriteBandwidthMax.conf"} {
		if b.Exists(name) {
			b.T.Errorf("%s is left", name)
		}
	}
	if limits, err := os.ReadFile(filepath.Join(b.Root, "sys/fs/cgroup/system.slice/rpm-ostreed.service/io.max")); err != nil || len(limits) > 0 {
		b.T.Errorf("left: %s (%v)", limits, err)
	}
	if last := strings.LastIndex(b.Log(), "set-property"); !strings.HasPrefix(b.Log()[last:], "set-property --runtime rpm-ostreed.service IOReadBandwidthMax= IOWriteBandwidthMax=\n") {
		b.T.Errorf("a limit is set after the end:\n%s", b.Log()[last:])
	}
}

// TestTheDaemonIsLimitedWhileItStages checks a whole staging of rpm-ostree: the daemon has limits while it works, and
// none after a success, a failure, or the death of the unit. Limits stay away if no governor slows the staging.
func TestTheDaemonIsLimitedWhileItStages(t *testing.T) {
	for _, name := range []string{"rpm-ostree deploy", "rpm-ostree image"} {
		s := sites()[name]
		host := func(t *testing.T) (*osHost, engine.Desired) {
			longtest.SkipOthers(t, name, "rpm-ostree image")
			t.Parallel()
			b := newOSHost(t)
			if s.prep != nil {
				s.prep(b)
			}
			b.addIOController()
			d := engine.Desired{OS: &s.os}
			if s.os.Image != "" {
				d = fromBastion(d)
			}
			return b, d
		}
		const deploys = "\nrebase_os() {\n"
		t.Run(name+" succeeds", func(t *testing.T) {
			b, d := host(t)
			b.Want(b.Run("port=4711\n"+awaitLimits(b, b.memberStage(d), deploys)), 0, "staged and locked")
			if levers := b.sendPace(1); len(levers) != 2 || levers[0].InForce || !levers[1].InForce {
				t.Errorf("levers: %+v", levers)
			}
			b.checkNoLimits()
			b.checkNoMirror()
		})
		t.Run(name+" fails", func(t *testing.T) {
			b, d := host(t)
			b.Write("pull-fails", "error: connection refused")
			b.Want(b.Run("port=4711\n"+awaitLimits(b, b.memberStage(d), deploys)), 1, "connection refused")
			b.checkNoLimits()
		})
		t.Run(name+" is killed", func(t *testing.T) {
			b, d := host(t)
			script := awaitLimits(b, b.memberStage(d), deploys)
			killed := strings.Replace(script, "; do sleep 0.1; done\n", "; do sleep 0.1; done\ntrap - EXIT; kill -KILL \"$limiter\" $$; exit 137\n", 1) // like a kill of the unit: all its processes end, and no trap runs
			b.Run("port=4711\n" + killed)
			b.checkNoLimits()
			b.checkNoMirror()
		})
		t.Run(name+" without a governor", func(t *testing.T) {
			b, d := host(t)
			b.Want(b.Run("port=4711\n"+b.steps(d).Stage[0].Do.Exec.Script.String()), 0, "staged and locked")
			if strings.Contains(b.Log(), "set-property") || b.Exists("run/holdfast/stage.levers") {
				t.Errorf("a limit was set:\n%s", b.Log())
			}
		})
	}
}

// TestAUnitThatCannotBeFrozenIsLimited checks that the staging unit itself gets limits if it does the work and cannot be
// frozen, and that limits stay away where it is frozen.
func TestAUnitThatCannotBeFrozenIsLimited(t *testing.T) {
	t.Parallel()
	b := newOSHost(t)
	b.addIOController()
	b.Write("proc/self/cgroup", "0::/system.slice/holdfast-stage.service")
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
	b.Want(b.Run(awaitLimits(b, b.memberStage(d), "\nstage_os() {\n")), 0, "staged and locked")
	if levers := b.sendPace(1); len(levers) != 2 || levers[0].InForce || !levers[1].InForce {
		t.Errorf("levers: %+v", levers)
	}
	if !strings.Contains(b.Log(), "systemctl set-property --runtime holdfast-stage.service IOReadBandwidthMax=/sysroot 1048576 ") || b.Exists("run/holdfast/stage.iolimit") || strings.Contains(b.Log(), "rpm-ostreed") {
		t.Errorf("log:\n%s", b.Log())
	}
}

// TestOnlyADaemonGetsTimeToStop: systemd waits long for the end of a stopped staging only where a daemon has to cancel it.
func TestOnlyADaemonGetsTimeToStop(t *testing.T) {
	for driver, limit := range map[string]string{"ostree": "20", "rpm-ostree image": "60", "bootc": "20"} {
		onSites(t, []string{driver}, func(b *osHost, _ site, d engine.Desired) {
			b.Want(b.stage(d), 0, "staged and locked")
			if !strings.Contains(b.Log(), " --property=TimeoutStopSec="+limit+" ") {
				b.T.Errorf("not %s s:\n%s", limit, b.Log())
			}
		})
	}
}

// TestAStoppedStagingEndsInTheDaemon checks that the transaction of a staging whose client was killed is cancelled before
// the daemon loses its limits, that a daemon that works on keeps them, and that the bastion then learns it.
func TestAStoppedStagingEndsInTheDaemon(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		s := sites()["rpm-ostree deploy"]
		b := newOSHost(t)
		if s.prep != nil {
			s.prep(b)
		}
		b.addIOController()
		d := engine.Desired{OS: &s.os}
		b.Write("client-dies", "")
		if stuck {
			b.Write("stuck", "")
		}
		abort := b.steps(d).Stage[0].Do.Exec.Abort.String()
		b.Run(awaitLimits(b, b.memberStage(d), "\nrebase_os() {\n"))
		cancel, reset := strings.Index(b.Log(), "rpm-ostree cancel\n"), strings.Index(b.Log(), "IOWriteBandwidthMax=\n")
		if cancel < 0 || b.Exists("transaction") != stuck || (reset < 0) != stuck || !stuck && cancel > reset {
			t.Errorf("stuck %v: cancel at %d, limits removed at %d:\n%s", stuck, cancel, reset, b.Log())
		}
		out := b.Run(strings.ReplaceAll(abort, "sleep 1", ":"))
		if (out.Code != 0) != stuck || stuck && !strings.Contains(out.Stderr, "rpm-ostree cancel") {
			t.Errorf("stuck %v: %+v", stuck, out)
		}
	}
}

// TestCleanCommandHasNoSpecialCharacters checks that neither systemd nor the shell expands a part of the command.
func TestCleanCommandHasNoSpecialCharacters(t *testing.T) {
	clean := rpmOstree{}.cleanCommand
	all := clean("daemon", &engine.Content{Image: "x"})
	if strings.ContainsAny(all+(bootc{}).cleanCommand("", nil), `$%'"\`) || !strings.HasPrefix(all, cancelStaging) || !strings.HasSuffix(all, forgetLimits) || !strings.Contains(all, forgetMirror) {
		t.Error(all)
	}
	const least = cancelStaging + "; " + forgetDaemonLock
	if clean("", nil) != least || strings.Contains(clean("daemon", nil), forgetMirror) || clean("", &engine.Content{Image: "x"}) != least+"; "+forgetMirror {
		t.Error("the command has a part that is not needed, or misses one")
	}
}

package osimage

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/pathtest"
)

const loopGroup = "sys/fs/cgroup/system.slice/holdfast-stage.service/work"

// governorLoop is the loop of the governor on a fake host. The freezer of the cgroup and the log of the fake tools are
// one FIFO, so the lines that arrive have the order of the effects: 1 freezes, 0 thaws, "sync …" flushes. A fake sleep
// lasts until the test ends it, so no time passes by itself.
type governorLoop struct {
	t     *testing.T
	root  string
	cmd   *exec.Cmd
	log   *os.File
	lines *bufio.Reader // of log
	wake  *os.File      // ends a fake sleep
	ended chan error
}

// startLoop starts the loop with a pace of 2 ms, then 200 ms frozen, and a safe pace of 3 and 400 ms.
func startLoop(t *testing.T) *governorLoop {
	t.Helper()
	l := newLoop(t)
	l.write("proc/self/cgroup", "0::/system.slice/holdfast-stage.service")
	l.write(filepath.Dir(loopGroup)+"/cgroup.freeze", "0")
	l.write("run/holdfast/stage.pace", "7 9 9 9 9") // of an earlier staging
	l.setGroup(1, 1)
	l.write(loopGroup+"/cgroup.procs", "42")
	l.write("data", "")
	l.setWritten(100 * 365 * 24 * time.Hour)
	l.write("proc/42/fd/0", "")
	l.check(os.Remove(filepath.Join(l.root, "proc/42/fd/0")))
	l.check(os.Symlink(filepath.Join(l.root, "data"), filepath.Join(l.root, "proc/42/fd/5")))
	l.check(os.Symlink(l.root, filepath.Join(l.root, "proc/42/fd/6"))) // no file to flush
	l.check(os.Symlink(filepath.Join(l.root, "log"), filepath.Join(l.root, loopGroup, "cgroup.freeze")))
	l.writeTool("sync", "printf 'sync %s\\n' \"$*\" >"+l.root+"/log")
	l.start("silence=15 slice=2 pause=200 rate=1 safeslice=3 safepause=400 saferate=1\n" + libScript + governorScript + "make_group || exit 1\ngovern_staging\n")
	l.expectEffects("sync -d ROOT/run/holdfast/stage.levers.new", "1")
	return l
}

// newLoop returns a host whose loop does not run yet. A sleep is the only tool.
func newLoop(t *testing.T) *governorLoop {
	t.Helper()
	l := &governorLoop{t: t, root: t.TempDir(), ended: make(chan error, 1)}
	for _, name := range []string{"log", "wake"} {
		l.check(syscall.Mkfifo(filepath.Join(l.root, name), 0o600))
	}
	l.setTime(1000)
	l.writeTool("sleep", "printf 'sleep %s\\n' \"$1\" >"+l.root+"/log\nread -r _ <"+l.root+"/wake")
	return l
}

func (l *governorLoop) writeTool(name, text string) {
	l.t.Helper()
	l.write("tools/"+name, "#!/bin/sh\n"+text)
	l.check(os.Chmod(filepath.Join(l.root, "tools", name), 0o755)) //nolint:gosec // a tool must be executable
}

// start starts a script on the host.
func (l *governorLoop) start(script string) {
	l.t.Helper()
	l.log, l.wake = l.openFIFO("log"), l.openFIFO("wake")
	l.lines = bufio.NewReader(l.log)
	for _, path := range []string{"/proc/self/cgroup", "/proc/uptime", "/proc/$pid", "/sys/fs/cgroup", "/run/holdfast"} {
		script = strings.ReplaceAll(script, path, l.root+path)
	}
	l.cmd = exec.Command(pathtest.Shell(), "-c", "set -eu\n"+script)
	l.cmd.Env = []string{"PATH=" + l.root + "/tools:" + pathtest.Tools()}
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	l.cmd.Stderr, l.cmd.Stdout = os.Stderr, os.Stderr
	l.check(l.cmd.Start())
	go func() {
		l.ended <- l.cmd.Wait()
		_, _ = l.log.WriteString("ended\n") // after the test, nobody reads it
	}()
	l.t.Cleanup(func() { _ = syscall.Kill(-l.cmd.Process.Pid, syscall.SIGKILL) }) // it may have ended
}

// startFirstSlice starts the loop and waits until its first slice has begun.
func startFirstSlice(t *testing.T) *governorLoop {
	t.Helper()
	l := startLoop(t)
	l.expectEffects("1", flushData, "sleep 0.200", "0")
	l.wantSleep("0.002")
	return l
}

func (l *governorLoop) check(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *governorLoop) openFIFO(name string) *os.File {
	l.t.Helper()
	f, err := os.OpenFile(filepath.Join(l.root, name), os.O_RDWR, 0)
	l.check(err)
	l.t.Cleanup(func() { _ = f.Close() })
	return f
}

// write replaces a file of the host at once, because the loop reads it at any time.
func (l *governorLoop) write(name, text string) {
	l.t.Helper()
	path := filepath.Join(l.root, name)
	l.check(os.MkdirAll(filepath.Dir(path), 0o755))
	l.check(os.WriteFile(path+".new", []byte(text+"\n"), 0o644))
	l.check(os.Rename(path+".new", path))
}

// setWritten sets when the staging has written its file the last time, from now on.
func (l *governorLoop) setWritten(later time.Duration) {
	l.t.Helper()
	at := time.Now().Add(later)
	l.check(os.Chtimes(filepath.Join(l.root, "data"), at, at))
}

func (l *governorLoop) setGroup(populated, frozen int) {
	l.t.Helper()
	l.write(loopGroup+"/cgroup.events", fmt.Sprintf("populated %d\nfrozen %d", populated, frozen))
}

func (l *governorLoop) setTime(seconds int) {
	l.t.Helper()
	l.write("proc/uptime", strconv.Itoa(seconds)+".50 9.00")
}

// nextLine returns the next effect of the loop, or "ended".
func (l *governorLoop) nextLine() string {
	l.t.Helper()
	l.check(l.log.SetReadDeadline(time.Now().Add(2 * time.Minute))) // a loop that hangs has no next effect
	line, err := l.lines.ReadString('\n')
	l.check(err)
	return strings.ReplaceAll(strings.TrimSpace(line), l.root, "ROOT")
}

// expectEffects reads these effects, in this order. After each of them that is a sleep, the loop goes on.
func (l *governorLoop) expectEffects(effects ...string) {
	l.t.Helper()
	for _, want := range effects {
		if got := l.nextLine(); got != want {
			l.t.Fatalf("it does %q, want %q", got, want)
		}
		if strings.HasPrefix(want, "sleep ") {
			l.endSleep()
		}
	}
}

// wantSleep waits for a sleep and does not end it.
func (l *governorLoop) wantSleep(seconds string) {
	l.t.Helper()
	if got := l.nextLine(); got != "sleep "+seconds {
		l.t.Fatalf("it does %q, want a sleep of %s", got, seconds)
	}
}

func (l *governorLoop) endSleep() {
	l.t.Helper()
	_, err := l.wake.WriteString("\n")
	l.check(err)
}

// wantEnd checks that the loop ends with that exit code.
func (l *governorLoop) wantEnd(code int) {
	l.t.Helper()
	l.expectEffects("ended")
	var exit *exec.ExitError
	if err := <-l.ended; err != nil && !errors.As(err, &exit) {
		l.t.Fatal(err)
	}
	if got := l.cmd.ProcessState.ExitCode(); got != code {
		l.t.Errorf("it ends with %d, want %d", got, code)
	}
}

const flushData = "sync -d ROOT/proc/42/fd/5"

// TestLoopFlushesWhileFrozen checks the order of the loop: freeze, flush the open files, pause, thaw, slice. At the end
// of the staging the group is thawed.
func TestLoopFlushesWhileFrozen(t *testing.T) {
	t.Parallel()
	l := startLoop(t)
	for range 3 {
		l.expectEffects("1", flushData, "sleep 0.200", "0", "sleep 0.002")
	}
	l.expectEffects("1", flushData, "sleep 0.200", "0")
	l.wantSleep("0.002")
	l.write("run/holdfast/stage.result", "0")
	l.endSleep()
	l.expectEffects("0")
	l.wantEnd(0)
}

// TestLoopFlushesOnlyWrittenFiles checks that a file is flushed if it was written since the last flush, and otherwise not: each flush makes
// the disk flush its cache.
func TestLoopFlushesOnlyWrittenFiles(t *testing.T) {
	t.Parallel()
	l := startFirstSlice(t)
	l.setWritten(-time.Second)
	l.endSleep()
	l.expectEffects("1", "sleep 0.200", "0")
	l.wantSleep("0.002")
	l.setWritten(time.Second)
	l.endSleep()
	l.expectEffects("1", flushData, "sleep 0.200", "0")
	l.wantSleep("0.002")
	l.setWritten(-time.Second)
	l.endSleep()
	l.expectEffects("1", "sleep 0.200", "0")
}

// TestLoopAwaitsTheFreeze checks that nothing is flushed before the kernel has frozen the group, and that a group that
// does not freeze holds the loop up only for a moment.
func TestLoopAwaitsTheFreeze(t *testing.T) {
	t.Parallel()
	l := startFirstSlice(t)
	l.setGroup(1, 0)
	l.endSleep()
	l.expectEffects("1", "sleep 0.005", "sleep 0.005")
	l.wantSleep("0.005")
	l.setGroup(1, 1)
	l.endSleep()
	l.expectEffects(flushData, "sleep 0.200", "0")
	l.wantSleep("0.002")
	l.setGroup(1, 0)
	l.endSleep()
	l.expectEffects("1")
	for range 40 {
		l.expectEffects("sleep 0.005")
	}
	l.expectEffects(flushData)
}

// TestLoopFollowsTheBastion checks that a pace with another number is in force from the next slice on, that a pace with
// a known number or without all its numbers is not, and that a slice of 0 keeps the group frozen until another pace
// arrives. A pause of 0 starts no program. The shortest slice is the start of a program.
func TestLoopFollowsTheBastion(t *testing.T) {
	t.Parallel()
	l := startFirstSlice(t)
	for _, step := range []struct {
		pace    string
		effects []string
		slice   string
	}{
		{"11 20 0 1 200", []string{"1", flushData, "0"}, "0.020"},
		{"11 30 10 1 200", []string{"1", flushData, "0"}, "0.020"}, // the number is known
		{"12 x 10 1 200", []string{"1", flushData, "0"}, "0.020"},
		{"13 30 10 1", []string{"1", flushData, "0"}, "0.020"},
		{"14 1500 10 1 200", []string{"1", flushData, "sleep 0.010", "0"}, "1.500"},
	} {
		l.write("run/holdfast/stage.pace", step.pace)
		l.endSleep()
		l.expectEffects(step.effects...)
		l.wantSleep(step.slice)
	}
	l.write("run/holdfast/stage.pace", "15 1 20 1 200") // the shortest slice
	l.endSleep()
	l.expectEffects("1", flushData, "sleep 0.020", "0", "sleep 0", "1", flushData)
	l.wantSleep("0.020")
	l.write("run/holdfast/stage.pace", "16 5 30 1 200")
	l.endSleep()
	l.expectEffects("0", "sleep 0", "1", flushData, "sleep 0.030", "0")
	l.wantSleep("0.005")
	l.write("run/holdfast/stage.pace", "17 0 200 1 200")
	l.endSleep()
	l.expectEffects("1", flushData, "sleep 0.200", "sleep 0.2", "sleep 0.2")
	l.wantSleep("0.2")
	l.write("run/holdfast/stage.pace", "18 5 0 1 200")
	l.endSleep()
	l.expectEffects("sleep 0.2", "0", "sleep 0.005", "1")
}

// TestSilentBastionMeansTheSafePace checks that 15 s after the last pace with a new number, the loop uses the safe pace
// that came with it, also if the group was to stay frozen, and follows the bastion again when it is back.
func TestSilentBastionMeansTheSafePace(t *testing.T) {
	t.Parallel()
	l := startFirstSlice(t)
	l.setTime(1014)
	l.endSleep()
	l.expectEffects("1", flushData, "sleep 0.200", "0")
	l.wantSleep("0.002")
	l.setTime(1015) // no pace has ever arrived
	l.endSleep()
	l.expectEffects("1", flushData, "sleep 0.400", "0")
	l.wantSleep("0.003")
	l.setTime(1100)
	l.write("run/holdfast/stage.pace", "11 20 0 2 300")
	l.endSleep()
	l.expectEffects("1", flushData, "0")
	l.wantSleep("0.020")
	l.setTime(1114)
	l.endSleep()
	l.expectEffects("1", flushData, "0")
	l.wantSleep("0.020")
	l.setTime(1115) // the same pace still lies there
	l.endSleep()
	l.expectEffects("1", flushData, "sleep 0.300", "0")
	l.wantSleep("0.002")
	l.write("run/holdfast/stage.pace", "12 0 200 4 500")
	l.endSleep()
	l.expectEffects("1", flushData, "sleep 0.200", "sleep 0.2")
	l.wantSleep("0.2")
	l.setTime(1130)
	l.endSleep()
	l.expectEffects("sleep 0.2", "0", "sleep 0.004", "1", flushData, "sleep 0.500", "0", "sleep 0.004")
}

// TestLoopLeavesNothingFrozen checks that the loop thaws the group when systemd ends it, and when all processes of the
// staging have ended.
func TestLoopLeavesNothingFrozen(t *testing.T) {
	t.Parallel()
	t.Run("systemd ends it", func(t *testing.T) {
		t.Parallel()
		l := startLoop(t)
		l.expectEffects("1", flushData)
		l.wantSleep("0.200")
		l.check(l.cmd.Process.Signal(syscall.SIGTERM))
		l.endSleep()
		l.expectEffects("0")
		l.wantEnd(143)
	})
	t.Run("the staging has ended", func(t *testing.T) {
		t.Parallel()
		l := startFirstSlice(t)
		l.setGroup(0, 1)
		l.endSleep()
		l.expectEffects("1", "0")
		l.wantEnd(0)
	})
}

package tasks

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/pathtest"
	"holdfast/modules/hostconfig/record"
	"holdfast/modules/moduletest"
	"holdfast/modules/osimage"
)

// taskScript returns the script of a task that runs a command on the host.
func taskScript(task engine.Task) engine.Script {
	return placedTask{Task: task}.taskSteps(moduletest.Target(engine.Desired{}, engine.Facts{Host: "w-1"}))[0].Do.Exec.Script
}

func commandTask(text string) engine.Task {
	return engine.Task{Name: "c", Module: engine.CommandTaskName, Command: &engine.CommandTask{Command: text}}
}

func disruptiveTask(text string) engine.Task {
	t := commandTask(text)
	t.Command.Disrupts = true
	return t
}

func serviceTask(unit string, reload bool) engine.Task {
	return engine.Task{Name: "s", Module: engine.ServiceTaskName, Service: &engine.ServiceTask{Unit: unit, Reload: reload}}
}

func TestCommandsOfPlaybooks(t *testing.T) {
	for name, test := range map[string]struct {
		do     engine.Task
		code   int
		stdout string
		stderr string
	}{
		"works":                   {do: commandTask("echo out; echo more >&2"), stdout: "out\nmore\n"},
		"says nothing":            {do: commandTask("true")},
		"is quoted":               {do: commandTask("printf '%s|' \"a'b\" '$HOME' \\\\"), stdout: `a'b|$HOME|\|`},
		"has no input":            {do: commandTask("cat; echo end"), stdout: "end\n"},
		"pipes":                   {do: commandTask("yes | head -n 1"), stdout: "y\n"},
		"fails":                   {do: commandTask("echo out; echo why >&2; exit 3"), code: hostscript.ScriptCannot, stdout: "out\n", stderr: "exit status 3\nwhy\n"},
		"fails and had disrupted": {do: disruptiveTask("echo why >&2; exit 75"), code: hostscript.ScriptActionFailed, stderr: "exit status 75\nwhy\n"},
		"fails without a word":    {do: commandTask("exit 124"), code: hostscript.ScriptCannot, stderr: "exit status 124\n"},
		"is not there":            {do: commandTask("/no/such/tool 2>/dev/null"), code: hostscript.ScriptCannot, stderr: "exit status 127\n"},
		"kills itself":            {do: commandTask("kill -9 $$"), code: hostscript.ScriptCannot, stderr: "exit status 137\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := moduletest.NewTree(t)
			out := b.RunScript(engine.Exec{Script: taskScript(test.do)})
			if out.Code != test.code || out.Stdout != test.stdout || out.Stderr != test.stderr {
				t.Errorf("exit status %d, %q, %q", out.Code, out.Stdout, out.Stderr)
			}
		})
	}
}

// The message has the line about the exit, and then the end of the error output
// of the command.
func TestACommandThatSaysALot(t *testing.T) {
	b := moduletest.NewTree(t)
	out := b.RunScript(engine.Exec{Script: taskScript(commandTask("yes | head -c 1000000 >&2; echo the end >&2; exit 1"))})
	if !strings.HasPrefix(out.Stderr, "exit status 1\n") || !strings.HasSuffix(out.Stderr, "\nthe end\n") || len(out.Stderr) > 5000 {
		t.Errorf("%d bytes: %.40q", len(out.Stderr), out.Stderr)
	}
}

// A command that takes too long is killed with its children, even if they ignore
// signals. Otherwise the script would wait for them.
func TestACommandThatTakesTooLong(t *testing.T) {
	t.Parallel()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	b := moduletest.NewTree(t)
	task := disruptiveTask("echo begun; (trap '' TERM; " + sleep + " 60; echo survived) & echo why >&2; " + sleep + " 60")
	task.Command.Timeout = engine.Duration(time.Second)
	began := time.Now()
	out := b.RunScript(engine.Exec{Script: taskScript(task)})
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
	if want := "not done within 1s; it was killed, with all processes that it had started\nwhy\n"; out.Code != hostscript.ScriptActionFailed || out.Stdout != "begun\n" || out.Stderr != want {
		t.Errorf("exit status %d, %q, %q", out.Code, out.Stdout, out.Stderr)
	}
}

// The script leaves no file on the host at any exit, and can run again.
func TestACommandIsCutShort(t *testing.T) {
	t.Parallel()
	b := moduletest.NewTree(t)
	fifo := filepath.Join(t.TempDir(), "fifo")
	b.Check(syscall.Mkfifo(fifo, 0o600))
	task := commandTask("echo begun; cat " + fifo)
	task.Command.Timeout = engine.Duration(20 * time.Second)
	before := b.ListTree()
	cmd := exec.Command(pathtest.Shell(), "-c", strings.ReplaceAll(taskScript(task).String(), "/var/lib/holdfast", b.Root+"/var/lib/holdfast"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := cmd.StdoutPipe()
	b.Check(err)
	b.Check(cmd.Start())
	said := bufio.NewReader(stdout)
	if line, err := said.ReadString('\n'); line != "begun\n" {
		t.Fatalf("%q, %v", line, err)
	}
	b.Check(syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
	feed := func() { b.Check(os.WriteFile(fifo, []byte("fed\n"), 0o600)) }
	feed()
	if rest, err := io.ReadAll(said); err != nil || string(rest) != "fed\n" { // the command has continued to its end
		t.Errorf("%q, %v", rest, err)
	}
	_ = cmd.Wait() // the shell was killed
	if after := b.ListTree(); after != before {
		t.Errorf("it has left\n%s", moduletest.DifferingLinesOf(before, after))
	}
	go feed()
	b.Want(b.RunScript(engine.Exec{Script: taskScript(task)}), 0, "begun\nfed\n")
}

func TestTasksRespectHolds(t *testing.T) {
	b := moduletest.NewTree(t)
	log := b.At("/ran")
	quiet, rough := taskScript(commandTask("echo x >>"+log)), taskScript(disruptiveTask("echo x >>"+log))
	b.Put("/units/a.service", "active\n", 0o644)
	try := func(codes ...int) {
		t.Helper()
		for i, script := range []engine.Script{quiet, rough, taskScript(serviceTask("a.service", true)), taskScript(serviceTask("a.service", false))} {
			if out := b.RunScript(engine.Exec{Script: script}); out.Code != codes[i] {
				t.Errorf("script %d: exit status %d, want %d: %s", i, out.Code, codes[i], out.Stderr)
			}
		}
	}
	const held = hostscript.ScriptHeld
	try(0, 0, 0, 0)
	b.Remove("var/lib/holdfast/hold.json")
	try(0, held, 0, held)
	b.Remove("ran")
	b.Remove("log")
	for _, kind := range []engine.HoldKind{engine.RunHold, engine.MaintenanceHold} {
		b.Hold(kind, "r2")
		try(held, held, held, held)
	}
	if b.Exists("ran") || b.Log() != "" {
		t.Errorf("something was done: %s", b.Log())
	}
}

func TestServicesOfPlaybooks(t *testing.T) {
	unit := func(state string) func(*moduletest.Tree) {
		return func(b *moduletest.Tree) { b.Put("/units/a.service", state+"\n", 0o644) }
	}
	for name, test := range map[string]struct {
		reload  bool
		prepare func(*moduletest.Tree)
		code    int
		says    string
		log     string // commands that systemctl has received
	}{
		"restart":                      {prepare: unit("active"), log: "restart a.service\n"},
		"restart of what has failed":   {prepare: unit("failed"), log: "restart a.service\n"},
		"restart of what does not run": {prepare: unit("inactive"), says: "a.service is not running, so there is nothing to restart"},
		"restart that leaves it failed": {
			prepare: func(b *moduletest.Tree) { unit("active")(b); b.Put("/after-restart", "failed\n", 0o644) },
			code:    hostscript.ScriptActionFailed, says: "restart a.service: the unit has failed (exit-code)\nthe last line of its journal\n", log: "restart a.service\n",
		},
		"restart of what changed on disk": {
			prepare: func(b *moduletest.Tree) { unit("active")(b); b.Put("/need-reload", "", 0o644) }, log: "daemon-reload\nrestart a.service\n",
		},
		"restart that hangs": {
			prepare: func(b *moduletest.Tree) {
				unit("active")(b)
				b.AddTool("timeout", "case $* in *' restart '*) exit 124;; esac; [ $1 != -k ] || shift 2; shift; exec \"$@\"\n")
			},
			code: hostscript.ScriptActionFailed, says: "restart a.service: not done within 2m0s",
		},
		"reload":                      {reload: true, prepare: unit("active"), log: "reload a.service\n"},
		"reload of what does not run": {reload: true, prepare: unit("inactive"), says: "nothing to reload"},
		"reload that fails": {
			reload: true, prepare: func(b *moduletest.Tree) { unit("active")(b); b.Put("/fail-reload", "Job failed.\n", 0o644) },
			code: hostscript.ScriptActionFailed, says: "reload a.service: exit status 1: Job failed.\n", log: "reload a.service\n",
		},
		"no such unit": {code: hostscript.ScriptCannot, says: "a.service: the host has no such unit; nothing was done"},
		"masked": {
			prepare: func(b *moduletest.Tree) { b.AddTool("systemctl", "echo LoadState=masked; echo ActiveState=inactive\n") },
			code:    hostscript.ScriptCannot, says: "a.service: the unit is masked; nothing was done",
		},
		"systemd does not answer": {
			prepare: func(b *moduletest.Tree) { b.Put("/fail-show", "Connection timed out\n", 0o644) },
			code:    hostscript.ScriptCannot, says: "systemctl show a.service: Connection timed out; nothing was done",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := moduletest.NewTree(t)
			b.AddTool("journalctl", "echo 'the last line of its journal'\n")
			if test.prepare != nil {
				test.prepare(b)
			}
			b.Want(b.RunScript(engine.Exec{Script: taskScript(serviceTask("a.service", test.reload))}), test.code, test.says)
			did := ""
			for line := range strings.Lines(b.Log()) {
				if verb, ok := strings.CutPrefix(line, "systemctl "); ok && !strings.HasPrefix(verb, "show ") && !strings.HasPrefix(verb, "is-failed ") {
					did += verb
				}
			}
			if did != test.log {
				t.Errorf("did %q, want %q", did, test.log)
			}
			if b.Exists(record.Path) {
				t.Error("a record was written")
			}
			b.CheckClean()
		})
	}
}

// sh runs a script without a fake host.
func sh(t *testing.T, script string) (code int, stderr string) {
	t.Helper()
	cmd := exec.Command(pathtest.Shell(), "-c", script)
	var b strings.Builder
	cmd.Stderr = &b
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), b.String()
}

func TestWaitForAPort(t *testing.T) {
	port := func(a net.Addr) int { return a.(*net.TCPAddr).Port }
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("not on %s: %v", address, err)
			continue
		}
		if code, stderr := sh(t, portScript(port(l.Addr()))); code != 0 {
			t.Errorf("%s listens: exit status %d: %s", l.Addr(), code, stderr)
		}
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if code, _ := sh(t, portScript(port(conn.LocalAddr()))); code != 1 {
			t.Errorf("%s is only connected: exit status %d", conn.LocalAddr(), code)
		}
		_ = conn.Close() // an error does not matter here
		_ = l.Close()
		want := "nothing listens on TCP port " + strconv.Itoa(port(l.Addr())) + "\n"
		if code, stderr := sh(t, portScript(port(l.Addr()))); code != 1 || stderr != want {
			t.Errorf("%s is closed: exit status %d: %s", l.Addr(), code, stderr)
		}
	}
	for _, n := range []int{1, 80, 65535} {
		if code, _ := sh(t, portScript(n)); code > 1 {
			t.Errorf("port %d: exit status %d", n, code)
		}
	}
}

func TestWaitForAPath(t *testing.T) {
	dir := t.TempDir() + "/it's $HOME; here"
	if code, stderr := sh(t, pathScript(dir)); code != 1 || stderr != dir+" does not exist\n" {
		t.Errorf("exit status %d: %s", code, stderr)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if code, stderr := sh(t, pathScript(dir)); code != 0 || stderr != "" {
		t.Errorf("exit status %d: %s", code, stderr)
	}
}

// A host is rebooted into its running OS, never into a staged one. If an unlocked
// deployment is staged, the reboot is refused.
func TestRebootOfAPlaybook(t *testing.T) {
	b := moduletest.NewBox(t)
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
	f := b.ReadFacts(d, ForPlay(engine.Play{})...)
	update, err := osimage.Module().Changes.Diff(d, f)
	b.Check(err)
	b.Want(b.Run(update.Steps(moduletest.Target(d, f), update.Changes).Stage[0].Do.Exec.Script.String()), 0, "staged and locked")
	b.Hold(engine.RunHold, "r1")
	f = b.ReadFacts(d, ForPlay(engine.Play{})...)
	task, err := ForPlay(playOf("reboot"))[4].Changes.Diff(d, f)
	if err != nil || len(task.Changes) != 1 {
		t.Fatal(task.Changes, err)
	}
	steps := task.Steps(moduletest.Target(d, f), task.Changes).Reboot
	if wait := steps[2].Do.AwaitBoot; wait.Digest != moduletest.V1 || wait.BootID != moduletest.Boot {
		t.Errorf("waits for %+v", wait)
	}
	script := moduletest.OrderOf(steps)
	b.Run("ostree admin lock-finalization --unlock; rm -f /run/ostree/staged-deployment-locked")
	b.Want(b.Run(script), hostscript.ScriptChanged, "is staged and not locked, so it would boot that")
	b.Remove(engine.HoldPath)
	b.Want(b.Run(script), hostscript.ScriptHeld, "not held by this run")
	if strings.Contains(b.Log(), "rebooted") {
		t.Error("it was rebooted")
	}
	b.Hold(engine.RunHold, "r1")
	b.Want(b.Run("ostree admin lock-finalization"), 0, "")
	b.Want(b.Run(script), 0, "rebooting")
	if !strings.Contains(b.Log(), "rebooted locked\n") {
		t.Errorf("log:\n%s", b.Log())
	}
}

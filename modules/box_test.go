package modules

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/pathtest"
)

// box is a host made of the fakes in ../testdata/fake.
type box struct {
	t    *testing.T
	root string
}

const (
	v1   = "1111111111111111111111111111111111111111111111111111111111111111"
	v2   = "2222222222222222222222222222222222222222222222222222222222222222"
	v3   = "3333333333333333333333333333333333333333333333333333333333333333"
	boot = "0e2f3f5a-6b6c-4b8e-9d43-9a0c0f6a1c11"
)

func newBox(t *testing.T) *box {
	t.Helper()
	b := &box{t: t, root: t.TempDir()}
	b.write("ostree-version", "2025.2")
	b.write("bootc-version", "1.16.9")
	b.write("free", "2000000")
	b.write("booted", v1+" lab:lab/stable")
	b.write("meta/"+v1+"/version", "1.0")
	b.write("proc/sys/kernel/random/boot_id", boot)
	b.write("proc/uptime", "1000.00 9.00")
	b.write("proc/cmdline", "root=LABEL=root rw console=tty0 ostree=/ostree/boot.1/lab/1/0")
	b.write("ostree/deploy/lab/deploy/"+v1+".0.origin", "[origin]\nrefspec=lab:lab/stable\n[libostree-transient]\npinned=true")
	for _, dir := range []string{"units", "run", "var/lib"} {
		b.mkdir(dir)
	}
	return b
}

func (b *box) mkdir(dir string) { b.check(os.MkdirAll(filepath.Join(b.root, dir), 0o755)) }

func (b *box) check(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) write(name, text string) {
	b.t.Helper()
	b.mkdir(filepath.Dir(name))
	b.check(os.WriteFile(filepath.Join(b.root, name), []byte(text+"\n"), 0o644))
}

func (b *box) remove(name string) { b.check(os.Remove(filepath.Join(b.root, name))) }

func (b *box) exists(name string) bool {
	_, err := os.Stat(filepath.Join(b.root, name))
	return err == nil
}

func (b *box) log() string {
	text, err := os.ReadFile(filepath.Join(b.root, "log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.t.Fatal(err)
	}
	return string(text)
}

// run executes a script with its absolute paths moved into the box.
func (b *box) run(script string) engine.Output {
	b.t.Helper()
	for _, path := range []string{"/var/lib/holdfast", "/run/holdfast", "/run/ostree", "/run/systemd/system", "/proc/sys", "/proc/uptime", "/proc/cmdline", "/proc/net", "/etc/kubernetes", "/boot/ostree", "/ostree/deploy"} {
		script = strings.ReplaceAll(script, path, b.root+path)
	}
	fakes, err := filepath.Abs("../testdata/fake")
	b.check(err)
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = []string{"PATH=" + fakes + ":" + pathtest.Tools(), "BOX=" + b.root}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		b.t.Fatal(err)
	}
	return engine.Output{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
}

// gatherFacts gathers facts as a run does.
func (b *box) gatherFacts(d engine.Desired) engine.Facts {
	b.t.Helper()
	var commands []engine.Command
	for _, m := range All() {
		commands = append(commands, m.Probe(d)...)
	}
	const mark = "b05e21"
	out := b.run(hostscript.ProbeScript(commands, mark))
	outputs, err := hostscript.ReadOutputs(commands, mark, out.Stdout, out.Stderr)
	b.check(err)
	f := engine.Facts{Host: "w-1"}
	for _, m := range All() {
		f = m.Read(d, outputs, f)
	}
	return f
}

// steps plans the host in its present state; it must need a change of the OS.
func (b *box) steps(d engine.Desired) engine.Steps {
	b.t.Helper()
	f := b.gatherFacts(d)
	changes, err := operatingSystem{}.Diff(d, f)
	if err != nil || len(changes) == 0 {
		b.t.Fatalf("changes %v, %v in %+v", changes, err, f)
	}
	return operatingSystem{}.Steps(target(d, f), changes)
}

func target(d engine.Desired, f engine.Facts) engine.Target {
	return engine.Target{Host: engine.Host{Name: "w-1"}, Desired: d, Facts: f, Run: "r1"}
}

// stage runs the stage step of a plan made now.
func (b *box) stage(d engine.Desired) engine.Output {
	b.t.Helper()
	steps := b.steps(d).Stage
	if len(steps) != 1 {
		b.t.Fatalf("%d stage steps", len(steps))
	}
	return b.run(steps[0].Do.Exec.Script)
}

// finalize runs the finalize step of a plan made now.
func (b *box) finalize(d engine.Desired) engine.Output {
	b.t.Helper()
	return b.run(orderOf(b.steps(d).Reboot))
}

// orderOf returns the script of the step that orders the reboot.
func orderOf(steps []engine.Step) string {
	return steps[slices.IndexFunc(steps, func(s engine.Step) bool { return s.Reboots })].Do.Exec.Script
}

// hold puts a hold on the host.
func (b *box) hold(kind engine.HoldKind, run string) {
	h := engine.Hold{Kind: kind, Holder: "ann@bastion", Run: run, Reason: "test", Acquired: time.Unix(1, 0), Renewed: time.Unix(1, 0)}
	text, err := json.Marshal(h)
	b.check(err)
	b.write(engine.HoldPath, string(text))
}

func (b *box) want(out engine.Output, code int, says string) {
	b.t.Helper()
	if out.Code != code || !strings.Contains(out.Stdout+out.Stderr, says) {
		b.t.Fatalf("exit status %d, want %d, and to see %q:\n%s%s\nlog:\n%s", out.Code, code, says, out.Stdout, out.Stderr, b.log())
	}
}

// by returns a run of a bastion without an identity.
func by(run string) engine.HoldOwner { return engine.HoldOwner{Run: run} }

// hostPaths replaces the paths of the box in a text by paths of a host.
func (b *box) hostPaths(text string) string { return strings.ReplaceAll(text, b.root, "") }

package moduletest

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

// Box is a fake host that uses the tools in testdata/fake.
type Box struct {
	T    testing.TB
	Root string
}

// These are the digests of the OS of a host and of the next two OS versions, and
// the boot ID of the host.
const (
	V1   = "1111111111111111111111111111111111111111111111111111111111111111"
	V2   = "2222222222222222222222222222222222222222222222222222222222222222"
	V3   = "3333333333333333333333333333333333333333333333333333333333333333"
	Boot = "0e2f3f5a-6b6c-4b8e-9d43-9a0c0f6a1c11"
)

// NewBox returns a host that has booted V1.
func NewBox(t testing.TB) *Box {
	t.Helper()
	b := &Box{T: t, Root: t.TempDir()}
	b.Write("ostree-version", "2025.2")
	b.Write("bootc-version", "1.16.9")
	b.Write("free", "2000000")
	b.Write("booted", V1+" lab:lab/stable")
	b.Write("meta/"+V1+"/version", "1.0")
	b.Write("proc/sys/kernel/random/boot_id", Boot)
	b.Write("proc/uptime", "1000.00 9.00")
	b.Write("run/ostree-booted", "")
	b.Write("proc/cmdline", "root=LABEL=root rw console=tty0 ostree=/ostree/boot.1/lab/1/0")
	b.Write("ostree/deploy/lab/deploy/"+V1+".0.origin", "[origin]\nrefspec=lab:lab/stable\n[libostree-transient]\npinned=true")
	for _, dir := range []string{"units", "run", "var/lib"} {
		b.Mkdir(dir)
	}
	return b
}

// Mkdir makes a directory of the host.
func (b *Box) Mkdir(dir string) { b.Check(os.MkdirAll(filepath.Join(b.Root, dir), 0o755)) }

// Check ends the test if there is an error.
func (b *Box) Check(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

// Write writes a file of the host: the text and a newline.
func (b *Box) Write(name, text string) {
	b.T.Helper()
	b.Mkdir(filepath.Dir(name))
	b.Check(os.WriteFile(filepath.Join(b.Root, name), []byte(text+"\n"), 0o644))
}

// Remove removes a file of the host.
func (b *Box) Remove(name string) { b.Check(os.Remove(filepath.Join(b.Root, name))) }

// Exists reports whether the host has a file.
func (b *Box) Exists(name string) bool {
	_, err := os.Stat(filepath.Join(b.Root, name))
	return err == nil
}

// Log returns the log of the fake tools. Most of them note each call in it.
func (b *Box) Log() string {
	text, err := os.ReadFile(filepath.Join(b.Root, "log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.T.Fatal(err)
	}
	return string(text)
}

func (b *Box) executeScript(script string) engine.Output {
	b.T.Helper()
	for _, path := range []string{"/var/lib/holdfast", "/run/holdfast", "/run/ostree", "/run/reboot-required", "/run/nextroot", "/run/systemd/system", "/run/systemd/inhibit", "/proc/sys", "/proc/uptime", "/proc/cmdline", "/proc/[0-9]", "/proc/self/cgroup", "/proc/self/mountinfo", "/proc/self/mounts", "/sys/kernel/kexec_loaded", "/sys/class/block", "/sys/dev/block", "/sysroot/boot", "/sys/kernel/security", "/run/systemd/container", "/boot/loader", "/sys/fs/cgroup", "/proc/net", "/etc/kubernetes", "/etc/containers", "/boot/ostree", "/ostree/deploy"} {
		script = strings.ReplaceAll(script, path, b.Root+path)
	}
	cmd := exec.Command(pathtest.Shell(), "-c", script)
	cmd.Env = []string{"PATH=" + FakeTools(b.T) + ":" + pathtest.Tools(), "BOX=" + b.Root}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		b.T.Fatal(err)
	}
	return engine.Output{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
}

// ReadFacts runs the probes of the given modules on the host, as a run does, and
// returns the facts that they read.
func (b *Box) ReadFacts(d engine.Desired, all ...engine.Module) engine.Facts {
	b.T.Helper()
	var commands []engine.Command
	for _, m := range all {
		if m.Observer != nil {
			commands = append(commands, m.Observer.Probe(d)...)
		}
	}
	const mark = "b05e21"
	out := b.Run(hostscript.ProbeScript(commands, mark))
	outputs, err := hostscript.ReadOutputs(commands, mark, out.Stdout, out.Stderr)
	b.Check(err)
	f := engine.Facts{Host: "w-1"}
	for _, m := range all {
		if m.Observer != nil {
			f = m.Observer.Read(d, outputs, f)
		}
	}
	return f
}

// FakeTools returns the folder of the fake tools.
func FakeTools(tb testing.TB) string {
	tb.Helper()
	return projectPath(tb, "testdata/fake")
}

func projectPath(tb testing.TB, name string) string {
	tb.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, filepath.FromSlash(name))
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	tb.Fatalf("no go.mod above the test (%v)", err)
	return ""
}

// Target returns a host to plan for, in run r1.
func Target(d engine.Desired, f engine.Facts) engine.Target {
	return engine.Target{Host: engine.Host{Name: "w-1"}, Desired: d, Facts: f, Run: "r1"}
}

// Hold writes a hold to the host.
func (b *Box) Hold(kind engine.HoldKind, run string) {
	h := engine.Hold{Schema: engine.HoldSchema, Kind: kind, Holder: "ann@bastion", Run: run, Reason: "test", Acquired: time.Unix(1, 0), Renewed: time.Unix(1, 0)}
	text, err := json.Marshal(h)
	b.Check(err)
	b.Write(engine.HoldPath, string(text))
}

// Want requires this exit status, and this text in the output.
func (b *Box) Want(out engine.Output, code int, says string) {
	b.T.Helper()
	if out.Code != code || !strings.Contains(out.Stdout+out.Stderr, says) {
		b.T.Fatalf("got exit status %d; want exit status %d and %q in the output; output:\n%s%s\nlog:\n%s", out.Code, code, says, out.Stdout, out.Stderr, b.Log())
	}
}

// OrderOf returns the script of the step that orders a reboot.
func OrderOf(steps []engine.Step) string {
	return steps[slices.IndexFunc(steps, func(s engine.Step) bool { return s.Reboots })].Do.Exec.Script.String()
}

// By returns a run as the owner of a hold. The owner has no identity of a bastion.
func By(run string) engine.HoldOwner { return engine.HoldOwner{Run: run} }

// HostPaths removes Root from the paths in a text, so that they look like paths on
// a real host.
func (b *Box) HostPaths(text string) string { return strings.ReplaceAll(text, b.Root, "") }

// TheirHold is a maintenance hold of a person.
const TheirHold = `{"schema":1,"kind":"maintenance","holder":"bob@b2","run":"m-1","reason":"DIMM swap"}`

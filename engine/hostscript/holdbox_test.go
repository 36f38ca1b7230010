package hostscript_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/pathtest"
)

// box imitates the file system of a host for hold scripts. Its systemctl keeps
// the state of units in files.
type box struct {
	t    *testing.T
	root string
	path string
}

const systemctl = `#!/bin/sh
cmd=$1; shift
[ "$1" = --quiet ] && shift
printf '%s %s\n' "$cmd" "$*" >>"$BOX/log"
case $cmd in
cat) [ -e "$BOX/unit/$1" ] ;;
is-active) [ -e "$BOX/active/$1" ] ;;
is-enabled) [ -e "$BOX/unit/$1" ] ;;
stop) rm -f "$BOX/active/$1" ;;
start) [ ! -e "$BOX/var/lib/holdfast/hold.json" ] && : >"$BOX/active/$1" ;;
daemon-reload) ;;
show) case $* in
	--property=ActiveState*.service) [ ! -e "$BOX/active/$3" ] || cat "$BOX/active/$3"; exit ;;
	esac
	[ ! -e "$BOX/soft-reboots" ] || printf 'Version=257\nSoftRebootsCount=%s\n' "$(cat "$BOX/soft-reboots")" ;;
esac
`

func newBox(t *testing.T) *box {
	t.Helper()
	b := &box{t: t, root: t.TempDir()}
	for _, dir := range []string{"bin", "unit", "active", "var/lib", "etc/systemd/system", "run/systemd/system"} {
		check(t, os.MkdirAll(filepath.Join(b.root, dir), 0o755))
	}
	b.tool("systemctl", systemctl)
	b.tool("systemd-run", "#!/bin/sh\nprintf '%s\\n' \"systemd-run $*\" >>\"$BOX/log\"\n")
	b.tool("systemd-inhibit", "#!/bin/sh\n")
	b.path = b.root + "/bin:" + pathtest.Tools()
	return b
}

func (b *box) tool(name, script string) {
	check(b.t, os.WriteFile(filepath.Join(b.root, "bin", name), []byte(script), 0o755))
}

// unit makes a unit that is installed, enabled and active.
func (b *box) unit(name string) {
	check(b.t, os.WriteFile(filepath.Join(b.root, "unit", name), nil, 0o644))
	check(b.t, os.WriteFile(filepath.Join(b.root, "active", name), nil, 0o644))
}

func (b *box) active(name string) bool {
	_, err := os.Stat(filepath.Join(b.root, "active", name))
	return err == nil
}

// run executes a script with its absolute paths moved into the box.
func (b *box) run(script string) (stdout, stderr string, code int) {
	b.t.Helper()
	for _, dir := range []string{"/var/lib/holdfast", "/etc/motd.d", "/etc/systemd/system", "/run/systemd/system"} {
		script = strings.ReplaceAll(script, dir, b.root+dir)
	}
	script += "\n:\n"                             // bash execs a last command without a fork, and killAt would then kill the test
	file, err := os.CreateTemp(b.root, "script-") // a file, because the length of an argument is limited
	check(b.t, err)
	_, err = file.WriteString(script)
	check(b.t, errors.Join(err, file.Close()))
	cmd := exec.Command(pathtest.Shell(), file.Name())
	cmd.Env = []string{"PATH=" + b.path, "BOX=" + b.root, "TMPDIR=" + b.root}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func (b *box) mustRun(script string) string {
	b.t.Helper()
	out, errs, code := b.run(script)
	if code != 0 || errs != "" {
		b.t.Fatalf("exit status %d: %s%s", code, out, errs)
	}
	return out
}

func (b *box) mustBeRefused(script string) string {
	b.t.Helper()
	out, errs, code := b.run(script)
	if code != hostscript.ScriptHeld || !strings.Contains(errs, "hold: ") {
		b.t.Fatalf("exit status %d, want %d: %s%s", code, hostscript.ScriptHeld, out, errs)
	}
	return out
}

// hold reads the hold file. It returns nil if the file does not exist.
func (b *box) hold() *engine.Hold {
	b.t.Helper()
	text, err := os.ReadFile(b.root + engine.HoldPath)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	check(b.t, err)
	return readHold(b.t, string(text))
}

func readHold(t *testing.T, text string) *engine.Hold {
	t.Helper()
	var h engine.Hold
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return &h
}

func (b *box) motd() string {
	text, err := os.ReadFile(b.root + "/etc/motd.d/holdfast")
	if err != nil {
		return ""
	}
	return string(text)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ownerOf returns the owner for a run of a bastion without an identity.
func ownerOf(run string) engine.HoldOwner { return engine.HoldOwner{Run: run} }

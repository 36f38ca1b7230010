package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine"
)

// box is a host's file system as far as hold scripts see it, with a systemctl
// that keeps the state of units in files.
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
esac
`

func newBox(t *testing.T) *box {
	t.Helper()
	b := &box{t: t, root: t.TempDir()}
	for _, dir := range []string{"bin", "unit", "active", "var/lib", "etc/systemd/system"} {
		check(t, os.MkdirAll(filepath.Join(b.root, dir), 0o755))
	}
	b.tool("systemctl", systemctl)
	b.path = b.root + "/bin:" + os.Getenv("PATH")
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
	for _, dir := range []string{"/var/lib/holdfast", "/etc/motd.d", "/etc/systemd/system"} {
		script = strings.ReplaceAll(script, dir, b.root+dir)
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = []string{"PATH=" + b.path, "BOX=" + b.root, "TMPDIR=" + b.root}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func (b *box) must(script string) string {
	b.t.Helper()
	out, errs, code := b.run(script)
	if code != 0 || errs != "" {
		b.t.Fatalf("exit status %d: %s%s", code, out, errs)
	}
	return out
}

func (b *box) refused(script string) string {
	b.t.Helper()
	out, errs, code := b.run(script)
	if code != engine.ScriptHeld || !strings.Contains(errs, "hold: ") {
		b.t.Fatalf("exit status %d, want %d: %s%s", code, engine.ScriptHeld, out, errs)
	}
	return out
}

// hold reads the hold file; nil if there is none.
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

const hour = engine.Duration(time.Hour)

func runHold(run string) engine.Hold {
	return engine.Hold{Kind: engine.RunHold, Holder: "ann@bastion", Run: run, Reason: "os 1.0 → 2.0"}
}

func TestHoldIsTakenOnceAndReleasedByItsRun(t *testing.T) {
	b := newBox(t)
	start := time.Now().UTC().Truncate(time.Second)
	got := readHold(t, b.must(engine.HoldScript(runHold("r1"), hour, "")))
	if got.Run != "r1" || got.Kind != engine.RunHold || got.Reason != "os 1.0 → 2.0" || got.Acquired.Before(start) {
		t.Fatalf("hold is %+v", got)
	}
	if lasts := got.Expires.Sub(got.Renewed); lasts != time.Hour {
		t.Errorf("lasts %s", lasts)
	}
	if m := b.motd(); !strings.Contains(m, `held by ann@bastion for "os 1.0 → 2.0" since 2`) || strings.Count(m, "\n") != 1 {
		t.Errorf("motd: %q", m)
	}
	for path, mode := range map[string]os.FileMode{engine.StateDir: 0o700 | os.ModeDir, engine.HoldPath: 0o600, engine.StateDir + "/motd": 0o600} {
		if info, err := os.Stat(b.root + path); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v %v, want %v", path, info.Mode(), err, mode)
		}
	}

	for _, script := range []string{
		engine.HoldScript(runHold("r2"), hour, ""), engine.HoldScript(runHold("r2"), hour, "r3"),
		engine.HoldScript(runHold(""), hour, ""), engine.ReleaseScript("r2"), engine.ReleaseScript(""),
		engine.RenewScript("r2", hour), engine.FailHoldScript("r2", "x", "y"), engine.CheckHoldSnippet("r2"), engine.CheckFreeSnippet("r2"),
	} {
		if other := readHold(t, b.refused(script)); other.Run != "r1" {
			t.Errorf("printed %+v", other)
		}
	}
	b.must(engine.CheckHoldSnippet("r1"))
	b.must(engine.CheckFreeSnippet("r2", "r1"))

	b.must(engine.ReleaseScript("r1"))
	if b.hold() != nil || b.motd() != "" {
		t.Error("something is left after release")
	}
	b.must(engine.ReleaseScript("r1"))
	b.must(engine.CheckFreeSnippet("r1"))
	b.refused(engine.CheckHoldSnippet("r1"))
	b.refused(engine.RenewScript("r1", hour))
	b.must(engine.HoldScript(runHold("r2"), hour, ""))
}

func TestHoldIsAdoptedFromTheRunThatWasNamedOnly(t *testing.T) {
	b := newBox(t)
	b.must(engine.HoldScript(runHold("r1"), hour, ""))
	if h := readHold(t, b.must(engine.HoldScript(runHold("r2"), hour, "r1"))); h.Run != "r2" {
		t.Errorf("hold is %+v", h)
	}
	b.refused(engine.HoldScript(runHold("r3"), hour, "r1"))
	b.must(engine.ReleaseScript("r2"))

	maintenance := runHold("m1")
	maintenance.Kind, maintenance.Ticket = engine.MaintenanceHold, "OPS-7"
	h := readHold(t, b.must(engine.HoldScript(maintenance, 0, "")))
	if !h.Expires.IsZero() || h.Ticket != "OPS-7" || !strings.Contains(b.motd(), "(OPS-7)") {
		t.Errorf("hold is %+v, motd %q", h, b.motd())
	}
	b.refused(engine.HoldScript(runHold("r3"), hour, "m1"))
}

func TestHoldIsRenewedAndMarkedAsFailed(t *testing.T) {
	b := newBox(t)
	first := readHold(t, b.must(engine.HoldScript(runHold("r1"), hour, "")))
	h := readHold(t, b.must(engine.RenewScript("r1", 2*hour)))
	if h.Expires.Sub(h.Renewed) != 2*time.Hour || !h.Acquired.Equal(first.Acquired) || h.Reason != first.Reason {
		t.Errorf("renewed: %+v", h)
	}
	for range 2 { // the second replaces the first
		h = readHold(t, b.must(engine.FailHoldScript("r1", "unit \"x\" failed\n\\ again", "wait for units")))
		if h.Reason != "unit \"x\" failed\n\\ again" || h.Step != "wait for units" || !h.Expires.IsZero() || !h.Acquired.Equal(first.Acquired) {
			t.Errorf("failed: %+v", h)
		}
	}
	if h = readHold(t, b.must(engine.RenewScript("r1", hour))); !h.Expires.IsZero() {
		t.Errorf("renewing gave a failed hold an end: %+v", h)
	}
	if h = readHold(t, b.must(engine.HoldScript(runHold("r2"), hour, "r1"))); h.Step != "" || h.Expires.IsZero() {
		t.Errorf("adopted: %+v", h)
	}
}

func TestTextOfAHoldIsNeverTakenForItsOwner(t *testing.T) {
	evil := []string{
		`","run":"r2","x":"`, "line\n\"run\":\"r2\",\nrest", `$(touch "$BOX/pwned")`, "`touch $BOX/pwned`", `'; touch "$BOX/pwned"; '`,
		"\x1b]0;title\a", "\u202egnp", "%s%n\\n\\", "\"stopped\":[\"sshd.service\"]", "\xff\xfe", "", "\x00",
	}
	for _, text := range evil {
		b := newBox(t)
		h := runHold("r1")
		h.Holder, h.Reason, h.Ticket = text, text, text
		script := engine.HoldScript(h, hour, "")
		got := readHold(t, b.must(script))
		if want := strings.ToValidUTF8(text, "\ufffd"); text != "\xff\xfe" && (got.Reason != want || got.Holder != want) {
			t.Errorf("%q became %q, %q", want, got.Reason, got.Holder)
		}
		b.refused(engine.ReleaseScript("r2"))
		b.refused(engine.CheckHoldSnippet("r2"))
		b.must(engine.FailHoldScript("r1", text, text))
		b.refused(engine.ReleaseScript("r2"))
		if m := b.motd(); strings.ContainsAny(m, "\x1b\a\u202e") || strings.Count(m, "\n") != 1 {
			t.Errorf("motd: %q", m)
		}
		b.must(engine.ReleaseScript("r1"))
		if _, err := os.Stat(b.root + "/pwned"); err == nil {
			t.Fatalf("%q was carried out", text)
		}
		if log, _ := os.ReadFile(b.root + "/log"); strings.Contains(string(log), "sshd") {
			t.Errorf("%q reached systemctl: %s", text, log)
		}
	}
}

func TestAHoldFileThatCannotBeReadIsRespected(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "garbage": "\x00\xff{", "cut": "{\n\"kind\":\"run\",\n\"holder\":\"a\",\n"} {
		b := newBox(t)
		check(t, os.MkdirAll(b.root+engine.StateDir, 0o700))
		check(t, os.WriteFile(b.root+engine.HoldPath, []byte(text), 0o600))
		for _, script := range []string{
			engine.HoldScript(runHold("r1"), hour, "r0"), engine.ReleaseScript("r1"), engine.RenewScript("r1", hour),
			engine.FailHoldScript("r1", "", ""), engine.CheckHoldSnippet("r1"), engine.CheckFreeSnippet("r1"), engine.CheckFreeSnippet(),
		} {
			b.refused(script)
			if got, err := os.ReadFile(b.root + engine.HoldPath); err != nil || string(got) != text {
				t.Fatalf("%s: became %q (%v)", name, got, err)
			}
		}
	}
	b := newBox(t)
	check(t, os.MkdirAll(b.root+engine.StateDir, 0o700))
	check(t, os.Symlink("/nowhere", b.root+engine.HoldPath))
	b.refused(engine.HoldScript(runHold("r1"), hour, ""))
	b.refused(engine.CheckFreeSnippet("r1"))
}

func TestRebootHelpersRestWhileAHostIsHeld(t *testing.T) {
	helpers := engine.RebootHelpers()
	b := newBox(t)
	b.unit(helpers[0])
	b.unit(helpers[1])
	check(t, os.Remove(b.root+"/active/"+helpers[1])) // enabled, but does not run
	h := readHold(t, b.must(engine.HoldScript(runHold("r1"), hour, "")))
	if !slices.Equal(h.Stopped, helpers[:1]) || b.active(helpers[0]) {
		t.Fatalf("stopped %v", h.Stopped)
	}
	for i, unit := range helpers {
		text, err := os.ReadFile(b.root + "/etc/systemd/system/" + unit + ".d/50-holdfast.conf")
		if want := "ConditionPathExists=!" + b.root + engine.HoldPath; (err == nil) != (i < 2) || i < 2 && !strings.Contains(string(text), want) {
			t.Errorf("%s: %q %v", unit, text, err)
		}
	}
	h = readHold(t, b.must(engine.HoldScript(runHold("r1"), hour, "")))
	h2 := readHold(t, b.must(engine.HoldScript(runHold("r2"), hour, "r1")))
	h3 := readHold(t, b.must(engine.FailHoldScript("r2", "x", "y")))
	for _, h := range []*engine.Hold{h, h2, h3} {
		if !slices.Equal(h.Stopped, helpers[:1]) {
			t.Errorf("forgot what was stopped: %+v", h)
		}
	}
	b.must(engine.ReleaseScript("r2"))
	if !b.active(helpers[0]) || !b.active(helpers[1]) || b.active(helpers[2]) {
		t.Error("not all helpers that are enabled run again")
	}
	if left, _ := filepath.Glob(b.root + "/etc/systemd/system/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestOfManyThatWantAHoldOneGetsIt(t *testing.T) {
	for _, flock := range []bool{true, false} {
		t.Run(fmt.Sprintf("flock=%v", flock), func(t *testing.T) {
			b := newBox(t)
			if !flock {
				b.withoutFlock()
			}
			var wg sync.WaitGroup
			codes := make([]int, 8)
			for i := range codes {
				wg.Go(func() { _, _, codes[i] = b.run(engine.HoldScript(runHold(fmt.Sprint("r", i)), hour, "")) })
			}
			wg.Wait()
			winners := 0
			for i, code := range codes {
				if code == 0 {
					winners++
					if h := b.hold(); h.Run != fmt.Sprint("r", i) {
						t.Errorf("r%d won, %s has it", i, h.Run)
					}
				}
			}
			if winners != 1 {
				t.Errorf("%d winners: %v", winners, codes)
			}
		})
	}
}

// withoutFlock leaves only the other tools in the box's PATH.
func (b *box) withoutFlock() {
	for _, name := range []string{"sh", "mkdir", "rm", "rmdir", "date", "cat", "sync", "ln", "mv", "printf"} {
		real, err := exec.LookPath(name)
		check(b.t, err)
		check(b.t, os.Symlink(real, filepath.Join(b.root, "bin", name)))
	}
	b.path = b.root + "/bin"
}

// A power cut is imitated by killing the script at its nth command.
func TestAPowerCutLeavesNoHoldOrAWholeOne(t *testing.T) {
	scripts := map[string]string{
		"take":    engine.HoldScript(runHold("r1"), hour, ""),
		"adopt":   engine.HoldScript(runHold("r1"), hour, "r0"),
		"renew":   engine.RenewScript("r0", hour),
		"fail":    engine.FailHoldScript("r0", "reason", "step"),
		"release": engine.ReleaseScript("r0"),
	}
	helper := engine.RebootHelpers()[0]
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n++ {
				b := newBox(t)
				b.unit(helper)
				if name != "take" {
					b.must(engine.HoldScript(runHold("r0"), hour, ""))
				}
				b.killAt(n)
				_, _, code := b.run(script)
				b.path = b.root + "/bin:" + os.Getenv("PATH")
				h := b.hold()
				if h == nil && name != "take" && name != "release" {
					t.Fatalf("killed at command %d: the hold is gone", n)
				}
				for _, run := range []string{"r0", "r1"} {
					if h != nil && h.Run == run {
						b.must(engine.ReleaseScript(run))
					}
				}
				b.must(engine.ReleaseScript("r1"))
				if !b.active(helper) {
					t.Fatalf("killed at command %d: %s does not run again after the release", n, helper)
				}
				if code == 0 {
					if n < 4 {
						t.Fatalf("only %d commands were seen", n)
					}
					return
				}
			}
		})
	}
}

// killAt puts wrappers in front of the commands that change something; the
// nth call kills the shell that made it.
func (b *box) killAt(n int) {
	dir := filepath.Join(b.root, "kill")
	check(b.t, os.MkdirAll(dir, 0o755))
	for _, name := range []string{"mkdir", "rm", "rmdir", "sync", "ln", "mv", "systemctl", "cat"} {
		real, err := exec.LookPath(name)
		if name == "systemctl" {
			real, err = b.root+"/bin/systemctl", nil
		}
		check(b.t, err)
		wrapper := fmt.Sprintf("#!/bin/sh\nprintf x >>%[1]s/count\nread -r c <%[1]s/count || :\n[ ${#c} -ne %[2]d ] || { kill -9 $PPID; exit 1; }\nexec %[3]s \"$@\"\n", dir, n, real)
		check(b.t, os.WriteFile(filepath.Join(dir, name), []byte(wrapper), 0o755))
	}
	b.path = dir + ":" + b.path
}

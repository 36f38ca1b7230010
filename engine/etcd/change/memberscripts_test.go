package change

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/setting"
	"holdfast/engine/pathtest"
)

var testOwner = engine.HoldOwner{Run: "r1", Bastion: "b1"}

// box is the file system of a host as the scripts see it, under the hold of testOwner.
type box struct {
	t       *testing.T
	root    string
	members engine.ManagedMembers
	input   string // of scripts
	path    string // folders to put in front of PATH
}

func newBox(t *testing.T) *box {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	b := &box{t: t, root: root, members: engine.ManagedMembers{DataDir: root + "/etcd/default", Unit: "etcd.service"}}
	for _, dir := range []string{"bin", "etcd", "var/lib/holdfast", "etc/systemd/system"} {
		check(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	b.write("var/lib/holdfast/hold.json", "{\n\"schema\":1,\n\"kind\":\"run\",\n\"run\":\"r1\",\n\"bastion\":\"b1\",\n\"reason\":\"\"\n}\n")
	b.write("var/lib/holdfast/etcd-member", string(membership.Removing)+"\n")
	b.addTool("systemctl", "exit 0")
	b.addTool("mountpoint", "exit 1")
	b.addTool("date", `n=0; [ ! -e "`+root+`/clock" ] || read -r n <"`+root+`/clock"; n=$((n + 1)); echo "$n" >"`+root+`/clock"; echo "$n"`) // a second for each call
	b.addTool("df", "printf '%s\\n' 'Filesystem 1024-blocks Used Available' 'disk 9999999 1 9999998'")
	return b
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *box) write(name, text string) {
	path := filepath.Join(b.root, name)
	check(b.t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
}

func (b *box) addTool(name, body string) {
	path := filepath.Join(b.root, "bin", name)
	check(b.t, os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755))
}

// run executes a script, and returns the exit status and both outputs.
func (b *box) run(s Script) (int, string) {
	b.t.Helper()
	script := s.Text
	for _, dir := range []string{"/var/lib/holdfast", "/etc/systemd/system"} {
		script = strings.ReplaceAll(script, dir, b.root+dir)
	}
	script = strings.ReplaceAll(script, "\nroot=''\n", "\nroot='"+b.root+"'\n") // of the scripts of package pki
	ctx, cancel := context.WithTimeout(b.t.Context(), 6*time.Minute)            // no script may wait for ever; a busy machine needs minutes for some
	defer cancel()
	cmd := exec.CommandContext(ctx, pathtest.Shell(), "-c", script)
	cmd.Stdin = strings.NewReader(b.input)
	cmd.Env = []string{"PATH=" + b.path + b.root + "/bin:" + pathtest.Tools()}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func (b *box) list(dir string) []string {
	entries, err := os.ReadDir(filepath.Join(b.root, dir))
	check(b.t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestPreflightStaysInFolder: an account that owns the folder of the data directory cannot lead the test of the disk
// elsewhere, and no failed test leaves a file.
func TestPreflightStaysInFolder(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	if code, out := b.run(preflightScript(b.members)); code != 0 || !strings.HasPrefix(out, "sync ") || len(b.list("etcd")) != 0 {
		t.Fatal(code, out, b.list("etcd"))
	}
	b.addTool("dd", "exit 1")
	if code, out := b.run(preflightScript(b.members)); code != 1 || !strings.Contains(out, "cannot be written to") || len(b.list("etcd")) != 0 {
		t.Error(code, out, b.list("etcd"))
	}
	b.addTool("dd", `ls -A . >>"`+b.root+`/names"; echo "2048 bytes (2.0 kB, 2.0 KiB) copied, 0.0125 s, 164 kB/s" >&2`)
	for range 2 {
		if code, out := b.run(preflightScript(b.members)); code != 0 || out != "sync 0.0125 9\n" {
			t.Error(code, out)
		}
	}
	names, err := os.ReadFile(b.root + "/names")
	check(t, err)
	lines := strings.Fields(string(names))
	slices.Sort(lines)
	if lines = slices.Compact(lines); len(lines) != 2 || len(lines[0]) < 32 {
		t.Errorf("the names of the test files can be guessed: %q", lines)
	}
	check(t, errors.Join(os.Rename(b.root+"/etcd", b.root+"/elsewhere"), os.Symlink("elsewhere", b.root+"/etcd")))
	if code, out := b.run(preflightScript(b.members)); code != 1 || !strings.Contains(out, "is a link") {
		t.Error(code, out)
	}
}

// TestSetAsideFails: the record of a removal stays while the data are there, also where mv reports no error.
func TestSetAsideFails(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("etcd/default/member/snap/db", "data")
	b.addTool("mv", "exit 0") // as mv -n of older coreutils if the new name exists
	if code, out := b.run(setAsideScript(testOwner, b.members)); code != 1 || !strings.Contains(out, "cannot be renamed") {
		t.Error(code, out)
	}
	if got := b.list("var/lib/holdfast"); !strings.Contains(strings.Join(got, " "), "etcd-member") {
		t.Error("the record is gone:", got)
	}
	check(t, os.Remove(b.root+"/bin/mv"))
	if code, out := b.run(setAsideScript(testOwner, b.members)); code != 0 || !strings.Contains(out, "/etcd/default.removed-") {
		t.Error(code, out)
	}
	if got := b.list("var/lib/holdfast"); strings.Contains(strings.Join(got, " "), "etcd-member") {
		t.Error("the record is left:", got)
	}
}

// TestProbeOfOddDataDir checks that a path of another type than a directory does not count as absence of data, which would
// prove that a member is dead.
func TestProbeOfOddDataDir(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	if code, out := b.run(probeScript(b.members)); code != 0 || strings.Contains(out, "data") {
		t.Error(code, out)
	}
	for name, put := range map[string]func(string) error{
		"file":          func(path string) error { return os.WriteFile(path, nil, 0o644) },
		"dangling link": func(path string) error { return os.Symlink("nowhere", path) },
		"link":          func(path string) error { return os.Symlink("..", path) },
	} {
		check(t, put(b.members.DataDir))
		if code, out := b.run(probeScript(b.members)); code == 0 {
			t.Errorf("%s: %s", name, out)
		}
		check(t, os.Remove(b.members.DataDir))
	}
}

// TestSyncsAreDescribed: a host can print anything.
func TestSyncsAreDescribed(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		"sync 0.00346 200\n":  "p99 of 200 synced writes 3.5 ms; etcd advises less than 10 ms",
		"sync 3.45e-05 200\n": "p99 of 200 synced writes 0.0 ms; etcd advises less than 10 ms",
		"":                    "the time of synced writes is not known",
		"sync NaN 200":        "the time of synced writes is not known",
		"sync 1e300 200":      "the time of synced writes is not known",
		"sync -1 200":         "the time of synced writes is not known",
		"sync copied 200":     "the time of synced writes is not known",
	} {
		if got := describeSyncs(output); got != want {
			t.Errorf("%q: %s", output, got)
		}
	}
}

// TestFounderJoinsFromThenOn: once the first member votes, its host can no longer found a cluster of its own, even if somebody
// removes its data. Its etcd is not restarted for that.
func TestFounderJoinsFromThenOn(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	settings := settingsText{name: "etcd-0", managed: b.members, peerURL: "http://h", cluster: "etcd-0=http://h", state: "new", token: "new"}
	b.write("var/lib/holdfast/etcd-member", string(membership.Creating)+"\n")
	if code, out := b.run(startScript(testOwner, settings, setting.Wanted{})); code != 0 {
		t.Fatal(code, out)
	}
	b.addTool("systemctl", `echo "$@" >>"`+b.root+`/calls"`)
	settings.state = "existing"
	for range 2 {
		if code, out := b.run(forgetScript(testOwner, b.members)); code != 0 {
			t.Fatal(code, out)
		}
		if text, err := os.ReadFile(b.root + "/var/lib/holdfast/etcd-member.env"); err != nil || string(text) != settings.String() {
			t.Errorf("%s, %v", text, err)
		}
	}
	if text, err := os.ReadFile(b.root + "/calls"); err == nil {
		t.Errorf("systemctl %s", text)
	}
	if names := strings.Join(b.list("var/lib/holdfast"), " "); strings.Contains(names, "new") || strings.Contains(names, "etcd-member ") {
		t.Error(names)
	}
}

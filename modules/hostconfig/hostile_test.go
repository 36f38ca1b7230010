package hostconfig

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/observe/observetest"
	"holdfast/modules/hostconfig/record"
	"holdfast/modules/moduletest"
)

// hostileSite returns a host with a directory that everybody can write to, and a
// write that changes this directory. Files of root elsewhere have the same names.
func hostileSite(t *testing.T) (*writeBox, hostWrite) {
	b := newWriteBox(t)
	b.Put("/srv/app/changed.conf", "old\n", 0o644)
	b.Put("/srv/app/gone.conf", "gone\n", 0o644)
	b.Put("/srv/app/original.conf", "ours\n", 0o644)
	b.Put("/var/lib/holdfast/originals/"+record.OriginalName("/srv/app/original.conf"), "original\n", 0o644)
	b.Link("/srv/app/link", "old")
	b.Mkdir("/srv/app/dir")
	b.Mkdir("/srv/app/root")
	for _, name := range []string{"changed.conf", "gone.conf", "original.conf", "new.conf", "link", "hard", "dir/x", "made/y", "secret"} {
		b.Put("/root/"+name, observetest.Secret, 0o600)
	}
	for _, dir := range []string{"/srv", "/srv/app", "/srv/app/dir"} {
		b.Check(os.Chmod(b.At(dir), 0o777))
	}
	w := b.planWrite(contents{"/srv/app/changed.conf": "new\n", "/srv/app/new.conf": "new\n", "/srv/app/made/y": "y\n", "/srv/app/dir/x": "x\n", "/etc/z": "z\n"},
		testEdit{path: "/srv/app/changed.conf", kind: resource.PathFile, mode: 0o640, save: true},
		writtenFile("/srv/app/new.conf"), writtenFile("/srv/app/made/y"), writtenFile("/etc/z"),
		testEdit{path: "/srv/app/link", kind: resource.PathLink, data: "new"},
		testEdit{path: "/srv/app/hard", kind: resource.PathLink, hard: true, data: "/srv/app/new.conf"},
		testEdit{path: "/srv/app/dir", kind: resource.PathDirectory, mode: 0o755},
		writtenFile("/srv/app/dir/x"),
		testEdit{path: "/srv/app/original.conf", mode: -1, restore: true},
		removedPath("/srv/app/gone.conf"))
	return b, w
}

// rootOwned lists the files of root that no other account may change or read.
func (b *writeBox) rootOwned() string {
	b.T.Helper()
	var list strings.Builder
	b.Check(filepath.WalkDir(b.At("/root"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		fmt.Fprintf(&list, "%s %+v %v\n", path, b.Node(strings.TrimPrefix(path, b.Root)), info.ModTime())
		return err
	}))
	return list.String()
}

// leakedFiles lists the files that contain the secret and that other accounts can
// read.
func (b *writeBox) leakedFiles() []string {
	b.T.Helper()
	var list []string
	b.Check(filepath.WalkDir(b.Root, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, b.Root)
		switch {
		case err != nil:
			return err
		case name == "/root", name == "/var/lib/holdfast":
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), observetest.Secret) {
			list = append(list, name)
		}
		return nil
	}))
	return list
}

// An account acts in its own directory at any moment of a write. Root must not
// write or read elsewhere, must not wait, and the next write must finish. The
// same holds while a failed write is undone. By default each kind of action
// happens once, at a moment of its own, during a write that fails, which includes
// all steps of a successful write. Some kinds also happen during a successful
// write. Quick tests have two kinds of action.
func TestWritesAreSafeOnHostileGround(t *testing.T) {
	for _, fails := range []bool{false, true} {
		for i, how := range slices.Sorted(maps.Keys(observetest.Meddlers)) {
			if !fails && i%4 != 0 && !longtest.On() || !longtest.Slow() && (!fails || i != 1) {
				continue
			}
			t.Run(fmt.Sprintf("%s, fails %v", how, fails), func(t *testing.T) {
				t.Parallel()
				n := longtest.Pick(1+13*i, 1)
				if !meddledWrite(t, how, n, fails) {
					t.Fatalf("the write has not run %d programs", n)
				}
				for n++; longtest.On() && meddledWrite(t, how, n, fails); n++ {
				}
			})
		}
	}
}

// meddledWrite lets the account act before program n of a write. It reports
// whether the write has run n programs.
func meddledWrite(t *testing.T, how string, n int, fails bool) bool {
	t.Helper()
	b, w := hostileSite(t)
	if fails {
		w.units = []unitEdit{{name: "x.service", do: "enable"}}
		b.Put("/no-x.service", "", 0o644)
	}
	observetest.Meddling{How: how, Before: n}.Prepare(t, b.Root, func(path, text string) { b.Put(path, text, 0o755) })
	b.Path = b.At("/meddled") + ":"
	before := b.rootOwned()
	out := b.write(w)
	what := fmt.Sprintf("%s before program %d", how, n)
	switch out.Code {
	case 0, hostscript.ScriptCannot, hostscript.ScriptChanged, 1:
	default:
		t.Errorf("%s: exit status %d\n%s", what, out.Code, out.Stderr)
	}
	if after := b.rootOwned(); after != before {
		t.Errorf("%s: what is root's has changed\n%s\n%s", what, moduletest.DifferingLinesOf(before, after), out.Stderr)
	}
	if leaked := b.leakedFiles(); len(leaked) > 0 || strings.Contains(out.Stdout+out.Stderr, observetest.Secret) {
		t.Errorf("%s: the secret is in %v\n%s", what, leaked, out.Stderr)
	}
	if observetest.CountPrograms(t, b.Root) < n {
		return false
	}
	// From now on the account does nothing, and somebody cleans up.
	b.Path = ""
	b.Check(os.RemoveAll(b.At("/srv")))
	b.Check(os.MkdirAll(b.At("/srv/app"), 0o777))
	data := contents{"/srv/app/new.conf": "after\n"}
	if out := b.write(b.planWrite(data, writtenFile("/srv/app/new.conf"))); out.Code != 0 || b.Read("/srv/app/new.conf") != "after\n" {
		t.Errorf("%s: the next write: %d %s", what, out.Code, out.Stderr)
	}
	return true
}

// A home is not created below a directory in which an account could swap the
// parent of the home meanwhile.
func TestHomesAreMadeOnFirmGroundOnly(t *testing.T) {
	longtest.SkipSlow(t)
	for home, says := range map[string]string{
		"/srv/app/ann":     "would be made in a directory that others than root can change",
		"/srv/app/new/ann": "would be made in a directory that others than root can change",
		"/srv/link/ann":    "would be made in a directory that others than root can change",
		"/srv/ours/ann":    "",
		"/data/ann":        "",
		"/ann":             "",
	} {
		t.Run(home, func(t *testing.T) {
			b := accountSite(t)
			b.Mkdir("srv/app")
			b.Mkdir("srv/ours")
			b.Link("/srv/link", "app")
			b.Link("/data", "srv/ours")
			b.Check(os.Chmod(b.At("/srv/app"), 0o777))
			out := b.write(b.accountWrite(nil, loginEdit{want: resource.User{Name: "ann", Account: resource.Account{HomeDir: home}}, account: true}))
			if says == "" {
				b.Want(out, 0, "")
			} else {
				b.Want(out, hostscript.ScriptCannot, says)
			}
			if made := strings.Contains(b.Log(), "useradd"); made != (says == "") {
				t.Errorf("useradd was called: %v", made)
			}
		})
	}
}

// A process that runs as a user may keep every open file that it gets, and may
// print without end.
func TestSSHKeysDoNotWaitForTheirUser(t *testing.T) {
	longtest.SkipSlow(t)
	for name, runuser := range map[string]string{
		"stays":  "(trap '' TERM; exec sleep 300) & exit 0\n",
		"floods": "exec cat /dev/zero\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := accountSite(t)
			b.AddTool("runuser", runuser)
			b.AddTool("sleep", "exec "+observetest.ToolPath(t, "sleep")+" \"$@\"\n")
			b.AddTool("timeout", "[ $1 != -k ] || shift 2; shift; exec "+observetest.ToolPath(t, "timeout")+" -k 1 3 \"$@\"\n")
			b.Check(os.Remove(b.At("/bin/sleep")))
			w := b.accountWrite(nil, loginEdit{want: resource.User{Name: "core", SSHKeys: []string{"ssh-rsa K"}}, was: &core, keys: true})
			began := time.Now()
			out := b.write(w)
			if took := time.Since(began); took > 60*time.Second {
				t.Errorf("%v", took)
			}
			t.Logf("%d %q", out.Code, out.Stderr)
			if next := b.write(b.planWrite(contents{}, writtenFile("/etc/x"))); next.Code == hostscript.ScriptHeld {
				t.Errorf("the lock is held on to: %s", next.Stderr)
			}
		})
	}
}

// Reading SSH keys ends even if the file is a pipe or very large.
func TestKeysScriptReadsNoPipesAndNoFloods(t *testing.T) {
	for name, prepare := range map[string]func(b *writeBox){
		"pipe": func(b *writeBox) { b.Check(syscall.Mkfifo(b.At("/home/core/.ssh/authorized_keys"), 0o600)) },
		"large": func(b *writeBox) {
			b.Put("/home/core/.ssh/authorized_keys", "", 0o600)
			b.Check(os.Truncate(b.At("/home/core/.ssh/authorized_keys"), 10<<30))
		},
		"largest": func(b *writeBox) {
			b.Put("/home/core/.ssh/authorized_keys", "", 0o600)
			b.Check(os.Truncate(b.At("/home/core/.ssh/authorized_keys"), 1<<20))
		},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "pipe")
			t.Parallel()
			b := accountSite(t)
			_ = os.Remove(b.At("/home/core/.ssh/authorized_keys"))
			b.Mkdir("home/core/.ssh")
			prepare(b)
			out := b.write(b.accountWrite(nil, loginEdit{want: resource.User{Name: "core", SSHKeys: []string{"ssh-rsa K"}}, was: &core, keys: true}))
			switch {
			case name == "large":
				b.Want(out, hostscript.ScriptHalfDone, "has more than 1 MiB; remove some by hand") // the undo is refused, too
			case name == "largest" && out.Code != 0,
				out.Code != 0 && out.Code != hostscript.ScriptHalfDone && out.Code != hostscript.ScriptCannot:
				t.Errorf("%d %s", out.Code, out.Stderr)
			}
		})
	}
}

// A killed write has left the list of its rooms. Somebody has made a directory
// with the name of a room since: it stays, and the next write does its work.
func TestADirectoryNamedLikeARoomStays(t *testing.T) {
	t.Parallel()
	b := newWriteBox(t)
	b.Mkdir("var/lib/holdfast/tx/r0")
	b.Put("/var/lib/holdfast/tx/r0/rooms", ".holdfast-1\ntoken\n/srv\n", 0o600)
	b.Put("/srv/.holdfast-1/theirs", "theirs", 0o644)
	b.Want(b.write(b.planWrite(contents{"/etc/x": "new"}, writtenFile("/etc/x"))), 0, "")
	if b.Read("/etc/x") != "new" || b.Read("/srv/.holdfast-1/theirs") != "theirs" || b.Exists("var/lib/holdfast/tx/r0") {
		t.Error("the write is incomplete, or has removed files of others")
	}
}

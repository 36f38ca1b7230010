package hostconfig

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/modules/moduletest"
)

// meddlers are actions of an account in a directory that everybody can write
// to, $D, that try to make root read or write $S, which belongs to root. They
// run right before a program of root.
var meddlers = map[string]string{
	// A file that the write has created leads elsewhere.
	"rooms": `for r in $D/.holdfast-*; do [ -e $r ] || continue; mv $r $D/away; ln -s $S $r; done`,
	// A predictable name is a link already.
	"guess": `for f in changed.conf new.conf original.conf; do ln -s $S/$f $D/.holdfast-$(printf %s /srv/app/$f | sha256sum | cut -c1-16); done`,
	// The directory itself leads elsewhere.
	"directory": `mv $D $D.away; ln -s $S $D`,
	"parent":    `mv $D $D.away; mkdir $D; for f in $D.away/*; do ln -s $S/${f##*/} $D; done`,
	"names":     `for f in $D/*; do rm -rf $f; ln -s $S/${f##*/} $f; done`,
	"pipes":     `for f in $D/*; do rm -rf $f; mkfifo $f; done`,
	"room":      `for r in $D/.holdfast-*; do [ -d $r ] || continue; mv $r $D/away; mkdir -m 0777 $r; for f in $D/away/*; do ln -s $S/new.conf $r/${f##*/}; done; done`,
	"swap":      `mv $D/dir $D/other; mv $D/root $D/dir`,
}

// meddled are the programs that use paths.
var meddled = []string{"cp", "ln", "mv", "mkdir", "chown", "chmod", "rm", "rmdir", "dd", "tar", "head", "sha256sum", "stat", "readlink", "sync"}

// meddleBefore makes an account do something right before the nth of these
// programs.
func meddleBefore(t *testing.T, write func(path, text string), root, how string, n int) {
	t.Helper()
	write("/attack", strings.NewReplacer("$D", root+"/srv/app", "$S", root+"/root").Replace(meddlers[how])+"\n")
	write("/count", "0\n")
	for _, tool := range meddled {
		write("/meddled/"+tool, "#!/bin/sh\nread n <"+hostscript.Quote(root)+"/count\nn=$((n + 1))\necho $n >"+hostscript.Quote(root)+"/count\n"+
			"[ $n != "+strconv.Itoa(n)+" ] || PATH=/usr/bin:/bin sh "+hostscript.Quote(root)+"/attack 2>/dev/null\nexec "+real(t, tool)+" \"$@\"\n")
	}
}

const secret = "the secret of root"

// hostileSite is a host with a directory that everybody can write to, and that
// a configuration writes to. It has files of root with the same names.
func hostileSite(t *testing.T) (*writeBox, hostWrite) {
	b := newWriteBox(t)
	b.Put("/srv/app/changed.conf", "old\n", 0o644)
	b.Put("/srv/app/gone.conf", "gone\n", 0o644)
	b.Put("/srv/app/original.conf", "ours\n", 0o644)
	b.Put("/var/lib/holdfast/originals/"+originalName("/srv/app/original.conf"), "original\n", 0o644)
	b.Link("/srv/app/link", "old")
	b.Mkdir("/srv/app/dir")
	b.Mkdir("/srv/app/root")
	for _, name := range []string{"changed.conf", "gone.conf", "original.conf", "new.conf", "link", "hard", "dir/x", "made/y", "secret"} {
		b.Put("/root/"+name, secret, 0o600)
	}
	for _, dir := range []string{"/srv", "/srv/app", "/srv/app/dir"} {
		b.Check(os.Chmod(b.At(dir), 0o777))
	}
	w := b.planWrite(contents{"/srv/app/changed.conf": "new\n", "/srv/app/new.conf": "new\n", "/srv/app/made/y": "y\n", "/srv/app/dir/x": "x\n", "/etc/z": "z\n"},
		pathEdit{path: "/srv/app/changed.conf", kind: engine.PathFile, mode: 0o640, save: true},
		writtenFile("/srv/app/new.conf"), writtenFile("/srv/app/made/y"), writtenFile("/etc/z"),
		pathEdit{path: "/srv/app/link", kind: engine.PathLink, data: "new"},
		pathEdit{path: "/srv/app/hard", kind: engine.PathLink, hard: true, data: "/srv/app/new.conf"},
		pathEdit{path: "/srv/app/dir", kind: engine.PathDirectory, mode: 0o755},
		writtenFile("/srv/app/dir/x"),
		pathEdit{path: "/srv/app/original.conf", mode: -1, restore: true},
		removedPath("/srv/app/gone.conf"))
	return b, w
}

// rootOwned lists the files of root that nobody else may change or read.
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

// leakedFiles lists the files with the secret that other accounts can read.
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
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), secret) {
			list = append(list, name)
		}
		return nil
	}))
	return list
}

// At any time and with any action of an account in its directory: root writes
// and reads nothing elsewhere, waits for nothing, and the next write finishes.
// The same holds while a failed write is undone.
func TestWritesAreSafeOnHostileGround(t *testing.T) {
	for _, fails := range []bool{false, true} {
		for i, how := range slices.Sorted(maps.Keys(meddlers)) {
			t.Run(fmt.Sprintf("%s, fails %v", how, fails), func(t *testing.T) {
				t.Parallel()
				stride := longtest.Pick(421, 1)
				for n := 1 + 13*i%stride; ; n += stride {
					if !meddledWrite(t, how, n, fails) {
						break
					}
				}
			})
		}
	}
}

// meddledWrite reports whether the write has run a program with that number.
func meddledWrite(t *testing.T, how string, n int, fails bool) bool {
	t.Helper()
	b, w := hostileSite(t)
	if fails {
		w.units = []unitEdit{{name: "x.service", do: "enable"}}
		b.Put("/no-x.service", "", 0o644)
	}
	meddleBefore(t, func(path, text string) { b.Put(path, text, 0o755) }, b.Root, how, n)
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
	if leaked := b.leakedFiles(); len(leaked) > 0 || strings.Contains(out.Stdout+out.Stderr, secret) {
		t.Errorf("%s: the secret is in %v\n%s", what, leaked, out.Stderr)
	}
	count := strings.TrimSpace(b.Read("/count"))
	if done, err := strconv.Atoi(count); err != nil || done < n {
		return false
	}
	// The account stops, and somebody cleans up.
	b.Path = ""
	b.Check(os.RemoveAll(b.At("/srv")))
	b.Check(os.MkdirAll(b.At("/srv/app"), 0o777))
	data := contents{"/srv/app/new.conf": "after\n"}
	if out := b.write(b.planWrite(data, writtenFile("/srv/app/new.conf"))); out.Code != 0 || b.Read("/srv/app/new.conf") != "after\n" {
		t.Errorf("%s: the next write: %d %s", what, out.Code, out.Stderr)
	}
	return true
}

// hostileProbe is a host with files to probe in a directory that everybody can
// write to.
func hostileProbe(t *testing.T) (gatheredHost, engine.Config) {
	s := newLooked(t)
	s.checkFacts(os.Chmod(s.root, 0o755))
	for _, name := range []string{"app.conf", "other.conf"} {
		s.writeFile("/srv/app/"+name, "theirs\n", 0o644)
		s.writeFile("/root/"+name, secret, 0o600)
	}
	s.writeFile("/root/secret", secret, 0o600)
	s.checkFacts(os.Mkdir(s.root+"/srv/app/dir", 0o755))
	s.checkFacts(os.Mkdir(s.root+"/srv/app/root", 0o755))
	for _, dir := range []string{"/srv", "/srv/app"} {
		s.checkFacts(os.Chmod(s.root+dir, 0o777))
	}
	return s, engine.Config{Files: []engine.File{{Path: "/srv/app/app.conf", Inherit: true, Append: []byte("ours\n")}, aFile("/srv/app/other.conf"), aFile("/srv/app/new.conf")}}
}

// With any action of an account in its directory during a probe, no file of
// root counts as one of the account, and the probe ends.
func TestLooksAreSafeOnHostileGround(t *testing.T) {
	for how := range meddlers {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n += longtest.Pick(13, 1) {
				s, c := hostileProbe(t)
				meddleBefore(t, func(path, text string) { s.writeFile(path, text, 0o755) }, s.root, how, n)
				for _, tool := range meddled {
					s.checkFacts(os.Rename(s.root+"/meddled/"+tool, s.root+"/fake/"+tool))
				}
				f := s.readAnswer(c)
				for path, node := range f.Nodes {
					if strings.Contains(string(node.Contents), "secret") {
						t.Errorf("%s before program %d: %s is %q", how, n, path, node.Contents)
					}
					if node.Contents != nil && engine.Digest(node.Contents) != node.Digest {
						t.Errorf("%s before program %d: %s is not what its digest is of", how, n, path)
					}
				}
				text, err := os.ReadFile(s.root + "/count")
				s.checkFacts(err)
				if count, err := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || count < n {
					return
				}
			}
		})
	}
}

// The target of a link may be any text. No such text counts as another part of
// the output.
func TestTargetsOfLinksAreNoOtherAnswers(t *testing.T) {
	for name, target := range map[string]string{
		"lines":    "x\n./etc/z\t./etc/z -> wanted",
		"headings": "x\n== links\n== fleeting\n== contents\n== originals\n== units\n== states\n== passwd\n== group\n== keys\n== logins\n== record\n== end",
	} {
		t.Run(name, func(t *testing.T) {
			s := newLooked(t)
			s.writeRecord(engine.Record{Schema: engine.RecordSchema})
			s.checkFacts(os.MkdirAll(s.root+"/srv/app", 0o777))
			s.checkFacts(os.Mkdir(s.root+"/etc", 0o755))
			s.checkFacts(os.Symlink("else", s.root+"/etc/z"))
			s.checkFacts(os.Symlink(target, s.root+"/srv/app/link"))
			c := engine.Config{
				Links: []engine.Link{{Path: "/srv/app/link", Target: "x"}, {Path: "/etc/z", Target: "wanted"}},
				Users: []engine.User{{Name: "core"}},
			}
			s.writeFile("/fake/passwd", "core:x:1000:1000::/home/core:/bin/sh\n", 0o644)
			s.writeFile("/fake/ids/core", "core\n", 0o644)
			f := s.mustProbe(c)
			if f.Applied == nil || len(f.Users) != 1 || f.Nodes["/etc/z"].Target != "else" {
				t.Errorf("the link has spoken for the host: %+v", f)
			}
			if is := f.Nodes["/srv/app/link"].Target; is == "x" || !strings.HasPrefix(is, "x") {
				t.Errorf("target %q", is)
			}
		})
	}
}

// The same holds for parent directories that are links.
func TestLinksOnTheWayAreNoOtherAnswers(t *testing.T) {
	s := newLooked(t)
	s.checkFacts(os.MkdirAll(s.root+"/srv/app", 0o777))
	s.checkFacts(os.Symlink(".\n== fleeting\n== contents", s.root+"/srv/app/dir"))
	f := s.mustProbe(engine.Config{Files: []engine.File{aFile("/srv/app/dir/x")}})
	if target := f.Links["/srv/app/dir"]; !strings.HasPrefix(target, ".") || !strings.HasSuffix(target, "contents") {
		t.Errorf("links %q", f.Links)
	}
}

// A home is not created where an account could swap its parent meanwhile.
func TestHomesAreMadeOnFirmGroundOnly(t *testing.T) {
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
			out := b.write(b.accountWrite(nil, loginEdit{want: engine.User{Name: "ann", Account: engine.Account{HomeDir: home}}, account: true}))
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

// A file that was not graded as a file, or only for a moment, is not read by
// its path.
func TestFilesThatComeLateAreReadAsHostile(t *testing.T) {
	for name, late := range map[string]string{
		"before it is graded": "tr",
		"pipe":                "pipe",
	} {
		t.Run(name, func(t *testing.T) {
			s, c := hostileProbe(t)
			file := hostscript.Quote(s.root + "/srv/app/app.conf")
			// It is away, or a pipe, until it is to be read, and is a link by then.
			away := "mv " + file + " " + file + ".away 2>/dev/null\n"
			if late == "pipe" {
				s.checkFacts(os.Remove(s.root + "/srv/app/app.conf"))
				s.checkFacts(syscall.Mkfifo(s.root+"/srv/app/app.conf", 0o644))
				away = ""
			}
			s.writeFile("/fake/xargs", "#!/bin/sh\ncase \"$*\" in *'%f %u %n'*) "+away+" ;; esac\nexec "+real(t, "xargs")+" \"$@\"\n", 0o755)
			s.writeFile("/fake/stat", "#!/bin/sh\ncase \"$*\" in *'-f -c %T'*) rm -f "+file+"; echo theirs >"+file+" ;; esac\nexec "+real(t, "stat")+" \"$@\"\n", 0o755)
			s.writeFile("/fake/head", "#!/bin/sh\ncase \"$*\" in *app.conf*) rm -f "+file+"; mkfifo "+file+"; (sleep 5; timeout 1 sh -c ': >'"+file+") & echo by path >>"+hostscript.Quote(s.root)+"/fake/head-said ;; esac\nexec "+real(t, "head")+" \"$@\"\n", 0o755)
			s.readAnswer(c)
			if said, err := os.ReadFile(s.root + "/fake/head-said"); err == nil {
				t.Errorf("a file of an account was read by its path: %s", said)
			}
		})
	}
}

// A file that its owner can swap is read like any other while nobody swaps it.
func TestFilesOnHostileGroundAreRead(t *testing.T) {
	s, c := hostileProbe(t)
	f := s.mustProbe(c)
	for path, want := range map[string]string{"/srv/app/app.conf": "theirs\n", "/srv/app/other.conf": ""} {
		if n := f.Nodes[path]; string(n.Contents) != want || n.Digest != engine.Digest([]byte("theirs\n")) {
			t.Errorf("%s: %+v", path, n)
		}
	}
}

// Appending does not open a file to others by owner or mode if an account could
// have moved the file of another account there.
func TestAppendingOpensNoFileOfSomebodyElse(t *testing.T) {
	for name, c := range map[string]struct {
		mode int
		file engine.File
		says string
	}{
		"as it is":     {0o600, engine.File{}, ""},
		"less":         {0o644, engine.File{Mode: new(0o600)}, ""},
		"more":         {0o600, engine.File{Mode: new(0o644)}, "would open what is in it"},
		"its owner":    {0o600, engine.File{Owner: engine.Owner{User: strconv.Itoa(os.Getuid())}}, ""},
		"other owner":  {0o600, engine.File{Owner: engine.Owner{User: "4711"}}, "would open what is in it"},
		"other group":  {0o600, engine.File{Owner: engine.Owner{Group: "4711"}}, "would open what is in it"},
		"named owner":  {0o600, engine.File{Owner: engine.Owner{User: "nobody-here"}}, "would open what is in it"},
		"no such file": {0, engine.File{Owner: engine.Owner{User: "4711"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, config := hostileProbe(t)
			s.checkFacts(os.Chmod(s.root+"/srv/app/app.conf", os.FileMode(c.mode)))
			if c.mode == 0 {
				s.checkFacts(os.Remove(s.root + "/srv/app/app.conf"))
			}
			config.Files[0].Mode, config.Files[0].Owner = c.file.Mode, c.file.Owner
			if f := s.readAnswer(config); !strings.Contains(f.Problem, c.says) || (f.Problem == "") != (c.says == "") {
				t.Errorf("problem %q", f.Problem)
			}
		})
	}
}

// A file may become more open if only root can put another file in its place:
// it has no secret of another account.
func TestAppendingMayOpenAFileThatNobodyCanSwap(t *testing.T) {
	s, config := hostileProbe(t)
	for _, dir := range []string{"/srv", "/srv/app"} {
		s.checkFacts(os.Chmod(s.root+dir, 0o755))
	}
	s.checkFacts(os.Chmod(s.root+"/srv/app/app.conf", 0o660))
	config.Files[0].Mode = new(0o664)
	f := s.mustProbe(config)
	if got := f.Nodes["/srv/app/app.conf"]; got.Mode != 0o660 || len(got.Contents) == 0 {
		t.Errorf("mode %o, contents %q", got.Mode, got.Contents)
	}
}

// Keys are not read through links that their user can create, but through links
// of root.
func TestKeysAreReadThroughLinksOfRootOnly(t *testing.T) {
	s := accounts(t)
	s.checkFacts(os.Chmod(s.root, 0o755))
	want := s.mustProbe(people()).Users["core"].Keys
	s.checkFacts(os.Chmod(s.root+"/home/core", 0o777))
	s.checkFacts(os.Rename(s.root+"/home", s.root+"/data"))
	s.checkFacts(os.Symlink("data", s.root+"/home"))
	if keys := s.mustProbe(people()).Users["core"].Keys; len(want) == 0 || len(keys) != len(want) {
		t.Errorf("keys %q, want %q", keys, want)
	}
	s.checkFacts(os.Rename(s.root+"/data/core/.ssh", s.root+"/elsewhere"))
	s.checkFacts(os.Symlink(s.root+"/elsewhere", s.root+"/data/core/.ssh"))
	if f := s.readAnswer(people()); !strings.Contains(f.Problem, "behind a symbolic link in /home/core") {
		t.Errorf("problem %q, users %+v", f.Problem, f.Users)
	}
}

func TestReadScript(t *testing.T) {
	b := newWriteBox(t)
	b.Put("/etc/etcd/pki/peer.key", "key\n", 0o600)
	b.Link("/etc/etcd/peer.key", "pki/peer.key")
	b.Link("/etc/alias", "etcd/../etcd")
	b.Put("/etc/secret", secret, 0o600)
	b.Put("/srv/etcd/peer.key", "their key\n", 0o600)
	b.Check(os.Chmod(b.At("/srv/etcd"), 0o777))
	b.Link("/srv/etcd/link.key", "../../etc/secret")
	b.Link("/srv/etcd/dir", "../../etc")
	b.Check(syscall.Mkfifo(b.At("/srv/etcd/pipe"), 0o600))
	for path, want := range map[string]string{
		"/etc/etcd/pki/peer.key": "key\n", "/etc/etcd/peer.key": "key\n", "/etc/alias/peer.key": "key\n", "/srv/etcd/peer.key": "their key\n",
		"/etc/none": "", "/none/x": "", "/srv/etcd/link.key": "", "/srv/etcd/dir/secret": "", "/srv/etcd/pipe": "",
	} {
		out := b.RunScript(ReadFileScript(path, 1<<20), nil)
		if out.Stdout != want || (out.Code == 0) != (want != "") || out.Code != 0 && out.Stderr == "" {
			t.Errorf("%s: %d %q %q", path, out.Code, out.Stdout, out.Stderr)
		}
	}
}

// A process of a user may keep every file that it was given, and print without
// end.
func TestSSHKeysDoNotWaitForTheirUser(t *testing.T) {
	for name, runuser := range map[string]string{
		"stays":  "(trap '' TERM; exec sleep 300) & exit 0\n",
		"floods": "exec cat /dev/zero\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := accountSite(t)
			b.AddTool("runuser", runuser)
			b.AddTool("sleep", "exec "+real(t, "sleep")+" \"$@\"\n")
			b.AddTool("timeout", "[ $1 != -k ] || shift 2; shift; exec "+real(t, "timeout")+" -k 1 3 \"$@\"\n")
			b.Check(os.Remove(b.At("/bin/sleep")))
			w := b.accountWrite(nil, loginEdit{want: engine.User{Name: "core", SSHKeys: []string{"ssh-rsa K"}}, was: &core, keys: true})
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

// Reading keys ends, also if the file is a pipe, or very large.
func TestKeysScriptReadsNoPipesAndNoFloods(t *testing.T) {
	for name, prepare := range map[string]func(b *writeBox){
		"pipe": func(b *writeBox) { b.Check(syscall.Mkfifo(b.At("/home/core/.ssh/authorized_keys"), 0o600)) },
		"large": func(b *writeBox) {
			b.Put("/home/core/.ssh/authorized_keys", "", 0o600)
			b.Check(os.Truncate(b.At("/home/core/.ssh/authorized_keys"), 10<<30))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := accountSite(t)
			_ = os.Remove(b.At("/home/core/.ssh/authorized_keys"))
			b.Mkdir("home/core/.ssh")
			prepare(b)
			out := b.write(b.accountWrite(nil, loginEdit{want: engine.User{Name: "core", SSHKeys: []string{"ssh-rsa K"}}, was: &core, keys: true}))
			if name == "large" {
				b.Want(out, 1, "has more than 1 MiB; remove some by hand")
			} else if out.Code != 0 && out.Code != 1 && out.Code != hostscript.ScriptCannot {
				t.Errorf("%d %s", out.Code, out.Stderr)
			}
		})
	}
}

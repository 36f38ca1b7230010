package observe_test

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/observe"
	"holdfast/modules/hostconfig/observe/observetest"
	"holdfast/modules/moduletest"
)

// hostileProbe returns a host with files to probe in a directory that everybody
// can write to.
func hostileProbe(t *testing.T) (observetest.Host, resource.Config) {
	s := observetest.NewHost(t)
	s.Check(os.Chmod(s.Root, 0o755))
	for _, name := range []string{"app.conf", "other.conf"} {
		s.WriteFile("/srv/app/"+name, "theirs\n", 0o644)
		s.WriteFile("/root/"+name, observetest.Secret, 0o600)
	}
	s.WriteFile("/root/secret", observetest.Secret, 0o600)
	s.Check(os.Mkdir(s.Root+"/srv/app/dir", 0o755))
	s.Check(os.Mkdir(s.Root+"/srv/app/root", 0o755))
	for _, dir := range []string{"/srv", "/srv/app"} {
		s.Check(os.Chmod(s.Root+dir, 0o777))
	}
	return s, resource.Config{Files: []resource.File{{Path: "/srv/app/app.conf", Inherit: true, Append: []byte("ours\n")}, observetest.EmptyFile("/srv/app/other.conf"), observetest.EmptyFile("/srv/app/new.conf")}}
}

// While an account acts in its directory during a probe, the probe ends, and
// never takes a file of root for a file of the account. By default each kind of
// action happens at a few moments, different ones for each kind.
func TestLooksAreSafeOnHostileGround(t *testing.T) {
	every := longtest.Choose(78, 26, 1)
	for i, how := range slices.Sorted(maps.Keys(observetest.Meddlers)) {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			for n := longtest.Pick(1+3*i, 1); ; n += every {
				s, c := hostileProbe(t)
				observetest.Meddling{How: how, Before: n}.Prepare(t, s.Root, func(path, text string) { s.WriteFile(path, text, 0o755) })
				for _, tool := range observetest.MeddledTools {
					s.Check(os.Rename(s.Root+"/meddled/"+tool, s.Root+"/fake/"+tool))
				}
				f := s.Read(c)
				for path, node := range f.Nodes {
					if strings.Contains(string(node.Contents), "secret") {
						t.Errorf("%s before program %d: %s is %q", how, n, path, node.Contents)
					}
					if node.Contents != nil && resource.Digest(node.Contents) != node.Digest {
						t.Errorf("%s before program %d: %s is not what its digest is of", how, n, path)
					}
				}
				if observetest.CountPrograms(t, s.Root) < n+every-1 { // the probe has ended before the next moment
					return
				}
			}
		})
	}
}

// The target of a link may be any text. No such text counts as another part of
// the output of the probe.
func TestTargetsOfLinksAreNoOtherAnswers(t *testing.T) {
	for name, target := range map[string]string{
		"lines":    "x\n./etc/z\t./etc/z -> wanted",
		"headings": "x\n== parents\n== readonly\n== fleeting\n== contents\n== originals\n== units\n== states\n== passwd\n== group\n== keys\n== logins\n== record\n== end",
	} {
		t.Run(name, func(t *testing.T) {
			s := observetest.NewHost(t)
			s.WriteRecord(resource.Record{Schema: resource.RecordSchema})
			s.Check(os.MkdirAll(s.Root+"/srv/app", 0o777))
			s.Check(os.Mkdir(s.Root+"/etc", 0o755))
			s.Check(os.Symlink("else", s.Root+"/etc/z"))
			s.Check(os.Symlink(target, s.Root+"/srv/app/link"))
			c := resource.Config{
				Links: []resource.Link{{Path: "/srv/app/link", Target: "x"}, {Path: "/etc/z", Target: "wanted"}},
				Users: []resource.User{{Name: "core"}},
			}
			s.WriteFile("/fake/passwd", "core:x:1000:1000::/home/core:/bin/sh\n", 0o644)
			s.WriteFile("/fake/ids/core", "core\n", 0o644)
			f := s.MustRead(c)
			if f.Applied == nil || len(f.Users) != 1 || f.Nodes["/etc/z"].Target != "else" {
				t.Errorf("the link has spoken for the host: %+v", f)
			}
			if is := f.Nodes["/srv/app/link"].Target; is == "x" || !strings.HasPrefix(is, "x") {
				t.Errorf("target %q", is)
			}
		})
	}
}

// A parent directory that is a link may have any target, too.
func TestLinksOnTheWayAreNoOtherAnswers(t *testing.T) {
	s := observetest.NewHost(t)
	s.Check(os.MkdirAll(s.Root+"/srv/app", 0o777))
	s.Check(os.Symlink(".\n== fleeting\n== contents", s.Root+"/srv/app/dir"))
	f := s.MustRead(resource.Config{Files: []resource.File{observetest.EmptyFile("/srv/app/dir/x")}})
	if target := f.Links["/srv/app/dir"]; !strings.HasPrefix(target, ".") || !strings.HasSuffix(target, "contents") {
		t.Errorf("links %q", f.Links)
	}
}

// A probe reads a file that its owner can swap like any other file, as long as
// nobody swaps it.
func TestFilesOnHostileGroundAreRead(t *testing.T) {
	s, c := hostileProbe(t)
	f := s.MustRead(c)
	for path, want := range map[string]string{"/srv/app/app.conf": "theirs\n", "/srv/app/other.conf": ""} {
		if n := f.Nodes[path]; string(n.Contents) != want || n.Digest != resource.Digest([]byte("theirs\n")) {
			t.Errorf("%s: %+v", path, n)
		}
	}
}

// An account may have moved the file of another account to a path that holdfast
// appends to. Appending never opens such a file to others by a new owner or mode.
func TestAppendingOpensNoFileOfSomebodyElse(t *testing.T) {
	longtest.SkipSlow(t)
	for name, c := range map[string]struct {
		mode int
		file resource.File
		says string
	}{
		"as it is":     {0o600, resource.File{}, ""},
		"less":         {0o644, resource.File{Mode: new(0o600)}, ""},
		"more":         {0o600, resource.File{Mode: new(0o644)}, "others could read it"},
		"its owner":    {0o600, resource.File{Owner: resource.Owner{User: strconv.Itoa(os.Getuid())}}, ""},
		"other owner":  {0o600, resource.File{Owner: resource.Owner{User: "4711"}}, "others could read it"},
		"other group":  {0o600, resource.File{Owner: resource.Owner{Group: "4711"}}, "others could read it"},
		"named owner":  {0o600, resource.File{Owner: resource.Owner{User: "nobody-here"}}, "others could read it"},
		"no such file": {0, resource.File{Owner: resource.Owner{User: "4711"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, config := hostileProbe(t)
			s.Check(os.Chmod(s.Root+"/srv/app/app.conf", os.FileMode(c.mode)))
			if c.mode == 0 {
				s.Check(os.Remove(s.Root + "/srv/app/app.conf"))
			}
			config.Files[0].Mode, config.Files[0].Owner = c.file.Mode, c.file.Owner
			if f := s.Read(config); !strings.Contains(f.Problem, c.says) || (f.Problem == "") != (c.says == "") {
				t.Errorf("problem %q", f.Problem)
			}
		})
	}
}

// If only root can replace a file, appending may open it to others: it cannot be
// the file of another account.
func TestAppendingMayOpenAFileThatNobodyCanSwap(t *testing.T) {
	s, config := hostileProbe(t)
	for _, dir := range []string{"/srv", "/srv/app"} {
		s.Check(os.Chmod(s.Root+dir, 0o755))
	}
	s.Check(os.Chmod(s.Root+"/srv/app/app.conf", 0o660))
	config.Files[0].Mode = new(0o664)
	f := s.MustRead(config)
	if got := f.Nodes["/srv/app/app.conf"]; got.Mode != 0o660 || len(got.Contents) == 0 {
		t.Errorf("mode %o, contents %q", got.Mode, got.Contents)
	}
}

// Keys are not read through links that their user can create. They are read
// through links of root.
func TestKeysAreReadThroughLinksOfRootOnly(t *testing.T) {
	s := observetest.HostWithAccounts(t)
	s.Check(os.Chmod(s.Root, 0o755))
	want := s.MustRead(observetest.AccountConfig()).Users["core"].Keys
	s.Check(os.Chmod(s.Root+"/home/core", 0o777))
	s.Check(os.Rename(s.Root+"/home", s.Root+"/data"))
	s.Check(os.Symlink("data", s.Root+"/home"))
	if keys := s.MustRead(observetest.AccountConfig()).Users["core"].Keys; len(want) == 0 || len(keys) != len(want) {
		t.Errorf("keys %q, want %q", keys, want)
	}
	s.Check(os.Rename(s.Root+"/data/core/.ssh", s.Root+"/elsewhere"))
	s.Check(os.Symlink(s.Root+"/elsewhere", s.Root+"/data/core/.ssh"))
	if f := s.Read(observetest.AccountConfig()); !strings.Contains(f.Problem, "behind a symbolic link in /home/core") {
		t.Errorf("problem %q, users %+v", f.Problem, f.Users)
	}
}

func TestReadScript(t *testing.T) {
	b := moduletest.NewTree(t)
	b.Put("/etc/etcd/pki/peer.key", "key\n", 0o600)
	b.Link("/etc/etcd/peer.key", "pki/peer.key")
	b.Link("/etc/alias", "etcd/../etcd")
	b.Put("/etc/secret", observetest.Secret, 0o600)
	b.Put("/srv/etcd/peer.key", "their key\n", 0o600)
	b.Check(os.Chmod(b.At("/srv/etcd"), 0o777))
	b.Link("/srv/etcd/link.key", "../../etc/secret")
	b.Link("/srv/etcd/dir", "../../etc")
	b.Check(syscall.Mkfifo(b.At("/srv/etcd/pipe"), 0o600))
	for path, want := range map[string]string{
		"/etc/etcd/pki/peer.key": "key\n", "/etc/etcd/peer.key": "key\n", "/etc/alias/peer.key": "key\n", "/srv/etcd/peer.key": "their key\n",
		"/etc/none": "", "/none/x": "", "/srv/etcd/link.key": "", "/srv/etcd/dir/secret": "", "/srv/etcd/pipe": "",
	} {
		out := b.RunScript(engine.Exec{Script: engine.NewScript(observe.ReadFileScript(path, 1<<20))})
		if missing := strings.Contains(path, "none"); missing != (out.Code == hostscript.ScriptNoFile) || out.Stdout != want || (out.Code == 0) != (want != "") || out.Code != 0 && out.Stderr == "" {
			t.Errorf("%s: %d %q %q", path, out.Code, out.Stdout, out.Stderr)
		}
	}
}

// The probe does not read a file by its path if the path was not graded as a
// file, or was a file only for a moment.
func TestFilesThatComeLateAreReadAsHostile(t *testing.T) {
	longtest.SkipSlow(t)
	for name, late := range map[string]string{
		"before it is graded": "tr",
		"pipe":                "pipe",
	} {
		t.Run(name, func(t *testing.T) {
			s, c := hostileProbe(t)
			file := hostscript.Quote(s.Root + "/srv/app/app.conf")
			// Until the probe reads the path, the path is missing or a pipe. Then
			// it is a link.
			away := "mv " + file + " " + file + ".away 2>/dev/null\n"
			if late == "pipe" {
				s.Check(os.Remove(s.Root + "/srv/app/app.conf"))
				s.Check(syscall.Mkfifo(s.Root+"/srv/app/app.conf", 0o644))
				away = ""
			}
			s.WriteFile("/fake/xargs", "#!/bin/sh\ncase \"$*\" in *'%f %u %n'*) "+away+" ;; esac\nexec "+observetest.ToolPath(t, "xargs")+" \"$@\"\n", 0o755)
			s.WriteFile("/fake/stat", "#!/bin/sh\ncase \"$*\" in *'-f -c %T'*) rm -f "+file+"; echo theirs >"+file+" ;; esac\nexec "+observetest.ToolPath(t, "stat")+" \"$@\"\n", 0o755)
			s.WriteFile("/fake/head", "#!/bin/sh\ncase \"$*\" in *app.conf*) rm -f "+file+"; mkfifo "+file+"; (sleep 5; timeout 1 sh -c ': >'"+file+") & echo by path >>"+hostscript.Quote(s.Root)+"/fake/head-said ;; esac\nexec "+observetest.ToolPath(t, "head")+" \"$@\"\n", 0o755)
			s.Read(c)
			if said, err := os.ReadFile(s.Root + "/fake/head-said"); err == nil {
				t.Errorf("a file of an account was read by its path: %s", said)
			}
		})
	}
}

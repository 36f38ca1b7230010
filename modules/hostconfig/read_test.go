package hostconfig

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
)

func TestContentsThatPlansDependOn(t *testing.T) {
	s := newLooked(t)
	const registries = "/etc/containers/registries.conf"
	inherit := func(path string) engine.File { return engine.File{Path: path, Inherit: true, Append: []byte("x")} }
	s.writeFile(registries, "old\x00\n", 0o644)
	s.writeFile("/etc/plain", "secret", 0o644)
	s.writeFile("/etc/own", "host's\n", 0o644)
	s.writeFile("/etc/a b", "host's and ours", 0o644)
	s.writeFile(engine.StateDir+"/originals/"+originalName("/etc/a b"), "host's", 0o644)
	s.writeFile("/etc/motd", "OS and ours", 0o644)
	s.writeFile("/usr/etc/motd", "OS", 0o644)
	s.writeFile(engine.StateDir+"/originals/"+originalName("/etc/motd")+".default", "", 0o644)
	s.writeFile("/etc/empty", "", 0o644)
	c := engine.Config{Files: []engine.File{aFile("/etc/plain"), inherit("/etc/own"), inherit("/etc/a b"), inherit("/etc/motd"), inherit("/etc/empty"), inherit("/etc/none")}}
	s.writeRecord(engine.Record{Schema: 1, Config: engine.Config{Files: []engine.File{aFile(registries)}}})
	f := s.mustProbe(c)
	got := map[string]string{}
	for p, n := range f.Nodes {
		got[p] = fmt.Sprintf("%q %q", n.Contents, n.Base)
	}
	want := map[string]string{
		registries: `"old\x00\n" ""`, "/etc/plain": `"" ""`, "/etc/own": `"host's\n" ""`, "/etc/a b": `"host's and ours" "host's"`,
		"/etc/motd": `"OS and ours" "OS"`, "/etc/empty": `"" ""`, "/etc/none": `"" ""`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if f.Nodes["/etc/empty"].Contents == nil || f.Nodes["/etc/none"].Contents != nil {
		t.Error("an empty file and none are not told apart")
	}
	if saved := map[string]bool{"/etc/a b": true, "/etc/motd": true}; !reflect.DeepEqual(f.Saved, saved) {
		t.Errorf("originals of %v", f.Saved)
	}
}

func TestFileThatIsTooLargeToAppendTo(t *testing.T) {
	s := newLooked(t)
	s.writeFile("/etc/log", strings.Repeat("x", maxContents+1), 0o644)
	if f := s.readAnswer(engine.Config{Files: []engine.File{{Path: "/etc/log", Inherit: true}}}); !strings.Contains(f.Problem, "/etc/log has more than 1 MiB") {
		t.Errorf("problem %q", f.Problem)
	}
}

func TestEnablementOfUnits(t *testing.T) {
	for _, old := range []bool{false, true} {
		t.Run(fmt.Sprintf("old systemd %t", old), func(t *testing.T) {
			s := newLooked(t)
			if old {
				s.writeFile("/fake/old", "", 0o644)
			}
			s.writeFile("/fake/states/a.service", "enabled\n", 0o644)
			s.writeFile(`/fake/states/dev-b\x2dc.swap`, "disabled\n", 0o644)
			c := engine.Config{Units: []engine.Unit{{Name: "-.mount"}, {Name: "a.service"}, {Name: `dev-b\x2dc.swap`}}}
			f := s.mustProbe(c)
			want := map[string]string{"-.mount": "not-found", "a.service": "enabled", `dev-b\x2dc.swap`: "disabled"}
			if !reflect.DeepEqual(f.Units, want) {
				t.Errorf("got %v, want %v", f.Units, want)
			}
			f = s.mustProbe(engine.Config{Units: []engine.Unit{{Name: "none.service"}}})
			if want := map[string]string{"none.service": "not-found"}; !reflect.DeepEqual(f.Units, want) {
				t.Errorf("got %v, want %v", f.Units, want)
			}
		})
	}
	s := newLooked(t)
	s.writeFile("/fake/bus", "Failed to connect to bus: Connection refused\n", 0o644)
	if f := s.readAnswer(engine.Config{Units: []engine.Unit{{Name: "a.service"}, {Name: "b.service"}}}); !strings.Contains(f.Problem, "a.service: Failed to connect to bus") {
		t.Errorf("problem %q", f.Problem)
	}
}

const shadowHash = "$y$j9T$aaaaaaaa$bbbbbbbbbbbbbbbb"

func accounts(tb testing.TB) gatheredHost {
	s := newLooked(tb)
	s.writeFile("/fake/passwd", "core:x:1000:1001:Core, a b:/home/core:/bin/bash\ndbus:x:81:81::/:/sbin/nologin\nold:x:7:7::/home/old:/bin/sh\n", 0o644)
	s.writeFile("/fake/group", "wheel:x:10:core\n", 0o644)
	s.writeFile("/fake/shadow", "core:"+shadowHash+":19000:0:99999:7:::\nold:*:1::::::\n", 0o644)
	s.writeFile("/fake/ids/core", "coregroup wheel sudo\n", 0o644)
	s.writeFile("/fake/ids/old", "7\n", 0o644)
	s.writeFile("/home/core/.ssh/authorized_keys", "ssh-rsa own\n# BEGIN holdfast\nssh-ed25519 managed a b\n\n# END holdfast\nssh-rsa other\n", 0o600)
	s.writeFile("/home/core/.ssh/authorized_keys.d/ignition", "ssh-ed25519 ignition\n#x\nssh-ed25519 second", 0o600)
	return s
}

func people() engine.Config {
	return engine.Config{
		Users:  []engine.User{{Name: "core", Account: engine.Account{Groups: []string{"wheel"}, PrimaryGroup: "1001"}}, {Name: "nobody-yet"}},
		Groups: []engine.Group{{Name: "missing"}},
		Files:  []engine.File{{Path: "/etc/x", Digest: engine.Digest(nil), Owner: engine.Owner{User: "dbus", Group: "0"}}},
	}
}

func TestAccounts(t *testing.T) {
	s := accounts(t)
	s.writeRecord(engine.Record{Schema: 1, Config: engine.Config{Users: []engine.User{{Name: "old"}}}})
	f := s.mustProbe(people())
	want := map[string]engine.Login{
		"core": {
			UID: 1000, GID: 1001, Group: "coregroup", Groups: []string{"wheel", "sudo"}, Gecos: "Core, a b", Home: "/home/core", Shell: "/bin/bash",
			Password: engine.Digest([]byte(shadowHash)), Keys: []string{"ssh-ed25519 managed a b"},
		},
		"dbus": {UID: 81, GID: 81, Home: "/", Shell: "/sbin/nologin"},
		"old":  {UID: 7, GID: 7, Group: "7", Groups: []string{}, Home: "/home/old", Shell: "/bin/sh", Password: engine.Digest([]byte("*"))},
	}
	if !reflect.DeepEqual(f.Users, want) {
		t.Errorf("got  %+v\nwant %+v", f.Users, want)
	}
	if !reflect.DeepEqual(f.Groups, map[string]int{"wheel": 10}) || f.KeyDir {
		t.Errorf("groups %v, directory of keys %t", f.Groups, f.KeyDir)
	}
}

func TestHashesOfPasswordsStayOnTheHost(t *testing.T) {
	s := accounts(t)
	c := people()
	for name, out := range s.probeAnswer(engine.Desired{Config: &c}) {
		if all := out.Stdout + out.Stderr; strings.Contains(all, shadowHash[3:]) || !strings.Contains(all, engine.Digest([]byte(shadowHash))) {
			t.Errorf("%s prints %s", name, all)
		}
	}
}

func TestKeysWhereSshdReadsADirectory(t *testing.T) {
	for _, says := range []string{"authorizedkeysfile .ssh/authorized_keys .ssh/authorized_keys.d/ignition", "authorizedkeyscommand /usr/libexec/ssh-key-dir %u"} {
		s := accounts(t)
		s.writeFile("/fake/sshd.conf", "port 22\n"+says+"\n", 0o644)
		f := s.mustProbe(people())
		if keys := f.Users["core"].Keys; !f.KeyDir || !reflect.DeepEqual(keys, []string{"ssh-ed25519 ignition", "ssh-ed25519 second"}) {
			t.Errorf("%s: %t %q", says, f.KeyDir, keys)
		}
	}
}

func TestKeysAreOnlyReadFromRegularFiles(t *testing.T) {
	s := accounts(t)
	s.writeFile("/etc/secret", "# BEGIN holdfast\nsecret\n# END holdfast\n", 0o600)
	s.checkFacts(os.Remove(s.root + "/home/core/.ssh/authorized_keys"))
	s.checkFacts(os.Symlink(s.root+"/etc/secret", s.root+"/home/core/.ssh/authorized_keys"))
	if keys := s.mustProbe(people()).Users["core"].Keys; keys != nil {
		t.Errorf("keys %q", keys)
	}
}

// tool returns the path of a real tool, for a fake of the same name.
func tool(t *testing.T, name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestUserCannotHaveAnotherFileReadInPlaceOfKeys(t *testing.T) {
	s := accounts(t)
	s.writeFile("/etc/secret", "# BEGIN holdfast\nsecret\n# END holdfast\n", 0o600)
	keys := hostscript.Quote(s.root + "/home/core/.ssh/authorized_keys")
	s.writeFile("/fake/dd", "#!/bin/sh\nrm "+keys+"\nln -s "+hostscript.Quote(s.root+"/etc/secret")+" "+keys+"\nexec "+tool(t, "dd")+" \"$@\"\n", 0o755)
	if f := s.readAnswer(people()); !strings.Contains(f.Problem, "symbolic links") || f.Users != nil {
		t.Errorf("problem %q, users %v", f.Problem, f.Users)
	}
}

func TestContentsAreNotReadThroughLinks(t *testing.T) {
	s := newLooked(t)
	s.writeFile("/etc/shadow", "secret", 0o600)
	s.checkFacts(os.MkdirAll(s.root+"/etc/containers", 0o755))
	s.checkFacts(os.Symlink(s.root+"/etc/shadow", s.root+"/etc/containers/registries.conf"))
	n := s.mustProbe(engine.Config{Files: []engine.File{aFile("/etc/containers/registries.conf")}}).Nodes["/etc/containers/registries.conf"]
	if n.Type != engine.PathLink || n.Contents != nil || n.Digest != "" {
		t.Errorf("%+v", n)
	}
}

func TestLineAboutSomethingElseIsAProblem(t *testing.T) {
	s := newLooked(t)
	s.writeFile("/etc/a", "x", 0o644)
	d := engine.Desired{Config: &engine.Config{Files: []engine.File{aFile("/etc/a")}}}
	out := s.probeAnswer(d)[configProbeName]
	for _, from := range []string{"nodes", "digests", "passwd", "logins"} {
		head := "== " + from + "\n"
		bad := strings.Replace(out.Stdout, head, head+"81a4\t0\t0\t0\t1:2\troot\troot\t./etc/b\n", 1)
		if f := configRead(d, engine.Outputs{configProbeName: {Stdout: bad}}, engine.Facts{}).Config; !strings.Contains(f.Problem, "not understood") {
			t.Errorf("%s: problem %q", from, f.Problem)
		}
	}
}

func TestWhatCannotBeReadIsAProblem(t *testing.T) {
	c := engine.Config{Files: []engine.File{aFile("/etc/a")}}
	for tool, says := range map[string]string{"stat": "stat: cannot", "sha256sum": "sha256sum: ", "xargs": "xargs: ", "sort": "list of what it is about"} {
		s := newLooked(t)
		s.writeFile("/etc/a", "x", 0o644)
		text := "#!/bin/sh\necho '" + tool + ": cannot read a thing: Input/output error' >&2\nexit 1\n"
		if tool == "sort" {
			text = "#!/bin/sh\nexec cat >/dev/null\n"
		}
		s.writeFile("/fake/"+tool, text, 0o755)
		if f := s.readAnswer(c); !strings.Contains(f.Problem, says) || f.Nodes != nil {
			t.Errorf("%s: problem %q", tool, f.Problem)
		}
	}
	s := newLooked(t)
	s.writeFile("/etc/a", "x", 0o644)
	s.writeFile("/fake/sha256sum", "#!/bin/sh\ncase $1 in -z) exit 0 ;; esac\nexec "+tool(t, "sha256sum")+" \"$@\"\n", 0o755)
	if f := s.readAnswer(c); !strings.Contains(f.Problem, "/etc/a was not read") {
		t.Errorf("problem %q", f.Problem)
	}
}

func FuzzConfigRead(f *testing.F) {
	s := accounts(f)
	s.writeFile("/etc/x", "x", 0o644)
	s.writeFile("/etc/app", "x", 0o644)
	s.checkFacts(os.Symlink("/a", s.root+"/etc/l"))
	c := people()
	c.Files = append(c.Files, engine.File{Path: "/etc/app", Inherit: true})
	c.Links = []engine.Link{{Path: "/etc/l", Target: "/a"}}
	c.Units = []engine.Unit{{Name: "a.service"}}
	s.writeRecord(engine.Record{Schema: 1, Config: c})
	d := engine.Desired{Config: &c}
	whole := s.probeAnswer(d)[configProbeName].Stdout
	f.Add(whole, "", 0)
	for _, cut := range []string{"\t", "== ", ":", "0", "/etc/x", "\n", `"files"`} {
		f.Add(strings.ReplaceAll(whole, cut, ""), "", 0)
		f.Add(strings.ReplaceAll(whole, cut, cut+cut), "", 0)
	}
	f.Add(whole[:len(whole)/2], "", 0)
	f.Add(whole, "sh: stat: not found", 0)
	f.Add(whole, "", 1)
	f.Fuzz(func(t *testing.T, stdout, stderr string, code int) {
		facts := configRead(d, engine.Outputs{configProbeName: {Stdout: stdout, Stderr: stderr, Code: code}}, engine.Facts{}).Config
		switch {
		case facts == nil:
			t.Fatal("no facts")
		case facts.Problem == "" && (code != 0 || strings.TrimSpace(stderr) != ""):
			t.Fatal("a failure is no problem")
		case facts.Problem != "" && (facts.Applied != nil || facts.Nodes != nil):
			t.Fatal("something is known in spite of the problem")
		case strings.ContainsAny(facts.Problem, "\n\x1b\x00"):
			t.Fatalf("problem %q", facts.Problem)
		}
		for p, n := range facts.Nodes {
			if n.Type == engine.PathFile && n.Digest == "" {
				t.Fatalf("%s has no digest", p)
			}
		}
	})
}

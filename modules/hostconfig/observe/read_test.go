package observe_test

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/observe"
	"holdfast/modules/hostconfig/observe/observetest"
	"holdfast/modules/hostconfig/record"
)

func TestContentsThatPlansDependOn(t *testing.T) {
	s := observetest.NewHost(t)
	const registries = "/etc/containers/registries.conf"
	inherit := func(path string) resource.File { return resource.File{Path: path, Inherit: true, Append: []byte("x")} }
	s.WriteFile(registries, "old\x00\n", 0o644)
	s.WriteFile("/etc/plain", "secret", 0o644)
	s.WriteFile("/etc/own", "host's\n", 0o644)
	s.WriteFile("/etc/a b", "host's and ours", 0o644)
	s.WriteFile(engine.StateDir+"/originals/"+record.OriginalName("/etc/a b"), "host's", 0o644)
	s.WriteFile("/etc/motd", "OS and ours", 0o644)
	s.WriteFile("/usr/etc/motd", "OS", 0o644)
	s.WriteFile(engine.StateDir+"/originals/"+record.OriginalName("/etc/motd")+".default", "", 0o644)
	s.WriteFile("/etc/empty", "", 0o644)
	s.WriteFile(observe.IgnitionPresets, "enable a.service\n", 0o644)
	c := resource.Config{Units: []resource.Unit{{Name: "a.service"}}, Files: []resource.File{observetest.EmptyFile("/etc/plain"), inherit("/etc/own"), inherit("/etc/a b"), inherit("/etc/motd"), inherit("/etc/empty"), inherit("/etc/none")}}
	s.WriteRecord(resource.Record{Schema: 1, Config: resource.Config{Files: []resource.File{observetest.EmptyFile(registries)}}})
	f := s.MustRead(c)
	got := map[string]string{}
	for p, n := range f.Nodes {
		got[p] = fmt.Sprintf("%q %q", n.Contents, n.Base)
	}
	want := map[string]string{
		registries: `"old\x00\n" ""`, "/etc/plain": `"" ""`, "/etc/own": `"host's\n" ""`, "/etc/a b": `"host's and ours" "host's"`,
		"/etc/motd": `"OS and ours" "OS"`, "/etc/empty": `"" ""`, "/etc/none": `"" ""`,
		observe.IgnitionPresets: `"enable a.service\n" ""`, "/etc/systemd/system/a.service": `"" ""`,
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
	s := observetest.NewHost(t)
	s.WriteFile("/etc/log", strings.Repeat("x", (1<<20)+1), 0o644)
	if f := s.Read(resource.Config{Files: []resource.File{{Path: "/etc/log", Inherit: true}}}); !strings.Contains(f.Problem, "/etc/log has more than 1 MiB") {
		t.Errorf("problem %q", f.Problem)
	}
}

func TestEnablementOfUnits(t *testing.T) {
	for _, old := range []bool{false, true} {
		t.Run(fmt.Sprintf("old systemd %t", old), func(t *testing.T) {
			s := observetest.NewHost(t)
			if old {
				s.WriteFile("/fake/old", "", 0o644)
			}
			s.WriteFile("/fake/states/a.service", "enabled\n", 0o644)
			s.WriteFile(`/fake/states/dev-b\x2dc.swap`, "disabled\n", 0o644)
			c := resource.Config{Units: []resource.Unit{{Name: "-.mount"}, {Name: "a.service"}, {Name: `dev-b\x2dc.swap`}}}
			f := s.MustRead(c)
			want := map[string]string{"-.mount": "not-found", "a.service": "enabled", `dev-b\x2dc.swap`: "disabled"}
			if !reflect.DeepEqual(f.Units, want) {
				t.Errorf("got %v, want %v", f.Units, want)
			}
			f = s.MustRead(resource.Config{Units: []resource.Unit{{Name: "none.service"}}})
			if want := map[string]string{"none.service": "not-found"}; !reflect.DeepEqual(f.Units, want) {
				t.Errorf("got %v, want %v", f.Units, want)
			}
		})
	}
	s := observetest.NewHost(t)
	s.WriteFile("/fake/bus", "Failed to connect to bus: Connection refused\n", 0o644)
	if f := s.Read(resource.Config{Units: []resource.Unit{{Name: "a.service"}, {Name: "b.service"}}}); !strings.Contains(f.Problem, "a.service: Failed to connect to bus") {
		t.Errorf("problem %q", f.Problem)
	}
}

func TestAccounts(t *testing.T) {
	s := observetest.HostWithAccounts(t)
	s.WriteRecord(resource.Record{Schema: 1, Config: resource.Config{Users: []resource.User{{Name: "old"}}}})
	f := s.MustRead(observetest.AccountConfig())
	want := map[string]resource.Login{
		"core": {
			UID: 1000, GID: 1001, Group: "coregroup", Groups: []string{"wheel", "sudo"}, Gecos: "Core, a b", Home: "/home/core", Shell: "/bin/bash",
			Password: resource.Digest([]byte(observetest.ShadowHash)), Keys: []string{"ssh-ed25519 managed a b"},
		},
		"dbus": {UID: 81, GID: 81, Home: "/", Shell: "/sbin/nologin"},
		"old":  {UID: 7, GID: 7, Group: "7", Groups: []string{}, Home: "/home/old", Shell: "/bin/sh", Password: resource.Digest([]byte("*"))},
	}
	if !reflect.DeepEqual(f.Users, want) {
		t.Errorf("got  %+v\nwant %+v", f.Users, want)
	}
	if !reflect.DeepEqual(f.Groups, map[string]int{"wheel": 10}) || f.KeyDir {
		t.Errorf("groups %v, directory of keys %t", f.Groups, f.KeyDir)
	}
}

func TestHashesOfPasswordsStayOnTheHost(t *testing.T) {
	s := observetest.HostWithAccounts(t)
	c := observetest.AccountConfig()
	for name, out := range s.Probe(engine.Desired{Config: &c}) {
		if all := out.Stdout + out.Stderr; strings.Contains(all, observetest.ShadowHash[3:]) || !strings.Contains(all, resource.Digest([]byte(observetest.ShadowHash))) {
			t.Errorf("%s prints %s", name, all)
		}
	}
}

func TestKeysWhereSshdReadsADirectory(t *testing.T) {
	for _, says := range []string{"authorizedkeysfile .ssh/authorized_keys .ssh/authorized_keys.d/ignition", "authorizedkeyscommand /usr/libexec/ssh-key-dir %u"} {
		s := observetest.HostWithAccounts(t)
		s.WriteFile("/fake/sshd.conf", "port 22\n"+says+"\n", 0o644)
		f := s.MustRead(observetest.AccountConfig())
		if keys := f.Users["core"].Keys; !f.KeyDir || !reflect.DeepEqual(keys, []string{"ssh-ed25519 ignition", "ssh-ed25519 second"}) {
			t.Errorf("%s: %t %q", says, f.KeyDir, keys)
		}
	}
}

func TestKeysAreOnlyReadFromRegularFiles(t *testing.T) {
	s := observetest.HostWithAccounts(t)
	s.WriteFile("/etc/secret", "# BEGIN holdfast\nsecret\n# END holdfast\n", 0o600)
	s.Check(os.Remove(s.Root + "/home/core/.ssh/authorized_keys"))
	s.Check(os.Symlink(s.Root+"/etc/secret", s.Root+"/home/core/.ssh/authorized_keys"))
	if keys := s.MustRead(observetest.AccountConfig()).Users["core"].Keys; keys != nil {
		t.Errorf("keys %q", keys)
	}
}

// realTool returns the path of the real tool, which a fake tool of the same name
// calls.
func realTool(t *testing.T, name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestUserCannotHaveAnotherFileReadInPlaceOfKeys(t *testing.T) {
	s := observetest.HostWithAccounts(t)
	s.WriteFile("/etc/secret", "# BEGIN holdfast\nsecret\n# END holdfast\n", 0o600)
	keys := hostscript.Quote(s.Root + "/home/core/.ssh/authorized_keys")
	s.WriteFile("/fake/dd", "#!/bin/sh\nrm "+keys+"\nln -s "+hostscript.Quote(s.Root+"/etc/secret")+" "+keys+"\nexec "+realTool(t, "dd")+" \"$@\"\n", 0o755)
	if f := s.Read(observetest.AccountConfig()); !strings.Contains(f.Problem, "symbolic links") || f.Users != nil {
		t.Errorf("problem %q, users %v", f.Problem, f.Users)
	}
}

func TestContentsAreNotReadThroughLinks(t *testing.T) {
	s := observetest.NewHost(t)
	s.WriteFile("/etc/shadow", "secret", 0o600)
	s.Check(os.MkdirAll(s.Root+"/etc/containers", 0o755))
	s.Check(os.Symlink(s.Root+"/etc/shadow", s.Root+"/etc/containers/registries.conf"))
	n := s.MustRead(resource.Config{Files: []resource.File{observetest.EmptyFile("/etc/containers/registries.conf")}}).Nodes["/etc/containers/registries.conf"]
	if n.Type != resource.PathLink || n.Contents != nil || n.Digest != "" {
		t.Errorf("%+v", n)
	}
}

func TestLineAboutSomethingElseIsAProblem(t *testing.T) {
	s := observetest.NewHost(t)
	s.WriteFile("/etc/a", "x", 0o644)
	d := engine.Desired{Config: &resource.Config{Files: []resource.File{observetest.EmptyFile("/etc/a")}}}
	out := s.Probe(d)[observe.ProbeName]
	for _, from := range []string{"nodes", "digests", "passwd", "logins"} {
		head := "== " + from + "\n"
		bad := strings.Replace(out.Stdout, head, head+"81a4\t0\t0\t0\t1:2\troot\troot\t./etc/b\n", 1)
		if f := observe.Read(d, engine.Outputs{observe.ProbeName: {Stdout: bad}}, engine.Facts{}).Config; !strings.Contains(f.Problem, "not understood") {
			t.Errorf("%s: problem %q", from, f.Problem)
		}
	}
}

func TestWhatCannotBeReadIsAProblem(t *testing.T) {
	c := resource.Config{Files: []resource.File{observetest.EmptyFile("/etc/a")}}
	for tool, says := range map[string]string{"stat": "stat: cannot", "sha256sum": "sha256sum: ", "xargs": "xargs: ", "sort": "its list of subjects"} {
		s := observetest.NewHost(t)
		s.WriteFile("/etc/a", "x", 0o644)
		text := "#!/bin/sh\necho '" + tool + ": cannot read a thing: Input/output error' >&2\nexit 1\n"
		if tool == "sort" {
			text = "#!/bin/sh\nexec cat >/dev/null\n"
		}
		s.WriteFile("/fake/"+tool, text, 0o755)
		if f := s.Read(c); !strings.Contains(f.Problem, says) || f.Nodes != nil {
			t.Errorf("%s: problem %q", tool, f.Problem)
		}
	}
	s := observetest.NewHost(t)
	s.WriteFile("/etc/a", "x", 0o644)
	s.WriteFile("/fake/sha256sum", "#!/bin/sh\ncase $1 in -z) exit 0 ;; esac\nexec "+realTool(t, "sha256sum")+" \"$@\"\n", 0o755)
	if f := s.Read(c); !strings.Contains(f.Problem, "/etc/a was not read") {
		t.Errorf("problem %q", f.Problem)
	}
}

func FuzzConfigRead(f *testing.F) {
	s := observetest.HostWithAccounts(f)
	s.WriteFile("/etc/x", "x", 0o644)
	s.WriteFile("/etc/app", "x", 0o644)
	s.Check(os.Symlink("/a", s.Root+"/etc/l"))
	c := observetest.AccountConfig()
	c.Files = append(c.Files, resource.File{Path: "/etc/app", Inherit: true})
	c.Links = []resource.Link{{Path: "/etc/l", Target: "/a"}}
	c.Units = []resource.Unit{{Name: "a.service"}}
	s.WriteRecord(resource.Record{Schema: 1, Config: c})
	d := engine.Desired{Config: &c}
	whole := s.Probe(d)[observe.ProbeName].Stdout
	f.Add(whole, "", 0)
	for _, cut := range []string{"\t", "== ", ":", "0", "/etc/x", "\n", `"files"`} {
		f.Add(strings.ReplaceAll(whole, cut, ""), "", 0)
		f.Add(strings.ReplaceAll(whole, cut, cut+cut), "", 0)
	}
	f.Add(whole[:len(whole)/2], "", 0)
	f.Add(whole, "sh: stat: not found", 0)
	f.Add(whole, "", 1)
	f.Fuzz(func(t *testing.T, stdout, stderr string, code int) {
		facts := observe.Read(d, engine.Outputs{observe.ProbeName: {Stdout: stdout, Stderr: stderr, Code: code}}, engine.Facts{}).Config
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
			if n.Type == resource.PathFile && n.Digest == "" {
				t.Fatalf("%s has no digest", p)
			}
		}
	})
}

package observe_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/longtest"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/observe"
	"holdfast/modules/hostconfig/observe/observetest"
	"holdfast/modules/hostconfig/record"
	"holdfast/modules/moduletest"
)

func TestNothingIsLookedAtWithoutConfiguration(t *testing.T) {
	if commands := observe.Probe(engine.Desired{}); commands != nil {
		t.Error(commands)
	}
	if f := observe.Read(engine.Desired{}, nil, engine.Facts{}); f.Config != nil {
		t.Error(f.Config)
	}
}

// oddPaths are paths that a script might handle wrongly.
var oddPaths = []string{
	"/etc/a b", "/etc/-n", "/etc/q'uote", `/etc/d"quote`, `/etc/back\slash`, `/etc/b\n`, "/etc/p%s%20", "/etc/ümläut ☃", "/etc/$(touch x)", "/etc/*",
	"/etc/ lead", "/etc/trail ", "/etc/a&b<c>", `/etc/end\`, `/etc/end",`, "/etc/],", `/etc/\"x\\"`, "/etc/a -> b", "/etc/line\u2028separator", "/etc/x== digests", "/== end", "/etc/.",
}

func TestEveryPathIsLookedAt(t *testing.T) {
	s := observetest.NewHost(t)
	var desired, recorded, unfinished resource.Config
	paths := oddPaths[:len(oddPaths)-1]
	for i, p := range paths {
		s.WriteFile(p, p, 0o640)
		switch i % 3 {
		case 0:
			desired.Files = append(desired.Files, observetest.EmptyFile(p))
		case 1:
			recorded.Files = append(recorded.Files, observetest.EmptyFile(p))
		default:
			unfinished.Links = append(unfinished.Links, resource.Link{Path: p + "~", Target: p, Hard: true})
		}
	}
	s.WriteRecord(resource.Record{Schema: 1, Config: recorded, Unfinished: &resource.UnfinishedWrite{Run: "r1", Boot: moduletest.Boot, Config: unfinished}})
	f := s.MustRead(desired)
	for i, p := range paths {
		n, ok := f.Nodes[p]
		if !ok || n.Type != resource.PathFile || n.Digest != resource.Digest([]byte(p)) || n.Mode != 0o640 || n.UID != os.Getuid() || n.Inode == "" {
			t.Errorf("%s: %+v", p, n)
		}
		if n, ok := f.Nodes[p+"~"]; ok != (i%3 == 2) || n.Type != resource.PathMissing {
			t.Errorf("%s~: %t %+v", p, ok, n)
		}
	}
	if f.Applied == nil || f.Applied.Unfinished.Run != "r1" || !reflect.DeepEqual(f.Applied.Config, recorded) {
		t.Errorf("record %+v", f.Applied)
	}
}

func TestKindsOfNodes(t *testing.T) {
	s := observetest.NewHost(t)
	s.WriteFile("/etc/file", "x", 0o4755)
	s.WriteFile("/etc/empty", "", 0o600)
	s.Check(os.Chmod(s.Root+"/etc/file", 0o755|os.ModeSetuid))
	s.Check(os.Mkdir(s.Root+"/etc/dir", 0o700))
	s.Check(os.Symlink("/no where -> else", s.Root+"/etc/a -> link"))
	s.Check(os.Link(s.Root+"/etc/file", s.Root+"/etc/hard"))
	s.Check(exec.Command("mkfifo", s.Root+"/etc/fifo").Run())
	s.Check(os.MkdirAll(s.Root+"/etc/systemd/system", 0o755))
	s.Check(os.Symlink("/dev/null", s.Root+"/etc/systemd/system/m.service"))
	large, err := os.Create(s.Root + "/etc/large")
	s.Check(err)
	s.Check(large.Truncate(100_000_000))
	s.Check(large.Close())
	c := resource.Config{
		Directories: []resource.Directory{{Path: "/etc/dir"}, {Path: "/etc/file/below"}},
		Files:       []resource.File{observetest.EmptyFile("/etc/fifo"), observetest.EmptyFile("/etc/none"), observetest.EmptyFile("/etc/large"), observetest.EmptyFile("/etc/empty")},
		Links:       []resource.Link{{Path: "/etc/a -> link", Target: "/x"}, {Path: "/etc/hard", Target: "/etc/file", Hard: true}},
		Units:       []resource.Unit{{Name: "m.service", Dropins: []resource.Dropin{{Name: "10.conf", Contents: "x"}}}},
	}
	f := s.MustRead(c)
	got := map[string]string{}
	for p, n := range f.Nodes {
		got[p] = fmt.Sprintf("%s %o %s%.5s", n.Type, n.Mode, n.Target, n.Digest)
	}
	want := map[string]string{
		"/etc/file": "file 4755 2d711", "/etc/hard": "file 4755 2d711", "/etc/empty": "file 600 e3b0c", "/etc/large": "file 644 large",
		"/etc/dir": "directory 700 ", "/etc/fifo": got["/etc/fifo"], "/etc/none": " 0 ", "/etc/file/below": " 0 ",
		"/etc/a -> link": "link 777 /no where -> else", "/etc/systemd/system/m.service": "link 777 /dev/null", "/etc/systemd/system/m.service.d/10.conf": " 0 ",
	}
	if !reflect.DeepEqual(got, want) || f.Nodes["/etc/fifo"].Type != resource.PathOther {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if f.Nodes["/etc/hard"].Inode != f.Nodes["/etc/file"].Inode || f.Nodes["/etc/file"].Inode == f.Nodes["/etc/empty"].Inode {
		t.Error("hard links are not told by their inodes")
	}
}

func TestRecordThatIsNotUnderstood(t *testing.T) {
	longtest.SkipSlow(t)
	whole := string(record.Encode(resource.Record{Schema: 1, Config: resource.Config{Files: []resource.File{observetest.EmptyFile("/etc/a"), observetest.EmptyFile("/etc/b")}}}))
	compact := &bytes.Buffer{}
	if err := json.Compact(compact, []byte(whole)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, says string }{
		"another schema":      {strings.Replace(whole, `"schema": 1`, `"schema": 3`, 1), "schema 3"},
		"cut short":           {whole[:len(whole)/2], "put back a copy"},
		"empty":               {"", "put back a copy"},
		"only a newline":      {"\n", "put back a copy"},
		"no JSON":             {"hello\n", "put back a copy"},
		"no record":           {"{\"hold\": 1}\n", "it has no schema"},
		"other types":         {strings.Replace(whole, `"config": {`, `"config": 1, "was": {`, 1), "put back a copy"},
		"another in all":      {"{\"schema\": 7, \"config\": 1}\n", "schema 7"},
		"something follows":   {whole + "{}\n", "put back a copy"},
		"spelled another way": {compact.String(), "put back a copy"},
		"list cut by hand":    {strings.Replace(whole, "\"path /etc/a\",\n", "", 1), "put back a copy"},
		"path added by hand":  {strings.Replace(whole, `"/etc/a"`, `"/etc/c"`, 1), "put back a copy"},
		"relative path":       {strings.ReplaceAll(whole, `/etc/a`, `etc/a`), "not an absolute path"},
		"path that climbs":    {strings.ReplaceAll(whole, `/etc/a`, `/etc/../a`), "not an absolute path"},
		"control character":   {string(record.Encode(resource.Record{Schema: 1, Config: resource.Config{Files: []resource.File{observetest.EmptyFile("/etc/a\nb")}}})), "control characters"},
		"too large":           {whole + strings.Repeat(" ", record.MaxSize), "more than 16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			s := observetest.NewHost(t)
			s.WriteFile(record.Path, c.text, 0o600)
			f := s.Read(resource.Config{Files: []resource.File{observetest.EmptyFile("/etc/x")}})
			if !strings.Contains(f.Problem, c.says) || !strings.Contains(f.Problem, record.Path) || f.Applied != nil || strings.ContainsAny(f.Problem, "\n\x1b") {
				t.Errorf("problem %q", f.Problem)
			}
		})
	}
	s := observetest.NewHost(t)
	s.WriteFile(record.Path, whole, 0o600)
	if f := s.MustRead(resource.Config{}); len(f.Nodes) != 2 {
		t.Error(f)
	}
}

package hostconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/longtest"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/observe/observetest"
	"holdfast/modules/moduletest"
)

// linkedHost is a box that the real scripts probe and write to, with the links of
// ostree hosts.
type linkedHost struct {
	*writeBox
	probe observetest.Host
}

func newLinkedHost(t *testing.T) linkedHost {
	b, h := newWriteBox(t), observetest.NewHost(t)
	b.Check(os.CopyFS(b.Root+"/fake", os.DirFS(h.Root+"/fake")))
	tools, err := os.ReadDir(b.Root + "/fake")
	b.Check(err)
	for _, e := range tools {
		b.Check(os.Chmod(filepath.Join(b.Root, "fake", e.Name()), 0o755))
	}
	h.Root = b.Root
	b.Check(os.RemoveAll(b.At("/home")))
	b.Link("/home", "var/home")
	b.Mkdir("var/home/core")
	b.Mkdir("var/usrlocal/bin")
	b.Check(os.RemoveAll(b.At("/usr/local")))
	b.Link("/usr/local", "../var/usrlocal")
	return linkedHost{b, h}
}

func ownFile(path, text string) resource.File {
	mode := 0o644
	me := resource.Owner{User: fmt.Sprint(os.Getuid()), Group: fmt.Sprint(os.Getgid())}
	return resource.File{Path: path, Contents: []byte(text), Mode: &mode, Owner: me}
}

// plan returns the comparison with a configuration.
func (h linkedHost) plan(c resource.Config, policy ...engine.Rule) (*configDiff, engine.Desired, error) {
	cfg, contents := c.Compact()
	d := engine.Desired{Config: &cfg, Contents: contents, Policy: policy}
	x, err := newConfigDiff(d, h.probe.GatherFacts(d), true)
	return x, d, err
}

// apply plans, writes and records. It returns the changes.
func (h linkedHost) apply(c resource.Config) []engine.Change {
	h.T.Helper()
	x, d, err := h.plan(c)
	h.Check(err)
	list := x.listChanges()
	if len(list) > 0 {
		w := x.buildWrite(engine.Target{Desired: d, Run: "r1", Host: engine.Host{Name: "w-1"}})
		h.Want(h.write(w), 0, "")
		h.Want(h.RunScript(recordScript(w.owner, w.after, false)), 0, "")
	}
	return list
}

func filesOf(files ...resource.File) resource.Config { return resource.Config{Files: files} }

// TestRespeltPath checks that a path that a document spells otherwise is the same
// file: it stays, its original too, and nothing is written.
func TestRespeltPath(t *testing.T) {
	longtest.SkipSlow(t)
	h := newLinkedHost(t)
	h.Put("/var/home/core/a.conf", "of the host\n", 0o644)
	h.apply(filesOf(ownFile("/home/core/a.conf", "one\n")))
	if got := h.Read("/var/home/core/a.conf"); got != "one\n" {
		t.Fatalf("written: %q", got)
	}
	if list := h.apply(filesOf(ownFile("/var/home/core/a.conf", "one\n"))); len(list) != 0 {
		t.Errorf("another spelling: %+v", list)
	}
	list := h.apply(filesOf(ownFile("/var/home/core/a.conf", "two\n")))
	if len(list) != 1 || list[0].Resource != "file /var/home/core/a.conf" || list[0].Verb != "update" || list[0].Drift {
		t.Errorf("other contents: %+v", list)
	}
	if list = h.apply(filesOf(ownFile("/home/core/a.conf", "three\n"))); len(list) != 1 || list[0].Resource != "file /home/core/a.conf" {
		t.Errorf("the plan has another spelling than the documents: %+v", list)
	}
	h.apply(resource.Config{})
	if got := h.Read("/var/home/core/a.conf"); got != "of the host\n" {
		t.Errorf("after it has left: %q", got)
	}
}

// TestTwoSpellings checks that one file under two spellings is refused, also as
// the parent of another entry, and that a record with both is cleaned up.
func TestTwoSpellings(t *testing.T) {
	h := newLinkedHost(t)
	both := filesOf(ownFile("/home/core/a.conf", "one\n"), ownFile("/var/home/core/a.conf", "two\n"))
	if _, _, err := h.plan(both); err == nil || !strings.Contains(err.Error(), "/home/core/a.conf and /var/home/core/a.conf are one path") {
		t.Errorf("got %v", err)
	}
	h.Put("/var/home/core/a.conf", "two\n", 0o644)
	recorded, _ := both.Compact()
	h.probe.WriteRecord(resource.Record{Schema: resource.RecordSchema, Config: recorded})
	if list := h.apply(filesOf(ownFile("/home/core/a.conf", "two\n"))); len(list) > 1 || len(list) == 1 && list[0].Resource != engine.RecordResource {
		t.Errorf("a record of both, and the host has the file: %+v", list)
	}
	h.probe.WriteRecord(resource.Record{Schema: resource.RecordSchema, Config: recorded})
	h.apply(resource.Config{})
	if h.Exists("var/home/core/a.conf") {
		t.Error("a file of a record with two spellings stays")
	}
}

// TestRespeltParents checks that directories, files below and hard links belong
// together under all spellings.
func TestRespeltParents(t *testing.T) {
	longtest.SkipSlow(t)
	h := newLinkedHost(t)
	mode := 0o700
	file := ownFile("/home/core/app/x", "x\n")
	c := resource.Config{
		Directories: []resource.Directory{{Path: "/var/home/core/app", Mode: &mode, Owner: file.Owner}},
		Files:       []resource.File{file},
		Links:       []resource.Link{{Path: "/usr/local/bin/x", Target: "/var/home/core/app/x", Hard: true}},
	}
	h.apply(c)
	if n := h.Node("/var/home/core/app"); n.Type != resource.PathDirectory || n.Mode != 0o700 {
		t.Errorf("the directory: %+v", n)
	}
	if got := h.Read("/var/usrlocal/bin/x"); got != "x\n" {
		t.Errorf("the hard link: %q", got)
	}
	if list := h.apply(c); len(list) != 0 {
		t.Errorf("the second time: %+v", list)
	}
	c.Files[0].Contents = []byte("y\n")
	h.apply(c)
	if got := h.Read("/var/usrlocal/bin/x"); got != "y\n" {
		t.Errorf("the hard link does not follow: %q", got)
	}
}

// TestRespeltRules checks that a rule covers all spellings of its path.
func TestRespeltRules(t *testing.T) {
	longtest.SkipSlow(t)
	h := newLinkedHost(t)
	h.Put("/var/home/core/x", "", 0o644)
	h.Put("/var/usrlocal/bin/load-registry-image.sh", "", 0o644)
	none := []engine.Action{{Type: engine.NoAction}}
	for _, tc := range []struct {
		file, rule string
		policy     engine.Rule
	}{
		{"/home/core/x", "policy: path /var/home/core", engine.Rule{Path: "/var/home/core", Actions: none}},
		{"/var/home/core/x", "policy: path /home", engine.Rule{Path: "/home", Actions: none}},
		{"/var/home/core/x", "policy: glob /home/*/x", engine.Rule{Glob: "/home/*/x", Actions: none}},
		{"/var/usrlocal/bin/load-registry-image.sh", "built-in: /usr/local/bin/load-registry-image.sh", engine.Rule{Path: "/etc", Actions: none}},
	} {
		x, _, err := h.plan(filesOf(ownFile(tc.file, "new\n")), tc.policy)
		h.Check(err)
		if list := x.listChanges(); len(list) != 1 || list[0].Rule != tc.rule {
			t.Errorf("%s: %+v, want the rule %s", tc.file, list, tc.rule)
		}
	}
}

// TestRespeltUnfinished checks that a write that a crash has interrupted under one
// spelling is continued under another.
func TestRespeltUnfinished(t *testing.T) {
	longtest.SkipSlow(t)
	h := newLinkedHost(t)
	h.Put("/var/home/core/a.conf", "two\n", 0o644)
	old, _ := filesOf(ownFile("/home/core/a.conf", "one\n")).Compact()
	next, _ := filesOf(ownFile("/home/core/a.conf", "two\n")).Compact()
	h.probe.WriteRecord(resource.Record{Schema: resource.RecordSchema, Config: old, Unfinished: &resource.UnfinishedWrite{
		Run: "r0", Boot: moduletest.Boot, Config: next, Touched: []string{"file /home/core/a.conf"}, Ours: []string{"/home/core/a.conf"},
	}})
	list := h.apply(filesOf(ownFile("/var/home/core/a.conf", "two\n")))
	if len(list) != 1 || list[0].Resource != "file /var/home/core/a.conf" || list[0].Drift {
		t.Errorf("its effect is open: %+v", list)
	}
	if got := h.Read("/var/home/core/a.conf"); got != "two\n" {
		t.Errorf("contents: %q", got)
	}
}

package hostconfig

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/modules/moduletest"
)

// A unit file without an Install section may get one when it is written. Then the
// unit can be enabled.
func TestUnitThatBecomesOneToEnable(t *testing.T) {
	yes := true
	c, _ := resource.Config{Units: []resource.Unit{{Name: "a.service", Contents: "[Install]\nWantedBy=multi-user.target\n", Enabled: &yes}}}.Compact()
	d := engine.Desired{Config: &c}
	seen := &resource.ConfigFacts{
		Nodes: map[string]resource.PathFacts{unitDir + "a.service": {Type: resource.PathFile, Digest: resource.Digest(nil), Mode: 0o644}},
		Units: map[string]string{"a.service": "static"},
	}
	x, err := newConfigDiff(d, engine.Facts{BootID: moduletest.Boot, Config: seen}, true)
	if err != nil {
		t.Fatal(err)
	}
	w := x.buildWrite(engine.Target{Desired: d, Run: "r1"})
	if len(w.units) != 1 || w.units[0] != (unitEdit{name: "a.service", do: "enable"}) {
		t.Errorf("units %+v", w.units)
	}
}

// A configuration may enable instances of a template that it also writes, and
// units that it also writes as files.
func TestUnitsThatTheConfigurationBrings(t *testing.T) {
	yes, mode := true, 0o644
	d := func(units ...resource.Unit) engine.Desired {
		c, contents := resource.Config{Units: units, Files: []resource.File{{Path: "/etc/systemd/system/file.service", Mode: &mode}}}.Compact()
		return engine.Desired{Config: &c, Contents: contents}
	}
	f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{Units: map[string]string{"a@1.service": "not-found", "file.service": "not-found", "none.service": "not-found"}}}
	ok := d(resource.Unit{Name: "a@.service", Contents: "[Service]\n"}, resource.Unit{Name: "a@1.service", Enabled: &yes}, resource.Unit{Name: "file.service", Enabled: &yes})
	if _, err := findChanges(ok, f); err != nil {
		t.Error(err)
	}
	if _, err := findChanges(d(resource.Unit{Name: "none.service", Enabled: &yes}), f); err == nil {
		t.Error("none.service is to be enabled, and nobody has it")
	}
}

// The steps of a host reuse the comparison that Diff made. They compare again
// only if drift must be left out.
func TestComparedOnce(t *testing.T) {
	mode := 0o644
	file := func(path, text string) resource.File {
		return resource.File{Path: path, Mode: &mode, Contents: []byte(text)}
	}
	c, contents := resource.Config{Files: []resource.File{file("/etc/a", "new"), file("/etc/b", "b")}}.Compact()
	was, _ := resource.Config{Files: []resource.File{file("/etc/a", "old"), file("/etc/b", "b")}}.Compact()
	d := engine.Desired{Config: &c, Contents: contents}
	node := func(text string) resource.PathFacts {
		return resource.PathFacts{Type: resource.PathFile, Digest: resource.Digest([]byte(text)), Mode: mode}
	}
	f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{Applied: &resource.Record{Schema: 1, Config: was}, Nodes: map[string]resource.PathFacts{"/etc/a": node("old"), "/etc/b": node("drifted")}}}
	found, err := module{}.Diff(d, f)
	changes := found.Changes
	if err != nil || len(changes) != 2 || !changes[1].Drift {
		t.Fatalf("%v %v", changes, err)
	}
	want := found.Steps(engine.Target{Desired: d, Facts: f}, changes)
	unknown := engine.Target{Desired: d, Facts: engine.Facts{BootID: moduletest.Boot}} // facts that nothing can be compared with
	if got := found.Steps(unknown, changes); len(want.Write) == 0 || !reflect.DeepEqual(got.Write, want.Write) {
		t.Errorf("without facts %+v, with them %+v", got.Write, want.Write)
	}
	only := found.Steps(engine.Target{Desired: d, Facts: f}, changes[:1])
	if reflect.DeepEqual(only.Write, want.Write) {
		t.Error("what has drifted is written, although it is only to be reported")
	}
}

// A unit that does not exist on the host counts as disabled.
func TestUnitThatIsNotThereIsDisabled(t *testing.T) {
	no := false
	c, _ := resource.Config{Units: []resource.Unit{{Name: "none.service", Enabled: &no}}}.Compact()
	f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{Applied: &resource.Record{Schema: 1, Config: c}, Units: map[string]string{"none.service": "not-found"}}}
	changes, err := findChanges(engine.Desired{Config: &c}, f)
	if err != nil || len(changes) > 0 {
		t.Errorf("changes %v, %v", changes, err)
	}
}

// A unit that the host does not have is created, also if it is to stay disabled.
func TestMissingUnitIsCreated(t *testing.T) {
	no := false
	c := resource.Config{Units: []resource.Unit{{Name: "app.service", Contents: "[Service]\n", Enabled: &no}}}
	f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{Nodes: map[string]resource.PathFacts{}, Units: map[string]string{"app.service": "not-found"}}}
	changes, err := findChanges(engine.Desired{Config: &c}, f)
	if err != nil || len(changes) != 1 || changes[0].Verb != "create" {
		t.Errorf("%+v, %v", changes, err)
	}
}

// A link is a difference where the document has an empty drop-in.
func TestEmptyDropinIsCompared(t *testing.T) {
	const path = "/etc/systemd/system/app.service.d/10-empty.conf"
	c := resource.Config{Units: []resource.Unit{{Name: "app.service", Dropins: []resource.Dropin{{Name: "10-empty.conf"}}}}}
	node := resource.PathFacts{Type: resource.PathLink, Target: "/dev/null", User: "root", Group: "root", Mode: 0o777}
	f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{Nodes: map[string]resource.PathFacts{path: node}}}
	changes, err := findChanges(engine.Desired{Config: &c}, f)
	if err != nil || len(changes) != 1 || changes[0].Resource != "unit app.service" || changes[0].Verb != "update" || !strings.Contains(changes[0].Before, "link") {
		t.Errorf("%+v, %v", changes, err)
	}
}

// If the target of a hard link is replaced, the link is replaced, too. This is no
// drift.
func TestHardLinkFollows(t *testing.T) {
	mode := 0o644
	config := func(text string) *resource.Config {
		c, _ := resource.Config{
			Files: []resource.File{{Path: "/etc/a", Contents: []byte(text), Mode: &mode}}, Links: []resource.Link{{Path: "/etc/b", Target: "/etc/a", Hard: true}},
		}.Compact()
		return &c
	}
	node := resource.PathFacts{Type: resource.PathFile, Digest: resource.Digest([]byte("1")), Mode: mode, Inode: "1:2"}
	f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{
		Applied: &resource.Record{Schema: 1, Config: *config("1")}, Nodes: map[string]resource.PathFacts{"/etc/a": node, "/etc/b": node},
	}}
	d := engine.Desired{Config: config("2")}
	changes, err := findChanges(d, f)
	if err != nil || len(changes) != 2 || changes[1].Resource != "link /etc/b" || changes[1].Drift {
		t.Fatalf("changes %+v, %v", changes, err)
	}
	x, err := newConfigDiff(d, f, true)
	if err != nil || len(x.buildWrite(engine.Target{Desired: d, Run: "r1"}).edits) != 2 {
		t.Errorf("the link is not written: %v", err)
	}
	if changes, err := findChanges(engine.Desired{Config: config("1")}, f); err != nil || len(changes) > 0 {
		t.Errorf("changes %+v, %v", changes, err)
	}
}

// A unit is disabled before its file is removed. If a configuration only enabled
// a unit, the unit gets its preset, if the host has the unit.
func TestUnitsThatLeave(t *testing.T) {
	yes := true
	was, _ := resource.Config{Units: []resource.Unit{
		{Name: "a@.service", Contents: "[Service]\n"},
		{Name: "a@1.service", Enabled: &yes},
		{Name: "none.service", Enabled: &yes},
		{Name: "os.service", Enabled: &yes},
		{Name: "over.service", Contents: "[Service]\n", Enabled: &yes},
		{Name: "own.service", Contents: "[Service]\n", Enabled: &yes},
		{Name: "saved.service", Contents: "[Service]\n", Enabled: &yes},
	}}.Compact()
	file := resource.PathFacts{Type: resource.PathFile, Digest: resource.Digest([]byte("[Service]\n")), Mode: 0o644}
	f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{
		Applied: &resource.Record{Schema: 1, Config: was},
		Nodes:   map[string]resource.PathFacts{unitDir + "a@.service": file, unitDir + "own.service": file, unitDir + "over.service": file, unitDir + "saved.service": file},
		Saved:   map[string]bool{unitDir + "saved.service": true},
		Units:   map[string]string{"a@.service": "disabled", "a@1.service": "enabled", "none.service": "not-found", "os.service": "enabled", "own.service": "enabled", "over.service": "enabled", "saved.service": "enabled"},
	}}
	d := engine.Desired{Config: &resource.Config{}}
	x, err := newConfigDiff(d, f, true)
	if err != nil {
		t.Fatal(err)
	}
	got := x.buildWrite(engine.Target{Desired: d, Run: "r1"}).units
	var want []unitEdit
	leave := func(name string) {
		want = append(want, unitEdit{name: name, do: "preset", ifPresent: true})
	}
	disable := func(name string) {
		want = append(want, unitEdit{name: name, do: "disable", early: true, enabled: true})
		leave(name)
	}
	leave("a@.service")
	disable("a@1.service")
	want = append(want, unitEdit{name: "os.service", do: "preset", enabled: true})
	for _, name := range []string{"over.service", "own.service", "saved.service"} {
		disable(name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("units %+v", got)
	}
}

// A file of an account whose ID changes is written again, though it is as desired: it
// would keep the old number. Links to it are, too.
func TestFilesFollowTheIDOfTheirOwner(t *testing.T) {
	ids := func(id int) *int { return &id }
	mode := 0o640
	text := resource.Digest([]byte("1"))
	node := resource.PathFacts{Type: resource.PathFile, Digest: text, Mode: mode, UID: 800, User: "ann", GID: 900, Group: "app", Inode: "1"}
	other := resource.PathFacts{Type: resource.PathFile, Digest: text, Mode: mode, Inode: "2"}
	for name, c := range map[string]struct {
		gid, uid int
		report   bool
		fresh    bool // no record
		want     []string
	}{
		"same IDs":          {gid: 900, uid: 800},
		"another GID":       {gid: 950, uid: 800, want: []string{"/etc/a", "/etc/dir", "/etc/hard"}},
		"another UID":       {gid: 900, uid: 850, want: []string{"/etc/a", "/etc/hard"}},
		"provisioned":       {gid: 950, uid: 800, fresh: true, want: []string{"/etc/a", "/etc/dir", "/etc/hard"}},
		"drift is reported": {gid: 950, uid: 800, report: true, want: []string{"/etc/a", "/etc/dir", "/etc/hard"}},
	} {
		documents := func(uid, gid int) resource.Config {
			compact, _ := resource.Config{
				Files: []resource.File{
					{Path: "/etc/a", Contents: []byte("1"), Mode: &mode, Owner: resource.Owner{User: "ann", Group: "app"}},
					{Path: "/etc/b", Contents: []byte("1"), Mode: &mode},
				},
				Directories: []resource.Directory{{Path: "/etc/dir", Mode: &mode, Owner: resource.Owner{Group: "app"}}},
				Links:       []resource.Link{{Path: "/etc/hard", Hard: true, Target: "/etc/a"}},
				Groups:      []resource.Group{{Name: "app", GID: ids(gid)}},
				Users:       []resource.User{{Name: "ann", Account: resource.Account{UID: ids(uid)}}},
			}.Compact()
			return compact
		}
		was, is := documents(800, 900), documents(c.uid, c.gid)
		f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{
			Applied: &resource.Record{Schema: 1, Config: was},
			Nodes: map[string]resource.PathFacts{
				"/etc/a": node, "/etc/b": other, "/etc/hard": node,
				"/etc/dir": {Type: resource.PathDirectory, Mode: mode, GID: 900, Group: "app"},
			},
			Groups: map[string]int{"app": 900},
			Users:  map[string]resource.Login{"ann": {UID: 800, Group: "app"}},
		}}
		if c.fresh {
			f.Config.Applied = nil
		}
		d := engine.Desired{Config: &is, Contents: map[string][]byte{text: []byte("1")}}
		x, err := newConfigDiff(d, f, !c.report)
		if err != nil {
			t.Fatal(err)
		}
		w := x.buildWrite(engine.Target{Desired: d, Run: "r1"})
		var got []string
		for _, e := range w.arrangeEdits() {
			if e.parent {
				continue
			}
			got = append(got, e.path)
			if !e.late && !e.hard {
				t.Errorf("%s: the owner of %s is set before its ID changes", name, e.path)
			}
			if e.save {
				t.Errorf("%s: %s becomes an original", name, e.path)
			}
			if e.kind == resource.PathFile && string(w.data[e.data]) != "1" {
				t.Errorf("%s: %s has no contents", name, e.path)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: writes %q, want %q", name, got, c.want)
		}
	}
}

// TestSameRecord checks that sameRecordedFile compares every field of a file that the record has.
func TestSameRecord(t *testing.T) {
	mode := 0o644
	file := resource.File{Path: "/a", Contents: []byte("c"), Append: []byte("p"), Digest: "d", Mode: &mode, Owner: resource.Owner{User: "u", Group: "g"}}
	for i := range reflect.TypeFor[resource.File]().NumField() {
		other := file
		reflect.ValueOf(&other).Elem().Field(i).SetZero()
		if reflect.ValueOf(file).Field(i).IsZero() { // a boolean, a digest or a position
			if f := reflect.ValueOf(&other).Elem().Field(i); f.Kind() == reflect.Bool {
				f.SetBool(true)
			}
		}
		a, b := resource.Config{Files: []resource.File{file}}, resource.Config{Files: []resource.File{other}}
		written, err := json.Marshal(a)
		otherwise, err2 := json.Marshal(b)
		if err != nil || err2 != nil || sameRecord(a, b) != bytes.Equal(written, otherwise) {
			t.Errorf("%s: %v %v, and %t", reflect.TypeFor[resource.File]().Field(i).Name, err, err2, sameRecord(a, b))
		}
	}
}

// A plan shows a password as its digest, and a missing password as words.
func TestPasswordsAreToldInWords(t *testing.T) {
	for hash, want := range map[string]string{
		"":      "an empty password, so a login asks for none",
		"!":     "no password, and locked",
		"!!":    "no password, and locked",
		"*":     "no password, and locked",
		"$6$ab": "password sha256:" + engine.ShortDigest(resource.Digest([]byte("$6$ab"))),
	} {
		x := accountDiff{
			facts: resource.ConfigFacts{Users: map[string]resource.Login{"core": {Password: resource.Digest([]byte(hash))}}},
			want:  resource.Config{Users: []resource.User{{Name: "core", PasswordHash: resource.Digest([]byte("$6$new"))}}},
		}
		if before, after := x.describeUserChange("core"); before != "no SSH keys, "+want || !strings.Contains(after, "password sha256:") {
			t.Errorf("%q: %q -> %q", hash, before, after)
		}
	}
}

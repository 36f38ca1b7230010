package hostconfig

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/modules/moduletest"
)

// A unit file without an Install section may get one when it is written. Then the
// unit can be enabled.
func TestUnitThatBecomesOneToEnable(t *testing.T) {
	yes := true
	c, _ := engine.Config{Units: []engine.Unit{{Name: "a.service", Contents: "[Install]\nWantedBy=multi-user.target\n", Enabled: &yes}}}.Compact()
	d := engine.Desired{Config: &c}
	seen := &engine.ConfigFacts{
		Nodes: map[string]engine.PathFacts{unitDir + "a.service": {Type: engine.PathFile, Digest: engine.Digest(nil), Mode: 0o644}},
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
	d := func(units ...engine.Unit) engine.Desired {
		c, contents := engine.Config{Units: units, Files: []engine.File{{Path: "/etc/systemd/system/file.service", Mode: &mode}}}.Compact()
		return engine.Desired{Config: &c, Contents: contents}
	}
	f := engine.Facts{BootID: moduletest.Boot, Config: &engine.ConfigFacts{Units: map[string]string{"a@1.service": "not-found", "file.service": "not-found", "none.service": "not-found"}}}
	ok := d(engine.Unit{Name: "a@.service", Contents: "[Service]\n"}, engine.Unit{Name: "a@1.service", Enabled: &yes}, engine.Unit{Name: "file.service", Enabled: &yes})
	if _, err := findChanges(ok, f); err != nil {
		t.Error(err)
	}
	if _, err := findChanges(d(engine.Unit{Name: "none.service", Enabled: &yes}), f); err == nil {
		t.Error("none.service is to be enabled, and nobody has it")
	}
}

// The steps of a host reuse the comparison that Diff made. They compare again
// only if drift must be left out.
func TestComparedOnce(t *testing.T) {
	mode := 0o644
	file := func(path, text string) engine.File {
		return engine.File{Path: path, Mode: &mode, Contents: []byte(text)}
	}
	c, contents := engine.Config{Files: []engine.File{file("/etc/a", "new"), file("/etc/b", "b")}}.Compact()
	was, _ := engine.Config{Files: []engine.File{file("/etc/a", "old"), file("/etc/b", "b")}}.Compact()
	d := engine.Desired{Config: &c, Contents: contents}
	node := func(text string) engine.PathFacts {
		return engine.PathFacts{Type: engine.PathFile, Digest: engine.Digest([]byte(text)), Mode: mode}
	}
	f := engine.Facts{BootID: moduletest.Boot, Config: &engine.ConfigFacts{Applied: &engine.Record{Schema: 1, Config: was}, Nodes: map[string]engine.PathFacts{"/etc/a": node("old"), "/etc/b": node("drifted")}}}
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
	c, _ := engine.Config{Units: []engine.Unit{{Name: "none.service", Enabled: &no}}}.Compact()
	f := engine.Facts{BootID: moduletest.Boot, Config: &engine.ConfigFacts{Applied: &engine.Record{Schema: 1, Config: c}, Units: map[string]string{"none.service": "not-found"}}}
	changes, err := findChanges(engine.Desired{Config: &c}, f)
	if err != nil || len(changes) > 0 {
		t.Errorf("changes %v, %v", changes, err)
	}
}

// A unit that the host does not have is created, also if it is to stay disabled.
func TestMissingUnitIsCreated(t *testing.T) {
	no := false
	c := engine.Config{Units: []engine.Unit{{Name: "app.service", Contents: "[Service]\n", Enabled: &no}}}
	f := engine.Facts{BootID: moduletest.Boot, Config: &engine.ConfigFacts{Nodes: map[string]engine.PathFacts{}, Units: map[string]string{"app.service": "not-found"}}}
	changes, err := findChanges(engine.Desired{Config: &c}, f)
	if err != nil || len(changes) != 1 || changes[0].Verb != "create" {
		t.Errorf("%+v, %v", changes, err)
	}
}

// A link in the place of an empty drop-in is a difference.
func TestEmptyDropinIsCompared(t *testing.T) {
	const path = "/etc/systemd/system/app.service.d/10-empty.conf"
	c := engine.Config{Units: []engine.Unit{{Name: "app.service", Dropins: []engine.Dropin{{Name: "10-empty.conf"}}}}}
	node := engine.PathFacts{Type: engine.PathLink, Target: "/dev/null", User: "root", Group: "root", Mode: 0o777}
	f := engine.Facts{BootID: moduletest.Boot, Config: &engine.ConfigFacts{Nodes: map[string]engine.PathFacts{path: node}}}
	changes, err := findChanges(engine.Desired{Config: &c}, f)
	if err != nil || len(changes) != 1 || changes[0].Resource != "unit app.service" || changes[0].Verb != "update" || !strings.Contains(changes[0].Before, "link") {
		t.Errorf("%+v, %v", changes, err)
	}
}

// If the target of a hard link is replaced, the link is replaced, too. This is no
// drift.
func TestHardLinkFollows(t *testing.T) {
	mode := 0o644
	config := func(text string) *engine.Config {
		c, _ := engine.Config{
			Files: []engine.File{{Path: "/etc/a", Contents: []byte(text), Mode: &mode}}, Links: []engine.Link{{Path: "/etc/b", Target: "/etc/a", Hard: true}},
		}.Compact()
		return &c
	}
	node := engine.PathFacts{Type: engine.PathFile, Digest: engine.Digest([]byte("1")), Mode: mode, Inode: "1:2"}
	f := engine.Facts{BootID: moduletest.Boot, Config: &engine.ConfigFacts{
		Applied: &engine.Record{Schema: 1, Config: *config("1")}, Nodes: map[string]engine.PathFacts{"/etc/a": node, "/etc/b": node},
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
	was, _ := engine.Config{Units: []engine.Unit{
		{Name: "a@.service", Contents: "[Service]\n"},
		{Name: "a@1.service", Enabled: &yes},
		{Name: "none.service", Enabled: &yes},
		{Name: "os.service", Enabled: &yes},
		{Name: "own.service", Contents: "[Service]\n", Enabled: &yes},
	}}.Compact()
	file := engine.PathFacts{Type: engine.PathFile, Digest: engine.Digest([]byte("[Service]\n")), Mode: 0o644}
	f := engine.Facts{BootID: moduletest.Boot, Config: &engine.ConfigFacts{
		Applied: &engine.Record{Schema: 1, Config: was},
		Nodes:   map[string]engine.PathFacts{unitDir + "a@.service": file, unitDir + "own.service": file},
		Units:   map[string]string{"a@.service": "disabled", "a@1.service": "enabled", "none.service": "not-found", "os.service": "enabled", "own.service": "enabled"},
	}}
	d := engine.Desired{Config: &engine.Config{}}
	x, err := newConfigDiff(d, f, true)
	if err != nil {
		t.Fatal(err)
	}
	got := x.buildWrite(engine.Target{Desired: d, Run: "r1"}).units
	want := []unitEdit{
		{name: "a@1.service", do: "disable", early: true, enabled: true},
		{name: "os.service", do: "preset", enabled: true},
		{name: "own.service", do: "disable", early: true, enabled: true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("units %+v", got)
	}
}

// sameRecordedFile compares every field of a file that the record has.
func TestSameRecord(t *testing.T) {
	mode := 0o644
	file := engine.File{Path: "/a", Contents: []byte("c"), Append: []byte("p"), Digest: "d", Mode: &mode, Owner: engine.Owner{User: "u", Group: "g"}}
	for i := range reflect.TypeFor[engine.File]().NumField() {
		other := file
		reflect.ValueOf(&other).Elem().Field(i).SetZero()
		if reflect.ValueOf(file).Field(i).IsZero() { // a boolean, a digest or a position
			if f := reflect.ValueOf(&other).Elem().Field(i); f.Kind() == reflect.Bool {
				f.SetBool(true)
			}
		}
		a, b := engine.Config{Files: []engine.File{file}}, engine.Config{Files: []engine.File{other}}
		written, err := json.Marshal(a)
		otherwise, err2 := json.Marshal(b)
		if err != nil || err2 != nil || sameRecord(a, b) != bytes.Equal(written, otherwise) {
			t.Errorf("%s: %v %v, and %t", reflect.TypeFor[engine.File]().Field(i).Name, err, err2, sameRecord(a, b))
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
		"$6$ab": "password sha256:" + engine.ShortDigest(engine.Digest([]byte("$6$ab"))),
	} {
		x := configDiff{
			facts: engine.ConfigFacts{Users: map[string]engine.Login{"core": {Password: engine.Digest([]byte(hash))}}},
			want:  engine.Config{Users: []engine.User{{Name: "core", PasswordHash: engine.Digest([]byte("$6$new"))}}},
		}
		if before, after := x.describeUserChange("core"); before != "no SSH keys, "+want || !strings.Contains(after, "password sha256:") {
			t.Errorf("%q: %q -> %q", hash, before, after)
		}
	}
}

package hostconfig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/observe"
	"holdfast/modules/moduletest"
)

// unitHost returns the facts of a host with one unit, and the desired state.
func unitHost(word string, was, is *resource.Unit) (engine.Desired, engine.Facts) {
	config := func(u *resource.Unit) resource.Config {
		c := resource.Config{}
		if u != nil {
			c.Units = []resource.Unit{*u}
		}
		c, _ = c.Compact()
		return c
	}
	c := config(is)
	f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{Nodes: map[string]resource.PathFacts{}, Units: map[string]string{"a.service": word}}}
	if was != nil {
		f.Config.Applied = &resource.Record{Schema: resource.RecordSchema, Config: config(was)}
		for _, e := range unitEntries(*was) {
			n := resource.PathFacts{Type: e.kind, Mode: 0o644}
			if n.Type == resource.PathLink {
				n.Target = e.data
			} else {
				n.Digest = e.data
			}
			f.Config.Nodes[e.path] = n
		}
	}
	return engine.Desired{Config: &c}, f
}

// describeUnitEdits returns the systemctl commands of a write, or the error of the plan.
func describeUnitEdits(d engine.Desired, f engine.Facts) string {
	x, err := newConfigDiff(d, f, true)
	if err != nil {
		return "refused: " + err.Error()
	}
	var list []string
	for _, u := range x.buildWrite(engine.Target{Desired: d, Run: "r1"}).units {
		list = append(list, map[bool]string{true: "early ", false: ""}[u.early]+u.do)
	}
	return strings.Join(list, ", ")
}

// TestUnitStates checks all words of systemctl is-enabled, for a unit of the OS
// that is to be enabled, to be disabled, and whose setting leaves.
func TestUnitStates(t *testing.T) {
	yes, no := true, false
	for word, want := range map[string][3]string{
		"enabled": {"", "disable", "preset"}, "enabled-runtime": {"enable", "", "preset"}, "disabled": {"enable", "", "preset"},
		"linked": {"enable", "", "preset"}, "linked-runtime": {"enable", "", "preset"}, "indirect": {"enable", "", "preset"},
		"static": {"", "", "preset"}, "generated": {"", "", ""}, "transient": {"refused", "", ""}, "bad": {"refused", "", ""},
		"alias": {"refused", "refused", ""}, "masked": {"refused", "", ""}, "masked-runtime": {"refused", "", ""},
		"not-found": {"refused", "", ""}, "": {"refused", "", ""}, "of-tomorrow": {"refused", "refused", ""},
	} {
		for i, is := range []*bool{&yes, &no, nil} {
			unit, was := &resource.Unit{Name: "a.service", Enabled: is}, (*resource.Unit)(nil)
			if is == nil {
				was = &resource.Unit{Name: "a.service", Enabled: &yes}
				unit = nil
			}
			got := describeUnitEdits(unitHost(word, was, unit))
			if want[i] == "refused" && !strings.HasPrefix(got, "refused: unit a.service ") || want[i] != "refused" && got != want[i] {
				t.Errorf("%q, enabled = %v: got %q, want %q", word, i, got, want[i])
			}
		}
	}
	for word := range wordsOfIsEnabled {
		if strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-") != "" {
			t.Errorf("%q is no word of systemctl", word)
		}
	}
}

// TestUnitBecomesAnother checks that a state of the host does not count if the
// write brings another unit file, or removes the mask.
func TestUnitBecomesAnother(t *testing.T) {
	yes, no := true, false
	text := "[Service]\nExecStart=/usr/bin/true\n[Install]\nWantedBy=multi-user.target\n"
	masked := &resource.Unit{Name: "a.service", Masked: &yes}
	for _, word := range []string{"masked", "alias", "bad", "transient", "not-found"} {
		if got := describeUnitEdits(unitHost(word, nil, &resource.Unit{Name: "a.service", Contents: text, Enabled: &yes})); got != "enable" {
			t.Errorf("%s, with contents: %q", word, got)
		}
	}
	for name, u := range map[string]*resource.Unit{"mask: false": {Name: "a.service", Masked: &no, Enabled: &yes}, "without mask": {Name: "a.service", Enabled: &yes}} {
		if got := describeUnitEdits(unitHost("masked", masked, u)); got != "enable" {
			t.Errorf("masked by holdfast, then %s: %q", name, got)
		}
	}
	// The unit below the mask may still have links that enable it.
	for name, c := range map[string]struct {
		is   *resource.Unit
		want string
	}{
		"mask: false, disabled": {&resource.Unit{Name: "a.service", Masked: &no, Enabled: &no}, "disable"},
		"its own, disabled":     {&resource.Unit{Name: "a.service", Contents: text, Enabled: &no}, "disable"},
		"no longer":             {nil, "preset"},
	} {
		if got := describeUnitEdits(unitHost("masked", masked, c.is)); got != c.want {
			t.Errorf("masked by holdfast, then %s: %q, want %q", name, got, c.want)
		}
	}
	if got := describeUnitEdits(unitHost("not-found", nil, &resource.Unit{Name: "a.service", Contents: text, Enabled: &no})); got != "" {
		t.Errorf("new, and disabled: %q", got)
	}
	if got := describeUnitEdits(unitHost("masked", masked, masked)); got != "" {
		t.Errorf("stays masked: %q", got)
	}
}

// systemctl disable and preset also change the units in Also= of a unit. Those that the
// configuration wants enabled are enabled again at the end of the write.
func TestOtherUnitsStayEnabled(t *testing.T) {
	yes, no := true, false
	stays := resource.Unit{Name: "stays.socket", Enabled: &yes}
	for name, c := range map[string]struct {
		was, is []resource.Unit
		want    []unitEdit
	}{
		"one is disabled": {
			[]resource.Unit{stays},
			[]resource.Unit{stays, {Name: "a.service", Enabled: &no}},
			[]unitEdit{{name: "a.service", do: "disable", enabled: true}, {name: "stays.socket", do: "enable", enabled: true}},
		},
		"one leaves": {
			[]resource.Unit{stays, {Name: "a.service", Enabled: &yes}},
			[]resource.Unit{stays},
			[]unitEdit{{name: "a.service", do: "preset", enabled: true}, {name: "stays.socket", do: "enable", enabled: true}},
		},
		"one is enabled": {
			[]resource.Unit{stays},
			[]resource.Unit{stays, {Name: "off.service", Enabled: &yes}},
			[]unitEdit{{name: "off.service", do: "enable"}},
		},
	} {
		f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{
			Applied: &resource.Record{Schema: resource.RecordSchema, Config: resource.Config{Units: c.was}},
			Units:   map[string]string{"a.service": "enabled", "stays.socket": "enabled", "off.service": "disabled"},
		}}
		d := engine.Desired{Config: &resource.Config{Units: c.is}}
		x, err := newConfigDiff(d, f, true)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := x.buildWrite(engine.Target{Desired: d, Run: "r1"}).units; !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestIndirectUnit checks that a unit whose state says nothing is enabled once, and
// not again by the next run.
func TestIndirectUnit(t *testing.T) {
	yes := true
	u := &resource.Unit{Name: "a.service", Enabled: &yes}
	d, f := unitHost("indirect", u, u)
	list, err := findChanges(d, f)
	if err != nil || len(list) != 0 || describeUnitEdits(d, f) != "" {
		t.Errorf("enabled by holdfast: %+v, %v", list, err)
	}
}

// TestInstallSection checks that a unit whose Install section changes is disabled
// with the old file and enabled with the new one.
func TestInstallSection(t *testing.T) {
	yes, no := true, false
	unit := func(install, command string, enabled *bool, dropins ...resource.Dropin) *resource.Unit {
		return &resource.Unit{Name: "a.service", Contents: "[Service]\nExecStart=" + command + "\n[Install]\n# comment\n" + install + "\n", Enabled: enabled, Dropins: dropins}
	}
	drop := resource.Dropin{Name: "x.conf", Contents: "[Install]\nAlias=b.service\n"}
	was := unit("WantedBy=multi-user.target", "/a", &yes)
	for name, tc := range map[string]struct {
		was, is *resource.Unit
		word    string
		want    string
	}{
		"another section":           {was, unit("RequiredBy=kubelet.service", "/a", &yes), "enabled", "early disable, enable"},
		"the same section":          {was, unit("WantedBy=multi-user.target", "/b", &yes), "enabled", ""},
		"another, now disabled":     {was, unit("RequiredBy=kubelet.service", "/a", &no), "enabled", "early disable"},
		"another, without enabled":  {unit("WantedBy=multi-user.target", "/a", nil), unit("RequiredBy=kubelet.service", "/a", nil), "enabled", ""},
		"another, disabled by hand": {was, unit("RequiredBy=kubelet.service", "/a", &yes), "disabled", "enable"},
		"a drop-in with a section":  {was, unit("WantedBy=multi-user.target", "/a", &yes, drop), "enabled", "early disable, enable"},
		"this drop-in leaves":       {unit("WantedBy=multi-user.target", "/a", &yes, drop), was, "enabled", "early disable, enable"},
	} {
		if got := describeUnitEdits(unitHost(tc.word, tc.was, tc.is)); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
	d, f := unitHost("enabled", was, was)
	f.Config.Nodes[unitDir+"a.service"] = resource.PathFacts{Type: resource.PathFile, Digest: "other", Mode: 0o644}
	if got := describeUnitEdits(d, f); got != "early disable, enable" {
		t.Errorf("the file has drifted, so its section is not known: %q", got)
	}
}

// TestUnitStatesOfSystemctl asks systemctl itself, without a running system, for
// the words that it has and whether it can enable such units.
func TestUnitStatesOfSystemctl(t *testing.T) {
	const systemctl = "/usr/bin/systemctl" // by its path: with --root it touches nothing of this machine
	if _, err := os.Stat(systemctl); err != nil {
		t.Skip("no systemctl")
	}
	root := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, link := strings.CutPrefix(text, "-> "); link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const install = "[Service]\nExecStart=/usr/bin/true\n[Install]\n"
	write("usr/lib/systemd/system/on.service", install+"WantedBy=multi-user.target\n")
	write("etc/systemd/system/multi-user.target.wants/on.service", "-> /usr/lib/systemd/system/on.service")
	write("usr/lib/systemd/system/off.service", install+"WantedBy=multi-user.target\n")
	write("usr/lib/systemd/system/static.service", "[Service]\nExecStart=/usr/bin/true\n")
	write("usr/lib/systemd/system/indirect.service", install+"Also=off.socket\n")
	write("usr/lib/systemd/system/off.socket", "[Socket]\nListenStream=1\n[Install]\nWantedBy=sockets.target\n")
	write("usr/lib/systemd/system/alias.service", "-> on.service")
	write("usr/lib/systemd/system/masked.service", install+"WantedBy=multi-user.target\n")
	write("etc/systemd/system/masked.service", "-> /dev/null")
	write("srv/linked.service", install+"WantedBy=multi-user.target\n")
	write("etc/systemd/system/linked.service", "-> /srv/linked.service")
	run := func(args ...string) (string, error) {
		out, err := exec.Command(systemctl, append([]string{"--root=" + root}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	for name, word := range map[string]string{
		"on": "enabled", "off": "disabled", "static": "static", "indirect": "indirect", "alias": "alias", "masked": "masked", "linked": "linked", "none": "not-found",
	} {
		got, _ := run("is-enabled", name+".service")
		if got != word && !(word == "not-found" && got == "") {
			t.Errorf("%s.service is %q, want %q", name, got, word)
			continue
		}
		s := wordsOfIsEnabled[word]
		if _, err := run("enable", name+".service"); err != nil && s.cannot == "" && !s.missing {
			t.Errorf("%s: systemctl cannot enable it: %v", word, err)
		} else if err == nil && (s.missing || s.cannot != "" && !s.neither) {
			t.Errorf("%s: systemctl can enable it", word)
		}
		after, _ := run("is-enabled", name+".service")
		if s.cannot == "" && !s.missing && after != "enabled" && !s.fixed && !s.unknown {
			t.Errorf("%s is %s after systemctl enable", word, fmt.Sprint(after))
		}
	}
}

// systemctl may end with 0 and do nothing. That is found before any reboot, and does not
// repeat at each apply.
func TestTheEffectOfSystemctlIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		do, state string
		early     bool
		says      string
	}{
		"enabled by the OS":     {"disable", "enabled", false, "the OS enables it in /usr; mask it instead"},
		"disabled still":        {"enable", "disabled", false, "its [Install] section names nothing that starts it"},
		"enabled anew":          {"disable", "enabled", true, ""},
		"of the OS, not a file": {"enable", "static", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "enabled by the OS")
			t.Parallel()
			b := newWriteBox(t)
			b.AddTool("systemctl", "[ \"$1\" != is-enabled ] || echo "+c.state+"\n")
			w := b.planWrite(contents{"/etc/a": "1"}, writtenFile("/etc/a"))
			w.units = []unitEdit{{name: "x.service", do: c.do, enabled: c.do == "disable", early: c.early}}
			if c.says == "" {
				b.mustWrite(w)
				return
			}
			b.checkRefused(w, hostscript.ScriptCannot, c.says)
		})
	}
}

// A unit of the OS gets its preset when the file over it is removed. A unit that the host
// does not have any more is skipped: systemctl preset would fail.
func TestTheUnitOfTheOSGetsItsPreset(t *testing.T) {
	for name, fails := range map[string]bool{"written": false, "undone": true} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "written")
			t.Parallel()
			b := newWriteBox(t)
			for _, unit := range []string{"over.service", "own.service"} {
				b.Put(unitDir+unit, "[Service]\n", 0o644)
				b.Put("/wants/"+unit, "", 0o644)
			}
			b.Put("/unit-files/over.service", "disabled\n", 0o644)
			b.Put("/presets/over.service", "", 0o644)
			w := b.planWrite(contents{}, removedPath(unitDir+"over.service"), removedPath(unitDir+"own.service"))
			for _, unit := range []string{"over.service", "own.service"} {
				w.units = append(w.units, unitEdit{name: unit, do: "disable", enabled: true, early: true}, unitEdit{name: unit, do: "preset", ifPresent: true})
			}
			if fails {
				b.Put("/no-x.service", "", 0o644)
				w.units = append(w.units, unitEdit{name: "x.service", do: "enable"})
				b.Want(b.write(w), hostscript.ScriptCannot, "write: all was put back")
				if !strings.Contains(b.Log(), "systemctl disable -- over.service\n") || !b.Exists("wants/over.service") || !b.Exists("wants/own.service") {
					t.Errorf("not undone:\n%s", b.Log())
				}
				return
			}
			b.mustWrite(w)
			if !b.Exists("wants/over.service") || b.Exists("wants/own.service") {
				t.Errorf("not the preset of the OS:\n%s", b.Log())
			}
		})
	}
}

// Ignition writes the units of the installation as presets, which win over those of the OS. A unit that leaves the
// configuration gets the preset of the OS all the same.
func TestPresetsOfIgnitionDoNotCount(t *testing.T) {
	yes := true
	for name, c := range map[string]struct{ unit, presets, after, fails string }{
		"only one":        {"a.socket", "enable a.socket\n", "", ""},
		"among others":    {"a.socket", "disable b.service\nenable a.socket\nenable a.socket.mount\n", "disable b.service\nenable a.socket.mount\n", ""},
		"an instance":     {"a@x.service", "enable a@.service w x\n", "enable a@.service w\n", ""},
		"all instances":   {"a@x.service", "enable b.service\nenable a@.service x\n", "enable b.service\n", ""},
		"not of the unit": {"a.socket", "enable b.service\n", "enable b.service\n", ""},
		"undone":          {"a.socket", "enable a.socket\n", "enable a.socket\n", "write: all was put back"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newWriteBox(t)
			b.Put(observe.IgnitionPresets, c.presets, 0o644)
			b.Put("/unit-files/"+c.unit, "enabled\n", 0o644)
			b.Put("/wants/"+c.unit, "", 0o644)
			node := b.Node(observe.IgnitionPresets)
			node.Contents = []byte(c.presets)
			f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{
				Nodes: map[string]resource.PathFacts{observe.IgnitionPresets: node}, Units: map[string]string{c.unit: "enabled"},
				Applied: &resource.Record{Schema: resource.RecordSchema, Config: resource.Config{Units: []resource.Unit{{Name: c.unit, Enabled: &yes}}}},
			}}
			d := engine.Desired{Config: &resource.Config{}}
			x, err := newConfigDiff(d, f, true)
			b.Check(err)
			w := x.buildWrite(engine.Target{Desired: d, Facts: f, Run: "r1"})
			if c.fails != "" {
				b.Put("/no-x.service", "", 0o644)
				w.units = append(w.units, unitEdit{name: "x.service", do: "enable"})
				b.Want(b.write(w), hostscript.ScriptCannot, c.fails)
			} else {
				b.Want(b.write(w), 0, "")
			}
			after := ""
			if b.Exists(observe.IgnitionPresets) {
				after = b.Read(observe.IgnitionPresets)
			}
			if after != c.after || b.Exists("wants/"+c.unit) != (c.fails != "") {
				t.Errorf("presets are %q, enabled: %v", after, b.Exists("wants/"+c.unit))
			}
		})
	}
}

// A generated MachineConfig may enable a unit that only some hosts have. Its host without the unit is not refused, gets no change
// for it, and a warning.
func TestAUnitToEnableIfPresent(t *testing.T) {
	yes := true
	for name, c := range map[string]struct {
		unit  resource.Unit
		word  string
		edits string
		tells bool
	}{
		"missing":               {resource.Unit{Name: "a.service", Enabled: &yes, IfPresent: true}, "not-found", "", true},
		"missing, with drop-in": {resource.Unit{Name: "a.service", Enabled: &yes, IfPresent: true, Dropins: []resource.Dropin{{Name: "1.conf", Contents: "[Unit]\n"}}}, "not-found", "", true},
		"present":               {resource.Unit{Name: "a.service", Enabled: &yes, IfPresent: true}, "disabled", "enable", false},
		"with contents":         {resource.Unit{Name: "a.service", Enabled: &yes, IfPresent: true, Contents: "[Service]\n"}, "not-found", "enable", false},
		"of a person":           {resource.Unit{Name: "a.service", Enabled: &yes}, "not-found", "refused: unit a.service is to be enabled, and the host does not have it", false},
	} {
		d, f := unitHost(c.word, nil, &c.unit)
		if got := describeUnitEdits(d, f); got != c.edits && !strings.HasPrefix(c.edits, "refused") || !strings.HasPrefix(got, c.edits) {
			t.Errorf("%s: got %q", name, got)
			continue
		}
		changes, _ := findChanges(d, f)
		if tells := len(changes) > 0 && strings.Contains(strings.Join(changes[0].Warnings, "\n"), "unit a.service is not enabled, because the host does not have it"); tells != c.tells {
			t.Errorf("%s: %+v", name, changes)
		}
		d, f = unitHost(c.word, &c.unit, &c.unit)
		if changes, err := findChanges(d, f); c.tells && (err != nil || len(changes) > 0) {
			t.Errorf("%s: changes after the record: %+v, %v", name, changes, err)
		}
	}
}

// The settings of a unit that the host does not have change, and nothing on the host: only the record changes, without a reboot.
// A drop-in is on the host also then.
func TestTheSettingsOfAMissingUnitChangeOnlyTheRecord(t *testing.T) {
	yes, no := true, false
	enabled, disabled := resource.Unit{Name: "a.service", Enabled: &yes, IfPresent: true}, resource.Unit{Name: "a.service", Enabled: &no, IfPresent: true}
	plain := resource.Unit{Name: "a.service", IfPresent: true}
	dropin := enabled
	dropin.Dropins = []resource.Dropin{{Name: "1.conf", Contents: "[Unit]\n"}}
	both := dropin
	both.Enabled = &no
	for name, c := range map[string]struct {
		word    string
		was, is *resource.Unit
		changes bool
	}{
		"leaves":                          {"not-found", &enabled, nil, false},
		"leaves, disabled":                {"not-found", &disabled, nil, false},
		"is disabled":                     {"not-found", &enabled, &disabled, false},
		"is enabled":                      {"not-found", &disabled, &enabled, false},
		"is no longer enabled":            {"not-found", &enabled, &plain, false},
		"is disabled, with drop-in":       {"not-found", &dropin, &both, false},
		"leaves, with drop-in":            {"not-found", &dropin, nil, true},
		"its drop-in leaves":              {"not-found", &dropin, &enabled, true},
		"gets a drop-in":                  {"not-found", &enabled, &both, true},
		"leaves, and is present":          {"enabled", &enabled, nil, true},
		"is disabled, and is present":     {"enabled", &enabled, &disabled, true},
		"no longer enabled, and present":  {"enabled", &enabled, &plain, true},
		"leaves, and was masked":          {"masked", &resource.Unit{Name: "a.service", Masked: &yes}, nil, true},
		"leaves, and its file is removed": {"not-found", &resource.Unit{Name: "a.service", Enabled: &yes, Contents: "[Service]\n"}, nil, true},
	} {
		d, f := unitHost(c.word, c.was, c.is)
		changes, err := findChanges(d, f)
		isRecord := len(changes) == 1 && changes[0].Resource == engine.RecordResource
		if err != nil || len(changes) == 0 || isRecord == c.changes {
			t.Errorf("%s: %+v, %v", name, changes, err)
		}
		if edits := describeUnitEdits(d, f); isRecord && edits != "" {
			t.Errorf("%s: %s", name, edits)
		}
	}
}

package hostconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/pathtest"
	"holdfast/modules/moduletest"
)

// gatheredHost is a tree that is probed like a host, with tools of its own.
type gatheredHost struct {
	tb   testing.TB
	root string
}

// probeTools answer from files below host: states/UNIT, passwd, group, shadow,
// sshd.conf.
var probeTools = map[string]string{
	"systemctl": `[ "$1 $2" = "is-enabled --" ] || exit 64
shift 2
[ ! -e "$BOX/bus" ] || { cat "$BOX/bus" >&2; exit 1; }
for u; do
	if [ -e "$BOX/states/$u" ]; then cat "$BOX/states/$u"
	elif [ -e "$BOX/old" ]; then echo "Failed to get unit file state for $u: No such file or directory" >&2; exit 1
	else echo not-found; fi
done
exit 1`,
	"sshd": `cat "$BOX/sshd.conf"`,
	"id":   `cat "$BOX/ids/$3"`,
	"getent": `file=$1 code=0; shift 2
for name; do grep "^$name:" "$BOX/$file" || code=2; done
exit $code`,
}

func newLooked(tb testing.TB) gatheredHost {
	s := gatheredHost{tb: tb, root: tb.TempDir()}
	for name, text := range probeTools {
		s.writeFile("/fake/"+name, "#!/bin/sh\n"+text+"\n", 0o755)
	}
	for _, name := range []string{"/fake/passwd", "/fake/group", "/fake/shadow", "/fake/sshd.conf"} {
		s.writeFile(name, "", 0o644)
	}
	return s
}

func (s gatheredHost) checkFacts(err error) {
	s.tb.Helper()
	if err != nil {
		s.tb.Fatal(err)
	}
}

func (s gatheredHost) writeFile(path, text string, mode os.FileMode) {
	s.tb.Helper()
	s.checkFacts(os.MkdirAll(filepath.Dir(s.root+path), 0o755))
	s.checkFacts(os.WriteFile(s.root+path, []byte(text), mode))
	s.checkFacts(os.Chmod(s.root+path, mode))
}

func (s gatheredHost) writeRecord(a engine.Record) {
	s.tb.Helper()
	s.writeFile(engine.RecordPath, string(encodeApplied(a)), 0o600)
}

func (s gatheredHost) probeAnswer(d engine.Desired) engine.Outputs {
	s.tb.Helper()
	commands := configProbe(d)
	text := hostscript.ProbeScript(commands, "b05e21")
	text = strings.ReplaceAll(text, engine.StateDir, s.root+engine.StateDir)
	text = strings.Replace(text, "\nroot=''\n", "\nroot="+hostscript.Quote(s.root)+"\n", 1)
	cmd := exec.Command("sh")
	cmd.Stdin = strings.NewReader(text)
	cmd.Env = []string{"PATH=" + s.root + "/fake:" + pathtest.Tools(), "BOX=" + s.root + "/fake"}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	s.checkFacts(cmd.Run())
	outputs, err := hostscript.ReadOutputs(commands, "b05e21", stdout.String(), stderr.String())
	s.checkFacts(err)
	return outputs
}

func (s gatheredHost) readAnswer(c engine.Config) *engine.ConfigFacts {
	s.tb.Helper()
	d := engine.Desired{Config: &c}
	return configRead(d, s.probeAnswer(d), engine.Facts{}).Config
}

// mustProbe returns the facts, which must have no problem.
func (s gatheredHost) mustProbe(c engine.Config) *engine.ConfigFacts {
	s.tb.Helper()
	f := s.readAnswer(c)
	if f.Problem != "" {
		s.tb.Fatal(f.Problem)
	}
	return f
}

func aFile(path string) engine.File { return engine.File{Path: path, Digest: engine.Digest(nil)} }

func TestNothingIsLookedAtWithoutConfiguration(t *testing.T) {
	if commands := configProbe(engine.Desired{}); commands != nil {
		t.Error(commands)
	}
	if f := configRead(engine.Desired{}, nil, engine.Facts{}); f.Config != nil {
		t.Error(f.Config)
	}
}

// oddPaths are paths that a script may handle wrongly.
var oddPaths = []string{
	"/etc/a b", "/etc/-n", "/etc/q'uote", `/etc/d"quote`, `/etc/back\slash`, `/etc/b\n`, "/etc/p%s%20", "/etc/ümläut ☃", "/etc/$(touch x)", "/etc/*",
	"/etc/ lead", "/etc/trail ", "/etc/a&b<c>", `/etc/end\`, `/etc/end",`, "/etc/],", `/etc/\"x\\"`, "/etc/a -> b", "/etc/line\u2028separator", "/etc/x== digests", "/== end", "/etc/.",
}

func TestEveryPathIsLookedAt(t *testing.T) {
	s := newLooked(t)
	var desired, recorded, unfinished engine.Config
	paths := oddPaths[:len(oddPaths)-1]
	for i, p := range paths {
		s.writeFile(p, p, 0o640)
		switch i % 3 {
		case 0:
			desired.Files = append(desired.Files, aFile(p))
		case 1:
			recorded.Files = append(recorded.Files, aFile(p))
		default:
			unfinished.Links = append(unfinished.Links, engine.Link{Path: p + "~", Target: p, Hard: true})
		}
	}
	s.writeRecord(engine.Record{Schema: 1, Config: recorded, Unfinished: &engine.UnfinishedWrite{Run: "r1", Boot: moduletest.Boot, Config: unfinished}})
	f := s.mustProbe(desired)
	for i, p := range paths {
		n, ok := f.Nodes[p]
		if !ok || n.Type != engine.PathFile || n.Digest != engine.Digest([]byte(p)) || n.Mode != 0o640 || n.UID != os.Getuid() || n.Inode == "" {
			t.Errorf("%s: %+v", p, n)
		}
		if n, ok := f.Nodes[p+"~"]; ok != (i%3 == 2) || n.Type != engine.PathMissing {
			t.Errorf("%s~: %t %+v", p, ok, n)
		}
	}
	if f.Applied == nil || f.Applied.Unfinished.Run != "r1" || !reflect.DeepEqual(f.Applied.Config, recorded) {
		t.Errorf("record %+v", f.Applied)
	}
}

func TestKindsOfNodes(t *testing.T) {
	s := newLooked(t)
	s.writeFile("/etc/file", "x", 0o4755)
	s.writeFile("/etc/empty", "", 0o600)
	s.checkFacts(os.Chmod(s.root+"/etc/file", 0o755|os.ModeSetuid))
	s.checkFacts(os.Mkdir(s.root+"/etc/dir", 0o700))
	s.checkFacts(os.Symlink("/no where -> else", s.root+"/etc/a -> link"))
	s.checkFacts(os.Link(s.root+"/etc/file", s.root+"/etc/hard"))
	s.checkFacts(exec.Command("mkfifo", s.root+"/etc/fifo").Run())
	s.checkFacts(os.MkdirAll(s.root+"/etc/systemd/system", 0o755))
	s.checkFacts(os.Symlink("/dev/null", s.root+"/etc/systemd/system/m.service"))
	large, err := os.Create(s.root + "/etc/large")
	s.checkFacts(err)
	s.checkFacts(large.Truncate(maxDigested))
	s.checkFacts(large.Close())
	c := engine.Config{
		Directories: []engine.Directory{{Path: "/etc/dir"}, {Path: "/etc/file/below"}},
		Files:       []engine.File{aFile("/etc/fifo"), aFile("/etc/none"), aFile("/etc/large"), aFile("/etc/empty")},
		Links:       []engine.Link{{Path: "/etc/a -> link", Target: "/x"}, {Path: "/etc/hard", Target: "/etc/file", Hard: true}},
		Units:       []engine.Unit{{Name: "m.service", Dropins: []engine.Dropin{{Name: "10.conf", Contents: "x"}}}},
	}
	f := s.mustProbe(c)
	got := map[string]string{}
	for p, n := range f.Nodes {
		got[p] = fmt.Sprintf("%s %o %s%.5s", n.Type, n.Mode, n.Target, n.Digest)
	}
	want := map[string]string{
		"/etc/file": "file 4755 2d711", "/etc/hard": "file 4755 2d711", "/etc/empty": "file 600 e3b0c", "/etc/large": "file 644 large",
		"/etc/dir": "directory 700 ", "/etc/fifo": got["/etc/fifo"], "/etc/none": " 0 ", "/etc/file/below": " 0 ",
		"/etc/a -> link": "link 777 /no where -> else", "/etc/systemd/system/m.service": "link 777 /dev/null", "/etc/systemd/system/m.service.d/10.conf": " 0 ",
	}
	if !reflect.DeepEqual(got, want) || f.Nodes["/etc/fifo"].Type != engine.PathOther {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if f.Nodes["/etc/hard"].Inode != f.Nodes["/etc/file"].Inode || f.Nodes["/etc/file"].Inode == f.Nodes["/etc/empty"].Inode {
		t.Error("hard links are not told by their inodes")
	}
}

func TestRecordThatIsNotUnderstood(t *testing.T) {
	whole := string(encodeApplied(engine.Record{Schema: 1, Config: engine.Config{Files: []engine.File{aFile("/etc/a"), aFile("/etc/b")}}}))
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
		"relative path":       {strings.ReplaceAll(whole, `/etc/a`, `etc/a`), "no path"},
		"path that climbs":    {strings.ReplaceAll(whole, `/etc/a`, `/etc/../a`), "no path"},
		"control character":   {string(encodeApplied(engine.Record{Schema: 1, Config: engine.Config{Files: []engine.File{aFile("/etc/a\nb")}}})), "control characters"},
		"too large":           {whole + strings.Repeat(" ", maxApplied), "more than 16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLooked(t)
			s.writeFile(engine.RecordPath, c.text, 0o600)
			f := s.readAnswer(engine.Config{Files: []engine.File{aFile("/etc/x")}})
			if !strings.Contains(f.Problem, c.says) || !strings.Contains(f.Problem, engine.RecordPath) || f.Applied != nil || strings.ContainsAny(f.Problem, "\n\x1b") {
				t.Errorf("problem %q", f.Problem)
			}
		})
	}
	s := newLooked(t)
	s.writeFile(engine.RecordPath, whole, 0o600)
	if f := s.mustProbe(engine.Config{}); len(f.Nodes) != 2 {
		t.Error(f)
	}
}

func TestRecordRoundTrip(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab /\\\"',%&<>]}-ü\u2028$`*[{:.")), 1, 12, -1)
	name := rapid.StringMatching(`[A-Za-z0-9:_.\\@-]{1,12}`)
	config := rapid.Custom(func(t *rapid.T) engine.Config {
		var c engine.Config
		for range rapid.IntRange(0, 4).Draw(t, "files") {
			c.Files = append(c.Files, engine.File{Path: "/" + text.Draw(t, "path"), Contents: []byte("x"), Owner: engine.Owner{User: name.Draw(t, "owner")}})
		}
		for range rapid.IntRange(0, 2).Draw(t, "units") {
			c.Units = append(c.Units, engine.Unit{Name: name.Draw(t, "unit"), Contents: text.Draw(t, "text"), Dropins: []engine.Dropin{{Name: name.Draw(t, "dropin")}}})
		}
		for range rapid.IntRange(0, 2).Draw(t, "users") {
			c.Users = append(c.Users, engine.User{Name: name.Draw(t, "user"), SSHKeys: []string{text.Draw(t, "key")}, Account: engine.Account{Groups: []string{name.Draw(t, "group")}}})
		}
		return c
	})
	dir := t.TempDir()
	_, sed, _ := strings.Cut(configProbeScript, "\nsay() {")
	sed, _, _ = strings.Cut(sed, "\nall=$(")
	rapid.Check(t, func(t *rapid.T) {
		a := engine.Record{Schema: 1, Config: config.Draw(t, "config")}
		if rapid.Bool().Draw(t, "unfinished") {
			a.Unfinished = &engine.UnfinishedWrite{Run: "r", Boot: "b", Config: config.Draw(t, "next")}
		}
		data := encodeApplied(a)
		var back engine.Record
		if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(a, back) {
			t.Fatalf("%v\n%s\n%+v\n%+v", err, data, a, back)
		}
		if !bytes.Equal(data, encodeApplied(back)) {
			t.Fatal("encoded another way the second time")
		}
		record := filepath.Join(dir, "applied.json")
		if err := os.WriteFile(record, data, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("sh", "-c", "export LC_ALL=C; record="+hostscript.Quote(record)+" maxrecord=1000000\nsay() {"+sed+"\nrecorded").Output()
		configs := []engine.Config{a.Config}
		if a.Unfinished != nil {
			configs = append(configs, a.Unfinished.Config)
		}
		if want := strings.Join(subjectLines(configs...), "\n"); err != nil || strings.TrimRight(string(out), "\n") != want {
			t.Fatalf("%v\ngot  %q\nwant %q\n%s", err, out, want, data)
		}
	})
}

func TestOriginalNames(t *testing.T) {
	seen := map[string]string{}
	for _, p := range append(oddPaths, "/etc/a", "/etc/a.default", "/etc/a%2Fb", "/etc/a/b", "/etc/a%252Fb", "/etc/"+strings.Repeat("x", 196), "/"+strings.Repeat("é/", 120)) {
		name := originalName(p)
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q are both %s", p, other, name)
		}
		seen[name] = p
		if strings.Contains(name, "/") || len(name)+len(defaultMark) > 255 || strings.HasSuffix(name, defaultMark) {
			t.Errorf("%q is %s", p, name)
		}
	}
	if name := originalName("/etc/ssh/x%"); name != "%2Fetc%2Fssh%2Fx%25" {
		t.Error(name)
	}
}

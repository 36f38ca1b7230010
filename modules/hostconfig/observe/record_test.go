package observe_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/engine/hostscript"
	"holdfast/engine/pathtest"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/record"
)

func TestRecordRoundTrip(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab /\\\"',%&<>]}-ü\u2028$`*[{:.")), 1, 12, -1)
	name := rapid.StringMatching(`[A-Za-z0-9:_.\\@-]{1,12}`)
	config := rapid.Custom(func(t *rapid.T) resource.Config {
		var c resource.Config
		for range rapid.IntRange(0, 4).Draw(t, "files") {
			c.Files = append(c.Files, resource.File{Path: "/" + text.Draw(t, "path"), Contents: []byte("x"), Owner: resource.Owner{User: name.Draw(t, "owner")}})
		}
		for range rapid.IntRange(0, 2).Draw(t, "units") {
			c.Units = append(c.Units, resource.Unit{Name: name.Draw(t, "unit"), Contents: text.Draw(t, "text"), Dropins: []resource.Dropin{{Name: name.Draw(t, "dropin")}}})
		}
		for range rapid.IntRange(0, 2).Draw(t, "users") {
			c.Users = append(c.Users, resource.User{Name: name.Draw(t, "user"), SSHKeys: []string{text.Draw(t, "key")}, Account: resource.Account{Groups: []string{name.Draw(t, "group")}}})
		}
		return c
	})
	dir := t.TempDir()
	script, err := os.ReadFile("sh/probe.sh")
	if err != nil {
		t.Fatal(err)
	}
	_, sed, _ := strings.Cut(string(script), "\nsay() {")
	sed, _, _ = strings.Cut(sed, "\nall=$(")
	rapid.Check(t, func(t *rapid.T) {
		a := resource.Record{Schema: 1, Config: config.Draw(t, "config")}
		if rapid.Bool().Draw(t, "unfinished") {
			a.Unfinished = &resource.UnfinishedWrite{Run: "r", Boot: "b", Config: config.Draw(t, "next")}
		}
		data := record.Encode(a)
		var back resource.Record
		if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(a, back) {
			t.Fatalf("%v\n%s\n%+v\n%+v", err, data, a, back)
		}
		if !bytes.Equal(data, record.Encode(back)) {
			t.Fatal("encoded another way the second time")
		}
		file := filepath.Join(dir, "applied.json")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(pathtest.Shell(), "-c", "export LC_ALL=C; record="+hostscript.Quote(file)+" maxrecord=1000000\nsay() {"+sed+"\nprint_recorded").Output()
		if want := strings.Join(record.Subjects(record.Configs(a)...), "\n"); err != nil || strings.TrimRight(string(out), "\n") != want {
			t.Fatalf("%v\ngot  %q\nwant %q\n%s", err, out, want, data)
		}
	})
}

func TestOriginalNames(t *testing.T) {
	seen := map[string]string{}
	for _, p := range append(oddPaths, "/etc/a", "/etc/a.default", "/etc/a%2Fb", "/etc/a/b", "/etc/a%252Fb", "/etc/"+strings.Repeat("x", 196), "/"+strings.Repeat("é/", 120)) {
		name := record.OriginalName(p)
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q are both %s", p, other, name)
		}
		seen[name] = p
		if strings.Contains(name, "/") || len(name)+len(record.DefaultMark) > 255 || strings.HasSuffix(name, record.DefaultMark) {
			t.Errorf("%q is %s", p, name)
		}
	}
	if name := record.OriginalName("/etc/ssh/x%"); name != "%2Fetc%2Fssh%2Fx%25" {
		t.Error(name)
	}
}

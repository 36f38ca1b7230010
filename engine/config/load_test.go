package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"holdfast/engine/config/registries"
	"holdfast/engine/config/syntax"
	"holdfast/engine/resource"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// TestCases loads the documents of each txtar file. The first line of its
// comment may name the paths to load ("load: base pool"); the default is one
// folder with all documents. "want" is the merged configuration; "want errors"
// and "want warnings" are the messages.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases (%v)", err)
	}
	for _, p := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(p), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(p)
			if err != nil {
				t.Fatal(err)
			}
			var input []txtar.File
			for _, f := range archive.Files {
				if !strings.HasPrefix(f.Name, "want") {
					input = append(input, f)
				}
			}
			got := txtar.Format(&txtar.Archive{Comment: archive.Comment, Files: append(input, renderResults(t, string(archive.Comment), input)...)})
			if *update {
				if err := os.WriteFile(p, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := txtar.Format(archive); !bytes.Equal(got, want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func renderResults(t *testing.T, comment string, input []txtar.File) []txtar.File {
	t.Helper()
	dir := t.TempDir()
	for _, f := range input {
		p := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, bytes.ReplaceAll(f.Data, []byte("<TAB>"), []byte("\t")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	src := Source{FS: os.DirFS(dir), Root: dir, Top: ".", Paths: []string{"."}}
	first, _, _ := strings.Cut(comment, "\n")
	if list, ok := strings.CutPrefix(first, "load: "); ok {
		src.Paths = strings.Fields(list)
	}
	loaded, err := Load(src)
	var files []txtar.File
	add := func(name, text string) {
		if text != "" {
			text = strings.ReplaceAll(strings.TrimRight(text, "\n"), dir+"/", "") + "\n"
			files = append(files, txtar.File{Name: name, Data: []byte(strings.ReplaceAll(text, dir, "."))})
		}
	}
	if err != nil {
		var list syntax.Errors
		if !errors.As(err, &list) {
			t.Fatalf("%T is no Errors", err)
		}
		add("want errors", err.Error())
		return files
	}
	add("want", describeConfig(loaded))
	roundTrip(t, loaded)
	add("want warnings", strings.Join(loaded.Warnings, "\n"))
	return files
}

// roundTrip reads the rendered Ignition config and expects the same
// configuration.
func roundTrip(t *testing.T, first Loaded) {
	t.Helper()
	text, err := first.Ignition()
	if err != nil {
		t.Fatal(err)
	}
	second, err := Load(Source{FS: fstest.MapFS{"x.ign": {Data: text}}, Paths: []string{"x.ign"}})
	if err != nil {
		t.Fatalf("the rendered config is refused: %v", err)
	}
	a, b := comparableConfig(first.Config), comparableConfig(second.Config)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("the rendered config says %+v\nwant %+v", b, a)
	}
	compactA, contentsA := a.Compact()
	compactB, contentsB := b.Compact()
	if !reflect.DeepEqual(compactA, compactB) || !reflect.DeepEqual(contentsA, contentsB) {
		t.Errorf("the rendered config is %+v\nwant %+v", compactB, compactA)
	}
}

// comparableConfig returns the part of a configuration that Ignition can
// express, without places.
func comparableConfig(c resource.Config) resource.Config {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	c = resource.Config{}
	if err := json.Unmarshal(text, &c); err != nil {
		panic(err)
	}
	c.OSImage, c.ExtensionsImage, c.KernelType, c.Extensions = "", "", "", nil
	c.Fixed = slices.DeleteFunc(c.Fixed, func(f resource.Fixed) bool { return f.Name == "fips" })
	c.KernelArgs = sortUnique(c.KernelArgs)
	for i := range c.Units {
		c.Units[i].IfPresent = false
	}
	if len(c.Fixed) == 0 {
		c.Fixed = nil
	}
	return c
}

func describeConfig(l Loaded) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for _, d := range l.Documents {
		line("document %s role=%q", d.Name, d.Role)
	}
	c := l.Config
	for _, f := range []struct {
		name  string
		value any
	}{{"os", c.OSImage}, {"extensions image", c.ExtensionsImage}, {"kernel type", c.KernelType}, {"extensions", c.Extensions}, {"kernel arguments", c.KernelArgs}, {"without kernel arguments", c.NoKernelArgs}} {
		if s := fmt.Sprint(f.value); s != "" && s != "[]" {
			line("%s %s", f.name, s)
		}
	}
	for _, f := range c.Files {
		line("file %s %s inherit=%t keep=%t %q + %q (%s)", f.Path, formatAccess(f.Mode, f.Owner), f.Inherit, f.Keep, f.Contents, f.Append, f.From)
	}
	for _, d := range c.Directories {
		line("directory %s %s (%s)", d.Path, formatAccess(d.Mode, d.Owner), d.From)
	}
	for _, l := range c.Links {
		line("link %s -> %s hard=%t %s keep=%t (%s)", l.Path, l.Target, l.Hard, formatAccess(nil, l.Owner), l.Keep, l.From)
	}
	for _, u := range c.Units {
		if u.IfPresent {
			u.Name += " if present"
		}
		line("unit %s enabled=%s masked=%s %q (%s)", u.Name, formatBool(u.Enabled), formatBool(u.Masked), u.Contents, u.From)
		for _, d := range u.Dropins {
			line("  drop-in %s %q", d.Name, d.Contents)
		}
	}
	for _, u := range c.Users {
		line("user %s keys=%q hash=%q uid=%s %+v (%s)", u.Name, u.SSHKeys, u.PasswordHash, formatInt(u.Account.UID), withoutUID(u.Account), u.From)
	}
	for _, g := range c.Groups {
		line("group %s gid=%s absent=%t system=%t hash=%q (%s)", g.Name, formatInt(g.GID), g.Absent, g.System, g.PasswordHash, g.From)
	}
	for _, f := range c.Fixed {
		line("fixed %s (%s)", f.Name, f.From)
	}
	return b.String()
}

func withoutUID(a resource.Account) resource.Account {
	a.UID = nil
	return a
}

func formatAccess(mode *int, o resource.Owner) string {
	s := "----"
	if mode != nil {
		s = fmt.Sprintf("%04o", *mode)
	}
	return fmt.Sprintf("%s %q:%q", s, o.User, o.Group)
}

func formatBool(b *bool) string {
	if b == nil {
		return "?"
	}
	return fmt.Sprint(*b)
}

func formatInt(i *int) string {
	if i == nil {
		return "?"
	}
	return fmt.Sprint(*i)
}

// TestRegistriesFolder: files of registries.conf.d are checked, too.
func TestRegistriesFolder(t *testing.T) {
	if got := checkContents(registries.Folder+"a.conf", []byte("short-name-mode = 5")); len(got) != 1 {
		t.Errorf("registries.conf.d is not looked into: %v", got)
	}
}

package config

import (
	"encoding/base64"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
)

// marker stands for a secret in the seeds. It may be in values only: names of
// fields and documents are shown.
const marker = "s3cr3t-m4rk3r"

// FuzzIgnition, FuzzMachineConfig and FuzzButane feed documents of each format
// to Load.
func FuzzIgnition(f *testing.F) {
	seed(f, ".ign", ".json")
	f.Add(`{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/a","mode":` + `"` + marker + `","contents":{"source":"` + marker + `"}}]}}`)
	f.Add(`{"ignition":{"version":"3.4.0"},"passwd":{"users":[{"name":"` + marker + `!","passwordHash":"` + marker + `","sshAuthorizedKeys":["` + marker + `"]}]}}`)
	f.Add(`{"ignition":{"version":"3.4.0"},"systemd":{"units":[{"name":"a.service","contents":"[` + marker + `"}]}} ` + marker)
	f.Fuzz(func(t *testing.T, text string) { judge(t, "x.ign", text) })
}

func FuzzMachineConfig(f *testing.F) {
	seed(f, ".yaml")
	f.Add("kind: MachineConfig\nmetadata: {name: a}\nspec:\n  kernelArguments: [\"" + marker + "\n  x\"]\n  config: " + marker + "\n")
	f.Add("a: &a [*a, *a]\n")
	f.Add("a: *" + marker + "\n")
	f.Add("kind: MachineConfig\nmetadata: {name: a}\nspec: {fips: " + marker + ", config: {ignition: {version: 3.4.0}, storage: {files: [{path: /var/lib/kubelet/config.json, contents: {source: 'data:," + marker + "'}}]}}}\n")
	f.Fuzz(func(t *testing.T, text string) { judge(t, "x.yaml", text) })
}

func FuzzButane(f *testing.F) {
	seed(f, ".bu")
	f.Add("variant: fcos\nversion: 1.5.0\nstorage:\n  files:\n    - path: /a\n      mode: " + marker + "\n      contents: {inline: " + marker + ", compression: " + marker + "}\n")
	f.Add("variant: openshift\nversion: 4.18.0\nmetadata: {name: a, labels: {x: " + marker + "}}\nopenshift: {kernel_type: " + marker + "}\npasswd: {users: [{name: " + marker + ", password_hash: " + marker + "}]}\n")
	f.Add("variant: " + marker + "\nversion: 1.5.0\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "local") || strings.Contains(text, "tree") {
			t.Skip() // would read the disk
		}
		judge(t, "x.bu", text)
	})
}

// FuzzPullSecret puts any text where passwords of registries belong.
func FuzzPullSecret(f *testing.F) {
	f.Add(`{"auths":{"a":{"auth":"dXNlcjpwYXNz"}}}`)
	f.Add(`{"auths":{"` + marker + `":{"auth":"` + marker + `"}}}`)
	f.Add(`{"` + marker + `":1}`)
	f.Add(marker)
	f.Fuzz(func(t *testing.T, text string) {
		doc := `{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/var/lib/kubelet/config.json","contents":{"source":` +
			string(appendString(nil, "data:;base64,"+base64.StdEncoding.EncodeToString([]byte(text)))) + `}}]}}`
		_, err := Load(Source{FS: fstest.MapFS{"x.ign": {Data: []byte(doc)}}, Paths: []string{"x.ign"}})
		if err != nil && strings.Contains(err.Error(), marker) {
			t.Fatalf("shows the secret: %v", err)
		}
	})
}

// FuzzSplit takes streams apart and puts them together again.
func FuzzSplit(f *testing.F) {
	f.Add("a\n---\nb\n--- c\n...\n---x\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines := 0
		for _, c := range split([]byte(text)) {
			if c.line < lines || c.line > strings.Count(text, "\n") {
				t.Fatalf("a chunk begins after line %d, the one before ended at %d", c.line, lines)
			}
			lines = c.line + strings.Count(string(c.text), "\n")
		}
		if want := strings.Count(text, "\n"); lines != want {
			t.Fatalf("%d lines, want %d", lines, want)
		}
	})
}

// seed adds the documents of the cases.
func seed(f *testing.F, ends ...string) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, p := range paths {
		archive, err := txtar.ParseFile(p)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			for _, end := range ends {
				if strings.HasSuffix(file.Name, end) {
					f.Add(string(file.Data))
				}
			}
		}
	}
}

// judge loads a document. Either it is refused, with a place for everything
// that is wrong and nothing secret, or what it renders to says the same.
func judge(t *testing.T, name, text string) {
	loaded, err := Load(Source{FS: fstest.MapFS{name: {Data: []byte(text)}}, Paths: []string{name}})
	said := strings.Join(loaded.Warnings, "\n")
	if err != nil {
		said += err.Error()
	}
	if strings.Contains(said, marker) && !named(name, text) {
		t.Fatalf("shows the secret: %s", said)
	}
	if err == nil {
		roundTrip(t, loaded)
		return
	}
	var list Errors
	if !errors.As(err, &list) || len(list) == 0 {
		t.Fatalf("%T: %v", err, err)
	}
	for _, p := range list {
		if p.Place.File != name || p.Text == "" {
			t.Errorf("no place or no text: %+v", p)
		}
	}
	if again := loadError(name, text); !reflect.DeepEqual(again, err) {
		t.Errorf("says another time %v, not %v", again, err)
	}
}

func loadError(name, text string) error {
	_, err := Load(Source{FS: fstest.MapFS{name: {Data: []byte(text)}}, Paths: []string{name}})
	return err
}

// named reports whether the marker became the name of a field or document.
func named(name, text string) bool {
	var ignored problems
	var found func(n *node) bool
	found = func(n *node) bool {
		if strings.Contains(n.text("name"), marker) {
			return true
		}
		for _, k := range n.keys {
			if strings.Contains(k.name, marker) {
				return true
			}
		}
		for _, item := range n.items {
			if found(item) {
				return true
			}
		}
		return false
	}
	nodes := []*node{readJSON(name, []byte(text), &ignored)}
	for _, c := range split([]byte(text)) {
		nodes = append(nodes, readYAML(name, c, &ignored))
	}
	for _, n := range nodes {
		if n != nil && found(n) {
			return true
		}
	}
	return false
}

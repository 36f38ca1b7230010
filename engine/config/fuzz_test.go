package config

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"holdfast/engine/config/syntax"
)

// marker stands for a secret. Messages may show it only as the name of a field
// or document.
const marker = "s3cr3t-m4rk3r"

// FuzzIgnition, FuzzMachineConfig and FuzzButane feed documents of each format
// to Load.
func FuzzIgnition(f *testing.F) {
	addSeeds(f, ".ign", ".json")
	f.Add(`{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/a","mode":` + `"` + marker + `","contents":{"source":"` + marker + `"}}]}}`)
	f.Add(`{"ignition":{"version":"2.2.0"},"storage":{"files":[{"filesystem":"root","path":"` + marker + `","contents":{"source":"data:,` + marker + `"}}]},"systemd":{"units":[{"name":"` + marker + `"}]}}`)
	f.Add(`{"ignition":{"version":"3.4.0"},"passwd":{"users":[{"name":"` + marker + `!","passwordHash":"` + marker + `","sshAuthorizedKeys":["` + marker + `"]}]}}`)
	f.Add(`{"ignition":{"version":"3.4.0"},"systemd":{"units":[{"name":"a.service","contents":"[` + marker + `"}]}} ` + marker)
	f.Fuzz(func(t *testing.T, text string) { checkLoad(t, "x.ign", text) })
}

func FuzzMachineConfig(f *testing.F) {
	addSeeds(f, ".yaml")
	f.Add("kind: MachineConfig\nmetadata: {name: a}\nspec:\n  kernelArguments: [\"" + marker + "\n  x\"]\n  config: " + marker + "\n")
	f.Add("apiVersion: config.openshift.io/v1\nkind: ImageDigestMirrorSet\nmetadata: {name: a}\nspec: {imageDigestMirrors: [{source: " + marker + ", mirrors: [quay.io/" + marker + "], mirrorSourcePolicy: " + marker + "}]}\n")
	f.Add("apiVersion: " + marker + "/v1\nkind: " + marker + "\n")
	f.Add("a: &a [*a, *a]\n")
	f.Add("a: *" + marker + "\n")
	f.Add("kind: MachineConfig\nmetadata: {name: a}\nspec: {fips: " + marker + ", config: {ignition: {version: 3.4.0}, storage: {files: [{path: /var/lib/kubelet/config.json, contents: {source: 'data:," + marker + "'}}]}}}\n")
	f.Fuzz(func(t *testing.T, text string) { checkLoad(t, "x.yaml", text) })
}

func FuzzButane(f *testing.F) {
	addSeeds(f, ".bu")
	f.Add("variant: fcos\nversion: 1.5.0\nstorage:\n  files:\n    - path: /a\n      mode: " + marker + "\n      contents: {inline: " + marker + ", compression: " + marker + "}\n")
	f.Add("variant: openshift\nversion: 4.18.0\nmetadata: {name: a, labels: {x: " + marker + "}}\nopenshift: {kernel_type: " + marker + "}\npasswd: {users: [{name: " + marker + ", password_hash: " + marker + "}]}\n")
	f.Add("variant: " + marker + "\nversion: 1.5.0\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "local") || strings.Contains(text, "tree") {
			t.Skip() // Butane would read local files from the disk
		}
		checkLoad(t, "x.bu", text)
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
			string(syntax.AppendString(nil, "data:;base64,"+base64.StdEncoding.EncodeToString([]byte(text)))) + `}}]}}`
		_, err := Load(Source{FS: fstest.MapFS{"x.ign": {Data: []byte(doc)}}, Paths: []string{"x.ign"}})
		if err != nil && strings.Contains(err.Error(), marker) {
			t.Fatalf("shows the secret: %v", err)
		}
	})
}

// FuzzJSON checks that ReadJSON accepts the same texts as encoding/json, with
// the same result.
func FuzzJSON(f *testing.F) {
	addSeeds(f, ".ign", ".json")
	for _, text := range []string{"[1,]", "[,1]", `{"a":1,}`, `{"a" 1}`, `["\\"]`, `["\\\"\u00e9\ud83d\ude00"]`, "[\"\x1f\"]", "[1.5e-7, -0, 01]", "[tru]", "[nullx]", `{"a":[{}, [], ""]}`, `["\q"]`, "[1] 2", "\"\xff\"", "[\"é\",x", "[1:2]", "\v1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want any
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		err := decoder.Decode(&want)
		valid := err == nil && json.Valid([]byte(text)) && utf8.ValidString(text)
		var report syntax.Problems
		n := syntax.ReadJSON("x.json", text, &report)
		deep := len(report.Errors) > 0 && strings.Contains(report.Errors[0].Text, "nested")
		if (n != nil) != valid && !deep {
			t.Fatalf("read %t (%v), and it is valid %t", n != nil, report.Errors, valid)
		}
		if n == nil || len(report.Errors) > 0 {
			return
		}
		var got any
		decoder = json.NewDecoder(bytes.NewReader(n.AppendJSON(nil)))
		decoder.UseNumber()
		if err := decoder.Decode(&got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: got %v, want %v", err, got, want)
		}
		checkPlaces(t, n, text)
	})
}

// checkPlaces checks that each value begins at its place.
func checkPlaces(t *testing.T, n *syntax.Node, text string) {
	line := strings.Split(text, "\n")[n.Line-1]
	rest := string([]rune(line)[n.Column-1:])
	first := map[syntax.Kind]string{syntax.ObjectKind: "{", syntax.ListKind: "[", syntax.TextKind: `"`, syntax.NullKind: "null", syntax.BoolKind: n.Scalar, syntax.NumberKind: n.Scalar}[n.Kind]
	if !strings.HasPrefix(rest, first) {
		t.Errorf("%s at %d:%d is %.20q", n.Kind, n.Line, n.Column, rest)
	}
	for _, item := range n.Items {
		checkPlaces(t, item, text)
	}
}

// addSeeds adds the documents of the cases.
func addSeeds(f *testing.F, ends ...string) {
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

// checkLoad loads a document. If loading fails, each error must have a place
// and no secret. If it succeeds, the rendered config must load to the same
// configuration.
func checkLoad(t *testing.T, name, text string) {
	loaded, err := Load(Source{FS: fstest.MapFS{name: {Data: []byte(text)}}, Paths: []string{name}})
	said := strings.Join(loaded.Warnings, "\n")
	if err != nil {
		said += err.Error()
	}
	if strings.Contains(said, marker) && !isNamed(name, text) {
		t.Fatalf("shows the secret: %s", said)
	}
	if err == nil {
		roundTrip(t, loaded)
		return
	}
	var list syntax.Errors
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

// isNamed reports whether the marker is part of the name of a field or
// document.
func isNamed(name, text string) bool {
	var ignored syntax.Problems
	var found func(n *syntax.Node) bool
	found = func(n *syntax.Node) bool {
		if strings.Contains(n.StringField("name"), marker) {
			return true
		}
		for _, k := range n.Keys {
			if strings.Contains(k.Name, marker) {
				return true
			}
		}
		for _, item := range n.Items {
			if found(item) {
				return true
			}
		}
		return false
	}
	nodes := []*syntax.Node{syntax.ReadJSON(name, text, &ignored)}
	for _, c := range syntax.SplitYAML([]byte(text)) {
		nodes = append(nodes, syntax.ReadYAML(name, c, &ignored))
	}
	for _, n := range nodes {
		if n != nil && found(n) {
			return true
		}
	}
	return false
}

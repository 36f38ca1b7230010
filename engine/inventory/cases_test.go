package inventory_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"holdfast/engine"
	"holdfast/engine/inventory"
)

// TestCases loads each site of testdata/*.txtar and compares the result with
// the last file of the archive, want: the inventory as JSON, or the errors. The
// comment of an archive describes the case. In the comment, a line "vars: a=1
// b=2" sets variables, "env: A=1" the environment, and "paths: a b" the values
// of -i.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			last := len(archive.Files) - 1
			if last < 0 || archive.Files[last].Name != "want" {
				t.Fatal("its last file is not want")
			}
			got := loadOutcome(t, archive, inventory.Load)
			if inPieces := loadOutcome(t, archive, inventory.LoadInPieces); inPieces != got {
				t.Errorf("in pieces:\n%s\nas a whole:\n%s", inPieces, got)
			}
			if got == string(archive.Files[last].Data) {
				return
			}
			if !inventory.Update() {
				t.Fatalf("got:\n%s\nwant:\n%s", got, archive.Files[last].Data)
			}
			archive.Files[last].Data = []byte(got)
			if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// inlineDocuments returns the documents that are written in the inventory itself. The
// JSON of an inventory leaves them out.
func inlineDocuments(of string, sources []engine.ConfigSource) string {
	got := ""
	for _, c := range sources {
		if c.Name != "" {
			got += fmt.Sprintf("document of %s: %s %q\n", of, c.Name, c.Text)
		}
	}
	return got
}

func loadOutcome(t *testing.T, archive *txtar.Archive, load func(inventory.Source) (inventory.Loaded, error)) string {
	t.Helper()
	site := fstest.MapFS{}
	src := inventory.Source{FS: site, Home: "/home/ann", Paths: []string{"site"}}
	for _, f := range archive.Files[:len(archive.Files)-1] {
		site[f.Name] = &fstest.MapFile{Data: f.Data}
		if strings.HasSuffix(f.Name, ".hclvars") {
			src.VarFiles = append(src.VarFiles, f.Name)
		}
	}
	env := map[string]string{}
	for line := range strings.Lines(string(archive.Comment)) {
		if vars, ok := strings.CutPrefix(line, "vars: "); ok {
			src.Vars = strings.Fields(vars)
		}
		if paths, ok := strings.CutPrefix(line, "paths: "); ok {
			src.Paths = strings.Fields(paths)
		}
		if vars, ok := strings.CutPrefix(line, "env: "); ok {
			for _, v := range strings.Fields(vars) {
				name, value, _ := strings.Cut(v, "=")
				env[name] = value
			}
		}
	}
	src.Env = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	loaded, err := load(src)
	if err != nil {
		return err.Error() + "\n"
	}
	out, err := json.MarshalIndent(loaded.Inventory, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got := string(out) + "\n"
	for _, p := range loaded.Inventory.Pools {
		got += inlineDocuments("pool "+p.Name, p.Configs)
	}
	for _, h := range loaded.Inventory.Hosts {
		got += inlineDocuments("host "+h.Name, h.Configs)
	}
	for _, w := range loaded.Warnings {
		got += "warning: " + w + "\n"
	}
	for _, v := range loaded.Sensitive {
		got += "sensitive: " + v + "\n"
	}
	return got
}

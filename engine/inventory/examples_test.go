package inventory_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/engine/inventory"
)

const commit = "commit=4d1f9c3e7a2b586001c4de92af37be45086dd1f2c3a4957be8061f5ad94c27e0"

// TestExamples: everything there is to copy is read without a complaint.
func TestExamples(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"inventories/*", "examples/*"} {
		found, err := filepath.Glob("../../" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	loaded := 0
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if !info.IsDir() && filepath.Ext(p) != ".hcl" {
			continue
		}
		loaded++
		t.Run(filepath.Base(p), func(t *testing.T) {
			src := inventory.Source{FS: os.DirFS("../.."), Paths: []string{strings.TrimPrefix(p, "../../")}, Home: "/home/ann"}
			text, err := os.ReadFile(p)
			if err != nil || strings.Contains(string(text), "variable \"commit\" {}") {
				src.Vars = []string{commit}
			}
			clean(t, src)
		})
	}
	if loaded < 6 {
		t.Errorf("only %d examples", loaded)
	}
}

var fence = regexp.MustCompile("(?s)```hcl\n(.*?)```")

// TestDocumented: the inventories in the documentation are read without a
// complaint.
func TestDocumented(t *testing.T) {
	for _, page := range []string{"README.md", "docs/inventory.md"} {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		found := fence.FindAllSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s has no inventory", page)
		}
		for _, m := range found {
			clean(t, inventory.Source{
				FS: fstest.MapFS{"a.hcl": {Data: m[1]}}, Paths: []string{"a.hcl"}, Vars: []string{commit}, Home: "/home/ann",
			})
		}
	}
}

func clean(t *testing.T, src inventory.Source) {
	t.Helper()
	l, err := inventory.Load(src)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Warnings) > 0 {
		t.Errorf("warnings: %v", l.Warnings)
	}
}

package inventory_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/engine/hostpattern"
	"holdfast/engine/inventory"
	"holdfast/engine/textutil"
)

const commit = "commit=4d1f9c3e7a2b586001c4de92af37be45086dd1f2c3a4957be8061f5ad94c27e0"

// TestExamples checks that all inventories that users may copy load without
// errors and warnings.
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
		if !info.IsDir() && filepath.Ext(p) != ".hcl" || filepath.Base(p) == "two-sites" {
			continue
		}
		loaded++
		t.Run(filepath.Base(p), func(t *testing.T) {
			checkLoadsCleanly(t, inventory.Source{FS: os.DirFS("../.."), Paths: []string{strings.TrimPrefix(p, "../../")}, Home: "/home/ann", Env: exampleVariable})
		})
	}
	if loaded < 12 {
		t.Errorf("only %d examples", loaded)
	}
}

// TestInventoriesNameKnownHosts checks that the keys of all hosts are where inventories/README.md collects them: beside the inventory.
func TestInventoriesNameKnownHosts(t *testing.T) {
	for _, p := range []string{"three-nodes.hcl", "single-node.hcl", "large"} {
		l, err := inventory.Load(inventory.Source{FS: os.DirFS("../.."), Paths: []string{"inventories/" + p}, Home: "/home/ann", Env: exampleVariable})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range l.Inventory.Hosts {
			if want := []string{l.Dir + "/known_hosts"}; !slices.Equal(h.SSH.KnownHosts, want) {
				t.Fatalf("%s: %s has %s, not %s", p, h.Name, h.SSH.KnownHosts, want)
			}
		}
	}
}

// TestTwoSites checks that each of the two sites has its own name, and so its own lock and journals, and its own folder.
func TestTwoSites(t *testing.T) {
	for _, name := range []string{"berlin", "oslo"} {
		dir := "examples/two-sites/" + name
		src := inventory.Source{FS: os.DirFS("../.."), Paths: []string{dir, "examples/two-sites/common.hcl"}, VarFiles: []string{dir + "/site.vars"}, Home: "/home/ann"}
		checkLoadsCleanly(t, src)
		if l, err := inventory.Load(src); err != nil || l.Inventory.Site != name || l.Dir != dir {
			t.Errorf("site %q in %q, %v", l.Inventory.Site, l.Dir, err)
		}
	}
}

// exampleVariable looks up an environment variable that the examples need.
func exampleVariable(name string) (string, bool) {
	v, ok := map[string]string{"HOLDFAST_VAR_commit": strings.TrimPrefix(commit, "commit="), "HOLDFAST_VAR_token": "t0ken"}[name]
	return v, ok
}

var fence = regexp.MustCompile("(?s)```hcl\n(.*?)```")

// TestDocumented checks that the inventories in the documentation load without
// errors and warnings.
func TestDocumented(t *testing.T) {
	for _, page := range []string{"README.md", "docs/inventory.md", "docs/configs.md", "docs/config-changes.md", "docs/rollouts.md", "docs/rollout-failures.md", "docs/gates.md"} {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		found := fence.FindAllSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s has no inventory", page)
		}
		for _, m := range found {
			checkLoadsCleanly(t, inventory.Source{
				FS: fstest.MapFS{"a.hcl": {Data: m[1]}, "host.bu.tmpl": {Data: []byte("${name} ${token}")}}, Paths: []string{"a.hcl"}, Env: exampleVariable, Home: "/home/ann",
			})
		}
	}
}

func checkLoadsCleanly(t *testing.T, src inventory.Source) {
	t.Helper()
	l, err := inventory.Load(src)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Warnings) > 0 {
		t.Errorf("warnings: %v", l.Warnings)
	}
}

var patternRow = regexp.MustCompile("(?m)^\\| (`[^|]*`) \\| [^`|]* \\| ?([^|]*)\\|$")

// TestPatternsDocumented checks that each host pattern in the documentation is
// valid and selects the hosts that the page lists.
func TestPatternsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/inventory.md")
	if err != nil {
		t.Fatal(err)
	}
	example := fence.FindSubmatch(page)
	l, err := inventory.Load(inventory.Source{FS: fstest.MapFS{"a.hcl": {Data: example[1]}}, Paths: []string{"a.hcl"}, Vars: []string{commit}})
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## Patterns")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := patternRow.FindAllStringSubmatch(section, -1)
	if len(rows) < 10 {
		t.Errorf("only %d patterns", len(rows))
	}
	for _, row := range rows {
		for pattern := range strings.SplitSeq(row[1], "`, `") {
			match, err := hostpattern.Parse(strings.Trim(pattern, "`"), l.Inventory)
			if err != nil {
				t.Error(err)
				continue
			}
			var names []string
			for _, h := range l.Inventory.Hosts {
				if match(h) {
					names = append(names, h.Name)
				}
			}
			got := strings.Join(textutil.FoldNames(names), " ")
			if want := strings.TrimSpace(row[2]); want != "" && got != want {
				t.Errorf("%s: %s, want %s", pattern, got, want)
			}
		}
	}
}

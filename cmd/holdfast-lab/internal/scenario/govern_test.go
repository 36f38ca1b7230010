package scenario

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"holdfast/cmd/holdfast-lab/internal/site"
	"holdfast/cmd/holdfast-lab/internal/spec"
)

// TestGovernorOff checks for each lab that a scenario starts with the governor
// switched off in all clusters, and that "govern" restores the inventory.
func TestGovernorOff(t *testing.T) {
	sources := map[string][]byte{"default": spec.DefaultHCL}
	paths, err := fs.Glob(labs, "labs/*.hcl")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if sources[path], err = fs.ReadFile(labs, path); err != nil {
			t.Fatal(err)
		}
	}
	clusters := 0
	for name, source := range sources {
		s, err := spec.Parse(name, source)
		if err != nil {
			t.Fatal(err)
		}
		inventory := string(site.RenderInventory(s, "branch", "commit", nil))
		off := addGovernorOff(inventory)
		if got := strings.Count(off, governorOff); got != len(s.Clusters) {
			t.Errorf("%s: the governor is switched off in %d of %d clusters", name, got, len(s.Clusters))
		}
		for _, c := range s.Clusters {
			if anchor := "etcd_cluster \"" + c.Name + "\" {\n"; !strings.Contains(off, anchor+governorOff) {
				t.Errorf("%s: cluster %s is governed:\n%s", name, c.Name, off)
			}
		}
		if removeGovernorOff(off) != inventory {
			t.Errorf("%s: the inventory is not restored:\n%s", name, removeGovernorOff(off))
		}
		clusters += len(s.Clusters)
	}
	if clusters < 3 {
		t.Errorf("only %d clusters were found", clusters)
	}
}

// TestGovernedScenarios checks that the scenarios about the governor, and one of
// the core that runs on each machine, have the default of the inventory.
func TestGovernedScenarios(t *testing.T) {
	all, err := listScripts()
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^lab .*\n(govern\n)?`)
	anywhere := false
	for _, s := range all {
		text, err := fs.ReadFile(scripts, s.path)
		if err != nil {
			t.Fatal(err)
		}
		governed := 0
		found := lines.FindAllStringSubmatch(string(text), -1)
		for _, f := range found {
			if f[1] != "" {
				governed++
			}
		}
		if strings.HasPrefix(s.name, "governed-") && governed < len(found) {
			t.Errorf("%s: %d of %d labs are governed", s.name, governed, len(found))
		}
		anywhere = anywhere || governed > 0 && s.core && !strings.Contains(string(text), "[!slow-disks]")
	}
	if !anywhere {
		t.Error("no scenario of the core that runs on each machine is governed")
	}
}

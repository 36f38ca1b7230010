package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
)

// TestExamplesAreValid checks that the example sites and their documents are
// valid, without a warning, except that the kubeconfigs of the sites do not exist.
func TestExamplesAreValid(t *testing.T) {
	t.Setenv("HOLDFAST_VAR_commit", strings.Repeat("4", 64))
	t.Setenv("HOLDFAST_VAR_token", "t0ken")
	documents := 0
	for _, pattern := range []string{"../../inventories/*", "../../examples/*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			args := []string{"validate", "-i", p}
			if filepath.Base(p) == "two-sites" {
				args = []string{"validate", "-i", filepath.Join(p, "berlin"), "-i", filepath.Join(p, "common.hcl"), "--var-file", filepath.Join(p, "berlin", "site.vars")}
			}
			if info, err := os.Stat(p); err != nil || !info.IsDir() && filepath.Ext(p) != ".hcl" {
				continue
			}
			code, stdout, stderr := runHoldfast(t, args...)
			absent := strings.Count(stderr, " cannot be read: no such file or directory; ") // its files of the bastion
			if code != engine.ExitOK || strings.Count(stderr, "\n") != absent {
				t.Errorf("%s: exit %d: %s", p, code, stderr)
			}
			if strings.Contains(stdout, "documents: ") {
				documents++
			}
		}
	}
	if documents == 0 {
		t.Error("no example has a document")
	}
}

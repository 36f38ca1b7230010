package engine_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The documentation names only files and folders that exist in the project.
func TestDocumentedPathsExist(t *testing.T) {
	named := regexp.MustCompile("`((?:engine|modules|cmd|testdata|examples|inventories|playbooks)/[A-Za-z0-9_/.-]+)`")
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range append(pages, "../README.md", "DESIGN.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "NAME") || m[1] == "testdata/rapid" { // NAME is a placeholder; rapid makes testdata/rapid
				continue
			}
			if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
				t.Errorf("%s names %s, which does not exist", filepath.Base(page), m[1])
			}
		}
	}
}

// No page has the marks of a merge that nobody finished, nor a paragraph of the changelog twice.
func TestPagesAreMerged(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	mark := regexp.MustCompile(`(?m)^(<<<<<<<|=======|>>>>>>>)( .*)?$`)
	seen := map[string]bool{}
	for _, page := range append(pages, "../README.md", "../CHANGELOG.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if m := mark.Find(text); m != nil {
			t.Errorf("%s has the line %q", filepath.Base(page), m)
		}
		if filepath.Base(page) != "CHANGELOG.md" {
			continue
		}
		for item := range strings.SplitSeq(string(text), "\n- ") {
			if seen[item] {
				t.Errorf("%s says twice: %s", filepath.Base(page), item)
			}
			seen[item] = true
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocumentedCommands: every holdfast command line in the documentation
// has a command, and flags, that exist.
func TestDocumentedCommands(t *testing.T) {
	pages := []string{"../../README.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../playbooks/*.md", "../../inventories/*.hcl", "../../examples/*.hcl"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	lines := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimLeft(line, " #$")
			args, ok := strings.CutPrefix(line, "holdfast ")
			if !ok || strings.Contains(line, "|") && !strings.Contains(page, "playbooks") {
				continue
			}
			words := strings.Fields(strings.Split(args, " #")[0])
			root := (&app{}).command()
			cmd, rest, err := root.Find(words)
			if err != nil || cmd == root {
				continue // prose that begins with the name
			}
			lines++
			if err := cmd.ParseFlags(rest); err != nil {
				t.Errorf("%s: %q: %v", page, strings.TrimSpace(line), err)
			}
		}
	}
	if lines < 15 {
		t.Errorf("only %d command lines were found", lines)
	}
}

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// documents are patterns of files that show command lines.
	documents = []string{"README.md", "docs/*.md", "playbooks/*.md", "inventories/*.*", "inventories/*/*.*", "examples/*.*", "examples/*/*.*"}
	shown     = regexp.MustCompile("(?m)(^[ #$]*(?:.* && )?|`)holdfast ([a-z][^`\n]*)")
	shellWord = regexp.MustCompile(`"[^"]*"|'[^']*'|[^\s"']+`)
)

// TestDocumentedCommands checks that every holdfast command line in the
// documentation has existing commands, flags and arguments. A line without
// indentation may be prose.
func TestDocumentedCommands(t *testing.T) {
	lines := 0
	for _, pattern := range documents {
		pages, err := filepath.Glob("../../" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range shown.FindAllStringSubmatch(string(text), -1) {
				prose := strings.TrimLeft(m[1], "#$ ") == m[1] && m[1] != "`"
				if checkCommand(t, page, m[2], prose) {
					lines++
				}
			}
		}
	}
	if lines < 60 {
		t.Errorf("only %d command lines were found", lines)
	}
}

// checkCommand checks one command line. It returns false if the line is prose.
func checkCommand(t *testing.T, page, line string, prose bool) bool {
	line, _, _ = strings.Cut(line, " #")
	line, _, _ = strings.Cut(line, " >")
	line, _, _ = strings.Cut(line, " | ")
	var words []string
	for _, w := range shellWord.FindAllString(line, -1) {
		words = append(words, strings.Trim(w, `"'`))
	}
	root := (&app{}).rootCommand()
	cmd, rest, err := root.Find(words)
	if err != nil || cmd == root {
		if !prose {
			t.Errorf("%s: holdfast %s: no such command", page, line)
		}
		return false
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("%s: holdfast %s: %v", page, line, err)
		return true
	}
	// Prose may name a command without its arguments, as in `holdfast hold`.
	if args := cmd.Flags().Args(); len(args) > 0 && !prose && cmd.Args != nil {
		if err := cmd.Args(cmd, args); err != nil {
			t.Errorf("%s: holdfast %s: %v", page, line, err)
		}
	}
	return true
}

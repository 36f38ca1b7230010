package report_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	shownText = regexp.MustCompile("(?s)```text\n(.*?)```")
	quoted    = regexp.MustCompile(`"([^"\n]*)"`)
)

// TestDocumentedOutput checks that the output in docs/rollouts.md and docs/rollout-failures.md is printed in
// exactly this form, or is tested in the planner. Only "…" stands for missing
// lines.
func TestDocumentedOutput(t *testing.T) {
	var page []byte
	for _, name := range []string{"rollouts.md", "rollout-failures.md"} {
		text, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		page = append(page, text...)
	}
	files, err := filepath.Glob("*/testdata/*.golden")
	if err != nil {
		t.Fatal(err)
	}
	var goldens []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		goldens = append(goldens, "\n"+string(text))
	}
	windows, err := os.ReadFile("../planner/canary_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range quoted.FindAllSubmatch(windows, -1) {
		goldens = append(goldens, "\n"+string(m[1])+"\n")
	}
	shown := shownText.FindAllStringSubmatch(string(page), -1)
	if len(shown) < 5 {
		t.Errorf("only %d outputs", len(shown))
	}
	for _, m := range shown {
		printed := false
		for _, golden := range goldens {
			printed = printed || hasParts(golden, strings.Split(m[1], "…\n"))
		}
		if !printed {
			t.Errorf("nothing prints\n%s", m[1])
		}
	}
}

// hasParts reports whether a text contains all parts, as whole lines and in order.
func hasParts(text string, parts []string) bool {
	for _, part := range parts {
		_, rest, found := strings.Cut(text, "\n"+part)
		if !found {
			return false
		}
		text = "\n" + rest
	}
	return true
}

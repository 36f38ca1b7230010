package syntax_test

import (
	"strings"
	"testing"

	"holdfast/engine/config/syntax"
)

// FuzzSplit checks that the chunks of a stream contain all of its lines, in
// order.
func FuzzSplit(f *testing.F) {
	f.Add("a\n---\nb\n--- c\n...\n---x\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines := 0
		for _, c := range syntax.SplitYAML([]byte(text)) {
			if c.Line < lines || c.Line > strings.Count(text, "\n") {
				t.Fatalf("a chunk begins after line %d, the one before ended at %d", c.Line, lines)
			}
			lines = c.Line + strings.Count(string(c.Text), "\n")
		}
		if want := strings.Count(text, "\n"); lines != want {
			t.Fatalf("%d lines, want %d", lines, want)
		}
	})
}

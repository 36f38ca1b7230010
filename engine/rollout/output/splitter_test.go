package output_test

import (
	"slices"
	"strings"
	"testing"

	"holdfast/engine/rollout/output"
)

// TestLongLineIsDroppedWhole checks that no part of a line that is too long is passed on: it could be a part of a secret.
func TestLongLineIsDroppedWhole(t *testing.T) {
	var lines []string
	s := output.Splitter{Each: func(l string) { lines = append(lines, l) }}
	for _, piece := range []string{"one\n", strings.Repeat("x", 5000) + "SEC", "RET\ntw", "o\n", strings.Repeat("y", 5000), "end"} {
		s.Write([]byte(piece))
	}
	s.Flush()
	if !slices.Equal(lines, []string{"one", "two"}) {
		t.Errorf("%.60q", lines)
	}
}

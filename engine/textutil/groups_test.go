package textutil_test

import (
	"slices"
	"testing"

	"holdfast/engine/textutil"
)

// TestGroups checks that groups keep the order in which their keys first appear.
func TestGroups(t *testing.T) {
	var g textutil.Groups[string, int]
	for i, key := range []string{"b", "a", "b", "c", "a"} {
		g.Add(key, i)
	}
	var seen []string
	for key, values := range g.All() {
		seen = append(seen, key)
		if !slices.Equal(values, g.Of(key)) || !slices.IsSorted(values) {
			t.Errorf("%s: %v", key, values)
		}
	}
	if !slices.Equal(seen, []string{"b", "a", "c"}) || !slices.Equal(seen, g.Keys()) || len(g.Of("x")) > 0 {
		t.Errorf("%v", seen)
	}
}

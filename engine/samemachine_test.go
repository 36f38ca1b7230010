package engine_test

import (
	"slices"
	"testing"

	"holdfast/engine"
)

func TestMarkSameMachines(t *testing.T) {
	facts := map[string]engine.Facts{
		"a": {Host: "a", BootID: "1"}, "b": {Host: "b", BootID: "2"}, "c": {Host: "c", BootID: "1+1"}, "d": {Host: "d"}, "e": {Host: "e"},
		"f": {Host: "f", Unreachable: "no route", BootID: "2"}, "g": {Host: "g", BootID: "1"},
	}
	if marked, want := engine.MarkSameMachines(facts), []string{"a", "c", "g"}; !slices.Equal(marked, want) {
		t.Errorf("marked %q, not %q", marked, want)
	}
	for name, reached := range map[string]bool{"a": false, "b": true, "c": false, "d": true, "e": true, "f": false, "g": false} {
		if facts[name].Reached() != reached || facts[name].Host != name {
			t.Errorf("%s: %+v", name, facts[name])
		}
	}
}

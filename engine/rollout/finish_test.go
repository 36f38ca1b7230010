package rollout

import (
	"testing"

	"holdfast/engine"
)

// TestAbsences: the end of a run is a sentence, however many hosts are out.
func TestAbsences(t *testing.T) {
	x := func(host string, why engine.ExclusionKind, reason string) engine.Exclusion {
		return engine.Exclusion{Host: host, Kind: why, Reason: reason}
	}
	few := []engine.Exclusion{
		x("w-1", engine.Unreachable, "connection refused"), x("w-2", engine.Held, "ann"), x("w-3", engine.Unreachable, "connection refused"),
	}
	many := append(few[:3:3], x("w-4", engine.Unreachable, "no route"), x("w-5", engine.Unreachable, "no sudo"))
	for want, list := range map[string][]engine.Exclusion{
		"w-[1,3] are unreachable (connection refused); w-2 is held (ann)": few,
		"w-[1,3-5] are unreachable; w-2 is held; holdfast plan says why":  many,
	} {
		if got := describeExclusions(list); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

package hoststate

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
)

// A host reports its last roll-out, which affects all other hosts. Text that
// holdfast cannot have written is a problem of this host, and no refusal.
func TestAForgedRolloutIsNotBelieved(t *testing.T) {
	many := map[string]string{}
	for i := range 2000 {
		many[fmt.Sprint("pool-", i)] = "x"
	}
	one := map[string]string{"w": "4d1f"}
	const run = "20260302-100000-0123456789abcdef"
	for name, c := range map[string]struct {
		forged   engine.Rollout
		believed bool
	}{
		"as holdfast writes it":  {engine.Rollout{Run: run, Number: 12, Targets: one}, true},
		"the highest":            {engine.Rollout{Run: run, Number: engine.MaxRollout, Targets: one}, true},
		"a number without bound": {engine.Rollout{Run: run, Number: math.MaxInt, Targets: one}, false},
		"a negative number":      {engine.Rollout{Run: run, Number: -1, Targets: one}, false},
		"two random bytes":       {engine.Rollout{Run: "20260302-100000-01ef", Targets: one}, false},
		"over others":            {engine.Rollout{Run: run, Number: engine.MaxRollout, Targets: one, Supersedes: slices.Repeat([]string{run}, engine.MaxSuperseded)}, true},
		"over more than it may":  {engine.Rollout{Run: run, Number: engine.MaxRollout, Targets: one, Supersedes: slices.Repeat([]string{run}, engine.MaxSuperseded+1)}, false},
		"over no run":            {engine.Rollout{Run: run, Number: engine.MaxRollout, Targets: one, Supersedes: []string{"r"}}, false},
		"an ID that never sorts": {engine.Rollout{Run: "r", Number: engine.MaxRollout, Targets: one}, false},
		"control characters":     {engine.Rollout{Run: "20260302-100000-\x1b[2J", Targets: one}, false},
		"a long ID":              {engine.Rollout{Run: strings.Repeat("r", 300), Targets: one}, false},
		"a long OS":              {engine.Rollout{Run: run, Targets: map[string]string{"w": strings.Repeat("d", 300)}}, false},
		"more pools than a site": {engine.Rollout{Run: run, Targets: many}, false},
	} {
		text, err := json.Marshal(c.forged)
		if err != nil {
			t.Fatal(err)
		}
		f := readMemory(engine.Outputs{"roll-out": {Stdout: string(text)}}, engine.Facts{})
		if (f.Rollout != nil) != c.believed || (f.RolloutProblem == "") != c.believed {
			t.Errorf("%s: %+v, problem %q", name, f.Rollout, f.RolloutProblem)
		}
	}
}

package hoststate

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/modules/moduletest"
)

// TestARolloutOfAnotherVersion checks that the facts have the version of a recorded roll-out if it is another one. The other
// fields of such a roll-out are not read.
func TestARolloutOfAnotherVersion(t *testing.T) {
	const run = "20260302-100000-0123456789abcdef"
	for text, want := range map[string]int{
		`{"schema":2,"run":"` + run + `","targets":{"w":"x"}}`: 2, `{"schema":7,"run":{"id":1},"targets":[]}`: 7, `{"schema":-1}`: -1,
		`{"schema":1,"run":"` + run + `","targets":{"w":"x"}}`: 0, `{"schema":"2"}`: 0, `{"schema":2} more`: 0, `[2]`: 0, "": 0,
	} {
		f := readMemory(engine.Outputs{"roll-out": {Stdout: text}}, engine.Facts{})
		if f.RolloutSchema != want || f.RolloutProblem != "" || want != 0 && f.Rollout != nil {
			t.Errorf("%s: schema %d, roll-out %+v, problem %q", text, f.RolloutSchema, f.Rollout, f.RolloutProblem)
		}
	}
	b := moduletest.NewBox(t)
	h := engine.Hold{Kind: engine.RunHold, Holder: "ann@bastion", Run: "r1", Reason: "test"}
	b.Want(b.Run(hostscript.HoldScript(h, 0, "", &engine.Rollout{Run: run, Targets: map[string]string{"w": "x"}})), 0, "")
	text, err := os.ReadFile(b.Root + hostscript.RolloutPath)
	if b.Check(err); !strings.HasPrefix(string(text), "{\n\"schema\":1,\n") {
		t.Errorf("a run writes %q", text)
	}
}

// TestTheLargestRollout checks that a host reports the roll-out of a site with as many pools, and as long names, as an
// inventory may have.
func TestTheLargestRollout(t *testing.T) {
	roll := engine.Rollout{Run: "20260302-100000-0123456789abcdef", Targets: map[string]string{}}
	for i := range engine.MaxPools {
		roll.Targets[fmt.Sprintf("%04d%s", i, strings.Repeat("p", 249))] = "sha256:" + moduletest.V1
	}
	text, err := json.Marshal(roll)
	if err != nil {
		t.Fatal(err)
	}
	b := moduletest.NewBox(t)
	b.Write(hostscript.RolloutPath, string(text))
	if f := b.ReadFacts(engine.Desired{}, Module()); f.Rollout == nil || len(f.Rollout.Targets) != engine.MaxPools {
		t.Errorf("problem %q", f.RolloutProblem)
	}
}

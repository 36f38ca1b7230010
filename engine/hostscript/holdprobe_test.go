package hostscript_test

import (
	"fmt"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
)

// TestHoldLook checks the result of ReadHold for a free host, a held host, and
// a host with an unreadable hold file.
func TestHoldLook(t *testing.T) {
	look := func(b *box) engine.Facts {
		out, _, code := b.run(hostscript.HoldProbeScript())
		hold, problem := hostscript.ReadHold(engine.Output{Stdout: out, Code: code})
		return engine.Facts{Hold: hold, HoldProblem: problem}
	}
	b := newBox(t)
	if f := look(b); f.Hold != nil || f.HoldProblem != "" || !f.Reached() {
		t.Errorf("nobody's: %+v", f)
	}
	b.mustRun(hostscript.HoldScript(runHold("r1"), hour, "", nil))
	if f := look(b); f.Hold == nil || f.Hold.Run != "r1" || f.HoldProblem != "" {
		t.Errorf("held: %+v", f)
	}
	for _, text := range []string{"", "{", "no hold"} {
		b.writeFile(engine.HoldPath, text)
		if f := look(b); f.Hold != nil || f.HoldProblem == "" {
			t.Errorf("%q is no hold: %+v", text, f)
		}
	}
	b.run(fmt.Sprintf("rm %[1]s; ln -s nowhere %[1]s", engine.HoldPath))
	if f := look(b); f.HoldProblem == "" {
		t.Errorf("a link to nowhere: %+v", f)
	}
}

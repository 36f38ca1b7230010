package hostscript_test

import (
	"path/filepath"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/pathtest"
)

// TestTwoRunsMakeTheFolder: two runs may come to a fresh host at once. One makes the folder of holdfast after the other has found
// that there is none.
func TestTwoRunsMakeTheFolder(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	mkdir := filepath.Join(pathtest.Tools(), "mkdir")
	b.tool("mkdir", "#!/bin/sh\n"+mkdir+" -p \"$BOX/var/lib/holdfast\"\nexec "+mkdir+" \"$@\"\n")
	b.mustRun(hostscript.TakeHoldScript(engine.Hold{Kind: engine.RunHold, Holder: "ann", Run: "r1", Bastion: "b1", Reason: "a reason"}, engine.TakeHold{}, time.Time{}))
	if b.hold() == nil {
		t.Error("the host is not held")
	}
}

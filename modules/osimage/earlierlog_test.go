package osimage

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
)

// TestARebootBlamesNoEarlierLog: the unit does not start. The log of an earlier order, or of one that is under way, has no
// reason of this one.
func TestARebootBlamesNoEarlierLog(t *testing.T) {
	for _, state := range []string{"inactive", "active"} {
		b := newOSHost(t)
		b.Hold(engine.RunHold, "r1")
		script := b.plainRebootStep()
		b.Write("run/holdfast/finalize.log", "reboot: 95 s have passed")
		b.Write("units/"+hostscript.RebootUnit, state)
		b.Write("unit-fails", "")
		if out := b.Run(script); out.Code != 1 || !strings.Contains(out.Stderr, "already loaded") || strings.Contains(out.Stderr, "95 s") {
			t.Errorf("%s: exit status %d\n%s", state, out.Code, out.Stderr)
		}
	}
}

// TestStagingBlamesNoEarlierUnit: the unit of a staging ends before its first command. The log of an earlier staging has no reason of this one.
func TestStagingBlamesNoEarlierUnit(t *testing.T) {
	b := newOSHost(t)
	b.Write("pull-fails", "error: Writing content object: No space left on device")
	b.Want(b.stage(softUpdate), hostscript.ScriptNoSpace, "No space left on device")
	b.Write("unit-dies", "")
	if out := b.stage(softUpdate); out.Code != 1 || strings.Contains(out.Stderr, "No space left") || !strings.Contains(out.Stderr, "journalctl --unit="+hostscript.StageUnit) {
		t.Errorf("exit status %d\n%s", out.Code, out.Stderr)
	}
}

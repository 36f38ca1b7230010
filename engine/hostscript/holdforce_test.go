package hostscript_test

import (
	"os"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
)

// TestAHoldThatNobodyCanReadIsEnded checks that EndHoldScript can remove a hold
// file with any content, but removes the file only if its content is the one
// that the person was shown.
func TestAHoldThatNobodyCanReadIsEnded(t *testing.T) {
	for name, text := range map[string]string{
		"without a run": `{"schema":1,"kind":"maintenance","holder":"bob@b2","reason":"fans"}`,
		"no hold":       "rubbish \x00\n", "empty": "", "too large": string(make([]byte, hostscript.MaxHold+100)),
	} {
		b := newBox(t)
		check(t, os.MkdirAll(b.root+engine.StateDir, 0o700))
		check(t, os.WriteFile(b.root+engine.HoldPath, []byte(text), 0o600))
		shown, _, _ := b.run(hostscript.HoldProbeScript())
		if _, _, code := b.run(hostscript.EndHoldScript(resource.Digest([]byte(shown+"x")), false)); code != hostscript.ScriptHeld {
			t.Errorf("%s: what was not shown is ended, exit status %d", name, code)
		}
		if _, errs, code := b.run(hostscript.EndHoldScript(resource.Digest([]byte(shown)), false)); code != 0 {
			t.Errorf("%s: exit status %d: %s", name, code, errs)
		}
		if _, err := os.Lstat(b.root + engine.HoldPath); err == nil {
			t.Errorf("%s: is still held", name)
		}
	}
	b := newBox(t)
	check(t, os.MkdirAll(b.root+engine.HoldPath+"/x", 0o700))
	b.mustRun(hostscript.EndHoldScript(resource.Digest([]byte("")), false))
	b.mustRun(hostscript.HoldScript(runHold("r1"), hour, "", nil))
	shown, _, _ := b.run(hostscript.HoldProbeScript())
	b.mustRun(hostscript.EndHoldScript(resource.Digest([]byte(shown)), false))
	b.mustRun(hostscript.EndHoldScript(resource.Digest([]byte(shown)), false)) // the answer to the first script may have been lost
}

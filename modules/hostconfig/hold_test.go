package hostconfig

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/modules/moduletest"
)

// If somebody takes a hold while the files of a write are uploaded, the write
// replaces nothing.
func TestAWriteDoesNotGoPastAHoldThatAppearsMeanwhile(t *testing.T) {
	for name, quiet := range map[string]bool{"under its own hold, which was ended": false, "quiet": true} {
		for _, point := range []string{"locked", "unpacked", "checked", "prepared"} {
			t.Run(name+", "+point, func(t *testing.T) {
				longtest.SkipOthers(t, name+", "+point, "quiet, prepared")
				t.Parallel()
				b := crashSite(t)
				w := b.crashWrite(quiet)
				b.Hold(engine.RunHold, "r1")
				if quiet {
					b.Remove(engine.HoldPath)
				}
				before := b.ListTree()
				b.stopAt(point, "printf '%s' '"+moduletest.TheirHold+"' >\"$BOX"+engine.HoldPath+"\""+goOn)
				out := b.write(w)
				b.awaitPoint(point)
				b.Want(out, hostscript.ScriptHeld, "held by someone else; nothing was done")
				if !strings.Contains(out.Stdout, "DIMM swap") {
					t.Errorf("does not say who: %s", out.Stdout)
				}
				b.Remove(engine.HoldPath)
				if !quiet {
					b.Hold(engine.RunHold, "r1")
				}
				if added, gone := differingLines(before, b.ListTree()); len(added)+len(gone) > 0 {
					t.Errorf("something is written: %q\nin place of %q", added, gone)
				}
				b.CheckClean()
			})
		}
	}
}

// differingLines returns the lines that only one of two trees has. It ignores the
// hold.
func differingLines(before, after string) (added, gone []string) {
	for line := range strings.Lines(after) {
		if !strings.Contains(before, line) && !strings.HasPrefix(line, engine.HoldPath) {
			added = append(added, line)
		}
	}
	for line := range strings.Lines(before) {
		if !strings.Contains(after, line) && !strings.HasPrefix(line, engine.HoldPath) {
			gone = append(gone, line)
		}
	}
	return added, gone
}

// From the first rename to the end of a quiet write, nobody can take a hold. The
// refusal names the run that writes.
func TestAHoldIsNotTakenInTheMiddleOfAWrite(t *testing.T) {
	longtest.SkipSlow(t)
	for _, point := range []string{"saved", "replaced", "act 0", "recorded"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := crashSite(t)
			b.Remove(engine.HoldPath)
			hold := hostscript.HoldScript(engine.Hold{Kind: engine.MaintenanceHold, Holder: "bob@b2", Run: "m-1", Reason: "DIMM swap"}, engine.Duration(time.Hour), "", nil)
			hold = strings.ReplaceAll(hold, "flock -w 30", "flock -w 0")
			for _, dir := range []string{"/var/lib/holdfast", "/etc/motd.d", "/etc/systemd/system"} {
				hold = strings.ReplaceAll(hold, dir, b.Root+dir)
			}
			b.Put("/run/hold.sh", hold, 0o600)
			b.stopAt(point, `sh "$BOX/run/hold.sh" >"$BOX/run/hold.out" 2>&1 9>&-; echo $? >>"$BOX/run/hold.out"`+goOn)
			b.Want(b.write(b.crashWrite(true)), 0, "")
			b.awaitPoint(point)
			if said := b.Read("/run/hold.out"); !strings.Contains(said, "busy with run r1, write, since 2") || !strings.HasSuffix(said, "\n82\n") {
				t.Errorf("hold says %q", said)
			}
			if b.Exists(engine.HoldPath) {
				t.Error("is held in the middle of a write")
			}
			b.crashWritten()
		})
	}
}

package modules

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
)

const theirHold = `{"kind":"maintenance","holder":"bob@b2","run":"m-1","reason":"DIMM swap"}`

// A hold that appears during the upload of a write stops it before anything is
// replaced.
func TestAWriteDoesNotGoPastAHoldThatAppearsMeanwhile(t *testing.T) {
	for name, quiet := range map[string]bool{"under its own hold, which was ended": false, "quiet": true} {
		for _, point := range []string{"locked", "unpacked", "checked", "prepared"} {
			t.Run(name+", "+point, func(t *testing.T) {
				t.Parallel()
				b := crashSite(t)
				w := b.crashWrite(quiet)
				b.hold(engine.RunHold, "r1")
				if quiet {
					b.remove(engine.HoldPath)
				}
				before := b.listTree()
				b.stopAt(point, "printf '%s' '"+theirHold+"' >\"$BOX"+engine.HoldPath+"\""+goOn)
				out := b.write(w)
				b.awaitPoint(point)
				b.want(out, hostscript.ScriptHeld, "held by someone else; nothing was done")
				if !strings.Contains(out.Stdout, "DIMM swap") {
					t.Errorf("does not say who: %s", out.Stdout)
				}
				b.remove(engine.HoldPath)
				if !quiet {
					b.hold(engine.RunHold, "r1")
				}
				if added, gone := differingLines(before, b.listTree()); len(added)+len(gone) > 0 {
					t.Errorf("something is written: %q\nin place of %q", added, gone)
				}
				b.checkClean()
			})
		}
	}
}

// differingLines returns the lines that only one of two trees has, without the
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

// From the first rename to the end, a quiet write prevents holds, and reports
// who writes.
func TestAHoldIsNotTakenInTheMiddleOfAWrite(t *testing.T) {
	for _, point := range []string{"saved", "replaced", "act 0", "recorded"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := crashSite(t)
			b.remove(engine.HoldPath)
			hold := hostscript.HoldScript(engine.Hold{Kind: engine.MaintenanceHold, Holder: "bob@b2", Run: "m-1", Reason: "DIMM swap"}, engine.Duration(time.Hour), "", nil)
			hold = strings.ReplaceAll(hold, "flock -w 30", "flock -w 0")
			for _, dir := range []string{"/var/lib/holdfast", "/etc/motd.d", "/etc/systemd/system"} {
				hold = strings.ReplaceAll(hold, dir, b.root+dir)
			}
			b.put("/run/hold.sh", hold, 0o600)
			b.stopAt(point, `sh "$BOX/run/hold.sh" >"$BOX/run/hold.out" 2>&1 9>&-; echo $? >>"$BOX/run/hold.out"`+goOn)
			b.want(b.write(b.crashWrite(true)), 0, "")
			b.awaitPoint(point)
			if said := b.read("/run/hold.out"); !strings.Contains(said, "busy with run r1, write, since 2") || !strings.HasSuffix(said, "\n75\n") {
				t.Errorf("hold says %q", said)
			}
			if b.exists(engine.HoldPath) {
				t.Error("is held in the middle of a write")
			}
			b.crashWritten()
		})
	}
}

// A hold that is taken after the check of a staging, and before its unit
// starts, keeps the unit from staging.
func TestStagingAsksForTheHoldOnceMore(t *testing.T) {
	b := newBox(t)
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: v2}}
	f := b.gatherFacts(d)
	changes, err := operatingSystem{}.Diff(d, f)
	b.check(err)
	script := operatingSystem{}.Steps(target(d, f), changes).Stage[0].Do.Exec.Script
	b.write("theirs", theirHold)
	swapped := strings.Replace(script, "\nsystemd-run --quiet", "\nmkdir -p "+engine.StateDir+"; cp \"$BOX/theirs\" "+engine.HoldPath+"\nsystemd-run --quiet", 1)
	if swapped == script {
		t.Fatal("the script has no such line")
	}
	b.want(b.run(swapped), hostscript.ScriptHeld, "held by someone else")
	if b.exists("staged") || strings.Contains(b.log(), "ostree pull") {
		t.Errorf("a host is staged that a person holds:\n%s", b.log())
	}
}

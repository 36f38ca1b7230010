package modules

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/rules"
)

// stopAt makes the next script stop at a point, and calls a function there.
func (b *writeBox) stopAt(point, do string) {
	b.t.Helper()
	_ = os.Remove(b.at("/run/holdfast/fault-hit"))
	b.put("/run/holdfast/fault", point, 0o600)
	b.put("/on-sleep", do, 0o600)
}

// awaitPoint requires that the script reaches the point.
func (b *writeBox) awaitPoint(point string) {
	b.t.Helper()
	if !b.exists("run/holdfast/fault-hit") {
		b.t.Fatalf("the script does not come to the point %q\n%s", point, b.log())
	}
}

const goOn = "\n: >\"$BOX/run/holdfast/fault-go\"\n"

// crashSite is a host that needs every kind of change.
func crashSite(t *testing.T) *writeBox {
	b := newWriteBox(t)
	b.put("/etc/mine.conf", "2\n", 0o644)
	b.put("/var/lib/holdfast/originals/%2Fetc%2Fmine.conf", "1\n", 0o640)
	b.put("/etc/default.conf", "changed\n", 0o644)
	b.put("/usr/etc/default.conf", "of the OS\n", 0o644)
	b.put("/var/lib/holdfast/originals/%2Fetc%2Fdefault.conf.default", "", 0o600)
	b.put("/etc/foreign.conf", "theirs\n", 0o600)
	b.put("/etc/going.conf", "going\n", 0o644)
	b.link("/etc/link", "old")
	b.put("/units/crio.service", "active\n", 0o644)
	return b
}

func (b *writeBox) crashWrite(quiet bool) hostWrite {
	saved := func(path string) bool {
		name := "var/lib/holdfast/originals/" + originalName(path)
		return b.exists(name) || b.exists(name+".default")
	}
	w := b.planWrite(contents{"/etc/foreign.conf": "ours\n", "/etc/a/b/new.conf": "new\n", "/etc/link2": "was a link\n"},
		pathEdit{path: "/etc/foreign.conf", kind: engine.PathFile, mode: 0o644, save: !saved("/etc/foreign.conf")},
		file("/etc/a/b/new.conf"),
		pathEdit{path: "/etc/dir", kind: engine.PathDirectory, mode: 0o750},
		pathEdit{path: "/etc/link", kind: engine.PathLink, data: "new target"},
		pathEdit{path: "/etc/hard", kind: engine.PathLink, hard: true, data: "/etc/a/b/new.conf"},
		pathEdit{path: "/etc/mine.conf", mode: -1, restore: saved("/etc/mine.conf")},
		pathEdit{path: "/etc/default.conf", mode: -1, restore: saved("/etc/default.conf")},
		gone("/etc/going.conf"))
	if b.exists("var/lib/holdfast/applied.json") && b.read(engine.RecordPath) == string(w.after) {
		w.edits = w.edits[:5] // removed paths are not ours any more
	}
	w.units = []unitEdit{{name: "new.service", do: "enable"}}
	w.quiet = quiet
	if quiet {
		w.acts = []rules.Action{{Action: engine.Action{Type: engine.ReloadUnit, Unit: "crio.service"}}}
	}
	return w
}

func (b *writeBox) crashWritten() {
	b.t.Helper()
	for path, want := range map[string]string{
		"/etc/foreign.conf": "ours\n", "/etc/a/b/new.conf": "new\n", "/etc/hard": "new\n",
		"/etc/mine.conf": "1\n", "/etc/default.conf": "of the OS\n",
		"/var/lib/holdfast/originals/%2Fetc%2Fforeign.conf": "theirs\n",
		"/var/lib/holdfast/applied.json":                    `{"after":1}`,
	} {
		if got := b.read(path); got != want {
			b.t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if b.node("/etc/link").Target != "new target" || b.node("/etc/dir").Mode != 0o750 || b.node("/etc/mine.conf").Mode != 0o640 || b.exists("etc/going.conf") || !b.exists("wants/new.service") {
		b.t.Errorf("not as written:\n%s", b.listTree())
	}
	names, err := os.ReadDir(b.at("/var/lib/holdfast/originals"))
	b.check(err)
	if len(names) != 1 {
		b.t.Errorf("originals %v", names)
	}
	b.checkClean()
}

// Killed at any point, with the power cut or not, the next run finishes. Up to "written" the script does the same whether
// it acts itself or not: each point there takes one of the two, in turn.
func TestAWriteThatIsCutShortIsFinishedByTheNext(t *testing.T) {
	points := []string{"locked", "unpacked", "checked", "prepared", "saved", "before", "groups", "users", "replaced", "keys", "units", "written", "act 0", "acted", "record", "recorded"}
	w := crashSite(t).crashWrite(true)
	for _, e := range w.edits {
		points = append(points, w.rename(e.path))
	}
	for i, point := range points {
		for n, how := range []string{"", "quiet"} {
			acts := point == "act 0" || point == "acted" || point == "record" || point == "recorded"
			if acts && how == "" || !acts && point != "written" && i%2 != n && !longtest.On() {
				continue
			}
			t.Run(point+" "+how, func(t *testing.T) {
				t.Parallel()
				b := crashSite(t)
				quiet := how != ""
				b.stopAt(point, "kill -9 0")
				if out := b.write(b.crashWrite(quiet)); out.Code != -1 {
					t.Fatalf("not killed: %d %s", out.Code, out.Stderr)
				}
				b.awaitPoint(point)
				if b.exists("etc/a/b/new.conf") && !b.exists("var/lib/holdfast/applied.json") {
					t.Error("something is written, and no record says so")
				}
				w := b.crashWrite(quiet)
				b.want(b.write(w), 0, "")
				if !quiet {
					b.record(w)
				}
				b.crashWritten()
			})
		}
	}
}

// rename returns the point right before a path is replaced.
func (w hostWrite) rename(path string) string {
	for i, it := range newListing(w).items {
		if it.path == path {
			return fmt.Sprint("rename ", i)
		}
	}
	return "none"
}

func TestARecordThatIsCutShortIsFinishedByTheNext(t *testing.T) {
	for _, point := range []string{"locked", "record", "recorded"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := crashSite(t)
			w := b.crashWrite(false)
			b.want(b.write(w), 0, "")
			b.stopAt(point, "kill -9 0")
			b.runScript(recordScript(by("r1"), w.after, false))
			b.awaitPoint(point)
			b.record(w)
			b.record(w)
			b.crashWritten()
		})
	}
}

// A restored original is forgotten even if the run died right after the record,
// and another run writes.
func TestAnotherRunForgetsWhatWasPutBack(t *testing.T) {
	b := crashSite(t)
	w := b.crashWrite(false)
	b.want(b.write(w), 0, "")
	b.stopAt("recorded", "kill -9 0")
	b.runScript(recordScript(by("r1"), w.after, false))
	b.awaitPoint("recorded")
	b.hold(engine.RunHold, "r2")
	w = b.planWrite(contents{"/etc/mine.conf": "3\n"}, pathEdit{path: "/etc/mine.conf", kind: engine.PathFile, mode: 0o644, save: true})
	w.owner = by("r2")
	b.want(b.write(w), 0, "")
	if got := b.read("/var/lib/holdfast/originals/%2Fetc%2Fmine.conf"); got != "1\n" {
		t.Errorf("original %q", got)
	}
	if b.exists("var/lib/holdfast/originals/%2Fetc%2Fdefault.conf.default") {
		t.Error("the mark of another original is left")
	}
}

// A write that fails halfway is undone, also entries that were replaced or
// removed already.
func TestWhatFailsHalfWayIsUndone(t *testing.T) {
	for point, sabotage := range map[string]string{
		"/etc/foreign.conf": "rm $BOX/etc/.holdfast-*/*-*",
		"/etc/a/b/new.conf": "rm $BOX/etc/a/b/.holdfast-*/*-*",
		"/etc/link":         "rm $BOX/etc/.holdfast-*/*-*",
		"/etc/hard":         "rm $BOX/etc/a/b/new.conf",
		"/etc/going.conf":   ": >$BOX/run/no-rm",
		"replaced":          ": >$BOX/no-new.service",
		"before":            ": >$BOX/run/no-mv",
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := crashSite(t)
			b.put("/var/lib/holdfast/applied.json", "old record", 0o600)
			for tool, path := range map[string]string{"rm": "./going.conf", "mv": "../link"} { // fails once
				b.addTool(tool, fmt.Sprintf("case $* in *%s) [ ! -e $BOX/run/no-%s ] || { %s $BOX/run/no-*; echo no >&2; exit 1; };; esac; exec %s \"$@\"\n", path, tool, real(t, "rm"), real(t, tool)))
			}
			w := b.crashWrite(false)
			before := b.listTree()
			if strings.HasPrefix(point, "/") {
				point = w.rename(point)
			}
			b.stopAt(point, sabotage+goOn)
			out := b.write(w)
			b.awaitPoint(point)
			b.want(out, hostscript.ScriptCannot, "write: all was put back")
			if strings.Count(out.Stderr, "\n") != 2 {
				t.Errorf("%s", out.Stderr)
			}
			_ = os.Remove(b.at("/no-new.service"))
			after := b.listTree()
			if d := differingLinesOf(before, after); !onlyOriginals(d) {
				t.Errorf("something has changed:\n%s", d)
			}
			b.checkClean()
		})
	}
}

// onlyOriginals reports whether the only difference is a kept original.
func onlyOriginals(d string) bool {
	for line := range strings.Lines(d) {
		if !strings.HasPrefix(line, "+ /var/lib/holdfast/originals/%2Fetc%2Fforeign.conf ") && !strings.HasPrefix(line, "+ /wants ") {
			return false
		}
	}
	return true
}

func TestTheSecondWriteChangesNothing(t *testing.T) {
	b := crashSite(t)
	b.want(b.write(b.crashWrite(true)), 0, "")
	b.crashWritten()
	w := b.crashWrite(true)
	b.want(b.write(w), 0, "")
	b.crashWritten()
}

func TestDirectoriesAndLinksAreUndone(t *testing.T) {
	b := newWriteBox(t)
	b.put("/etc/kept/x", "x", 0o644)
	b.put("/etc/empty/a/b/ours", "ours", 0o640)
	b.check(os.Chmod(b.at("/etc/empty/a"), 0o711))
	b.link("/etc/link", "old")
	b.put("/etc/file", "file", 0o4755)
	b.put("/no-x.service", "", 0o644)
	before := b.listTree()
	w := b.planWrite(contents{"/etc/link": "x", "/etc/new/y": "y"}, pathEdit{path: "/etc/kept", kind: engine.PathDirectory, mode: 0o700},
		pathEdit{path: "/etc/new", kind: engine.PathDirectory, mode: 0o700}, file("/etc/new/y"), file("/etc/link"),
		pathEdit{path: "/etc/file", kind: engine.PathLink, data: "x"},
		gone("/etc/empty/a/b/ours"), gone("/etc/empty/a/b"), gone("/etc/empty/a"), gone("/etc/empty"))
	w.units = []unitEdit{{name: "going.service", do: "disable", enabled: true, early: true}, {name: "on.service", do: "enable"}, {name: "x.service", do: "enable"}}
	b.put("/wants/going.service", "", 0o644)
	b.want(b.write(w), hostscript.ScriptCannot, "write: units: Failed to enable unit: Unit file x.service does not exist.")
	if !b.exists("wants/going.service") {
		t.Error("the unit that was disabled is not enabled again")
	}
	if b.exists("wants/on.service") {
		t.Error("the unit that was enabled is not disabled again")
	}
	b.check(os.RemoveAll(b.at("/wants")))
	if after := b.listTree(); after != before {
		t.Error(differingLinesOf(before, after))
	}
	b.checkClean()
}

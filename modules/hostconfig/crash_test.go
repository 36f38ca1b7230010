package hostconfig

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
	"holdfast/modules/hostconfig/observe/observetest"
	"holdfast/modules/hostconfig/record"
	"holdfast/modules/moduletest"
)

// stopAt makes the next script stop at a point, and run a shell command there.
func (b *writeBox) stopAt(point, do string) {
	b.T.Helper()
	_ = os.Remove(b.At("/run/holdfast/fault-hit"))
	b.Put("/run/holdfast/fault", point, 0o600)
	b.Put("/on-sleep", do, 0o600)
}

// awaitPoint requires that the script has reached the point.
func (b *writeBox) awaitPoint(point string) {
	b.T.Helper()
	if !b.Exists("run/holdfast/fault-hit") {
		b.T.Fatalf("the script does not come to the point %q\n%s", point, b.Log())
	}
}

const goOn = "\n: >\"$BOX/run/holdfast/fault-go\"\n"

// crashSite is a host that needs every kind of change.
func crashSite(t *testing.T) *writeBox {
	b := newWriteBox(t)
	b.Put("/etc/mine.conf", "2\n", 0o644)
	b.Put("/var/lib/holdfast/originals/%2Fetc%2Fmine.conf", "1\n", 0o640)
	b.Put("/etc/default.conf", "changed\n", 0o644)
	b.Put("/usr/etc/default.conf", "of the OS\n", 0o644)
	b.Put("/var/lib/holdfast/originals/%2Fetc%2Fdefault.conf.default", "", 0o600)
	b.Put("/etc/foreign.conf", "theirs\n", 0o600)
	b.Put("/etc/going.conf", "going\n", 0o644)
	b.Link("/etc/link", "old")
	b.Put("/units/crio.service", "active\n", 0o644)
	return b
}

func (b *writeBox) crashWrite(quiet bool) hostWrite {
	saved := func(path string) bool {
		name := "var/lib/holdfast/originals/" + record.OriginalName(path)
		return b.Exists(name) || b.Exists(name+".default")
	}
	w := b.planWrite(contents{"/etc/foreign.conf": "ours\n", "/etc/a/b/new.conf": "new\n", "/etc/link2": "was a link\n"},
		testEdit{path: "/etc/foreign.conf", kind: resource.PathFile, mode: 0o644, save: !saved("/etc/foreign.conf")},
		writtenFile("/etc/a/b/new.conf"),
		testEdit{path: "/etc/dir", kind: resource.PathDirectory, mode: 0o750},
		testEdit{path: "/etc/link", kind: resource.PathLink, data: "new target"},
		testEdit{path: "/etc/hard", kind: resource.PathLink, hard: true, data: "/etc/a/b/new.conf"},
		testEdit{path: "/etc/mine.conf", mode: -1, restore: saved("/etc/mine.conf")},
		testEdit{path: "/etc/default.conf", mode: -1, restore: saved("/etc/default.conf")},
		removedPath("/etc/going.conf"))
	if b.Exists("var/lib/holdfast/applied.json") && b.Read(record.Path) == string(w.after) {
		w.edits = w.edits[:5] // holdfast does not own removed paths
	}
	w.units = []unitEdit{{name: "new.service", do: "enable"}}
	w.quiet = quiet
	if quiet {
		w.acts = []rules.Action{{Action: engine.Action{Type: engine.ReloadUnit, Unit: "crio.service"}}}
	}
	return w
}

func (b *writeBox) crashWritten() {
	b.T.Helper()
	for path, want := range map[string]string{
		"/etc/foreign.conf": "ours\n", "/etc/a/b/new.conf": "new\n", "/etc/hard": "new\n",
		"/etc/mine.conf": "1\n", "/etc/default.conf": "of the OS\n",
		"/var/lib/holdfast/originals/%2Fetc%2Fforeign.conf": "theirs\n",
		"/var/lib/holdfast/applied.json":                    `{"after":1}`,
	} {
		if got := b.Read(path); got != want {
			b.T.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if b.Node("/etc/link").Target != "new target" || b.Node("/etc/dir").Mode != 0o750 || b.Node("/etc/mine.conf").Mode != 0o640 || b.Exists("etc/going.conf") || !b.Exists("wants/new.service") {
		b.T.Errorf("not as written:\n%s", b.ListTree())
	}
	names, err := os.ReadDir(b.At("/var/lib/holdfast/originals"))
	b.Check(err)
	if len(names) != 1 {
		b.T.Errorf("originals %v", names)
	}
	b.CheckClean()
}

// If a write is killed at any point, the next write finishes the work. By default
// one host has several writes that are killed, each at a later point, and a last
// one that finishes. Up to the point "written", a script that carries out actions
// does the same as one that does not. So each point up to there is tested with
// one of the two, by turns.
func TestAWriteThatIsCutShortIsFinishedByTheNext(t *testing.T) {
	longtest.SkipSlow(t)
	points := []string{"locked", "unpacked", "checked", "prepared", "saved", "before", "groups", "users"}
	for _, e := range crashSite(t).crashWrite(true).edits {
		points = append(points, e.path)
	}
	points = append(points, "replaced", "keys", "units")
	hosts := map[string][]string{}
	for i, point := range points {
		name := [2]string{"", "acts itself, "}[i%2] + [2]string{"early", "late"}[2*i/len(points)]
		hosts[name] = append(hosts[name], point)
	}
	hosts["late"] = append(hosts["late"], "written")
	if longtest.On() {
		clear(hosts)
		for _, point := range points {
			hosts[point], hosts["acts itself, "+point] = []string{point}, []string{point}
		}
		hosts["written"] = []string{"written"}
	}
	for _, point := range []string{"written", "act 0", "acted", "record", "recorded"} {
		name := "acts itself, late"
		if longtest.On() {
			name = "acts itself, " + point
		}
		hosts[name] = append(hosts[name], point)
	}
	for name, points := range hosts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crashSite(t).killAndFinish(points, strings.HasPrefix(name, "acts itself"))
		})
	}
}

// killAndFinish kills one write at each of the points, in order, and then
// requires that the next write finishes. A path stands for the point right before
// the path is replaced.
func (b *writeBox) killAndFinish(points []string, quiet bool) {
	b.T.Helper()
	for _, point := range points {
		w := b.crashWrite(quiet)
		if strings.HasPrefix(point, "/") {
			point = w.rename(point)
		}
		b.stopAt(point, "kill -9 0")
		if out := b.write(w); out.Code != -1 {
			b.T.Fatalf("not killed at %s: %d %s", point, out.Code, out.Stderr)
		}
		b.awaitPoint(point)
		if b.Exists("etc/a/b/new.conf") && !b.Exists("var/lib/holdfast/applied.json") {
			b.T.Errorf("at %s something is written, and no record says so", point)
		}
	}
	w := b.crashWrite(quiet)
	b.Want(b.write(w), 0, "")
	if !quiet {
		b.record(w)
	}
	b.crashWritten()
}

// rename returns the name of the point right before a path is replaced.
func (w hostWrite) rename(path string) string {
	for i, it := range w.arrangeEdits() {
		if it.path == path {
			return fmt.Sprint("rename ", i)
		}
	}
	return "none"
}

func TestARecordThatIsCutShortIsFinishedByTheNext(t *testing.T) {
	for _, point := range []string{"locked", "record", "recorded"} {
		t.Run(point, func(t *testing.T) {
			longtest.SkipOthers(t, point, "record")
			t.Parallel()
			b := crashSite(t)
			w := b.crashWrite(false)
			b.Want(b.write(w), 0, "")
			b.stopAt(point, "kill -9 0")
			b.RunScript(recordScript(moduletest.By("r1"), w.after, false))
			b.awaitPoint(point)
			b.record(w)
			b.record(w)
			b.crashWritten()
		})
	}
}

// If a run dies right after it has written the record, the next run removes the
// originals that were restored.
func TestAnotherRunForgetsWhatWasPutBack(t *testing.T) {
	longtest.SkipSlow(t)
	b := crashSite(t)
	w := b.crashWrite(false)
	b.Want(b.write(w), 0, "")
	b.stopAt("recorded", "kill -9 0")
	b.RunScript(recordScript(moduletest.By("r1"), w.after, false))
	b.awaitPoint("recorded")
	b.Hold(engine.RunHold, "r2")
	w = b.planWrite(contents{"/etc/mine.conf": "3\n"}, testEdit{path: "/etc/mine.conf", kind: resource.PathFile, mode: 0o644, save: true})
	w.owner = moduletest.By("r2")
	b.Want(b.write(w), 0, "")
	if got := b.Read("/var/lib/holdfast/originals/%2Fetc%2Fmine.conf"); got != "1\n" {
		t.Errorf("original %q", got)
	}
	if b.Exists("var/lib/holdfast/originals/%2Fetc%2Fdefault.conf.default") {
		t.Error("the mark of another original is left")
	}
}

// A write that fails halfway is undone. This includes entries that the write has
// already replaced or removed.
func TestWhatFailsHalfWayIsUndone(t *testing.T) {
	longtest.SkipSlow(t)
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
			b.Put("/var/lib/holdfast/applied.json", "old record", 0o600)
			for tool, path := range map[string]string{"rm": "./going.conf", "mv": "../link"} { // the tool fails once for this path
				b.AddTool(tool, fmt.Sprintf("case $* in *%s) [ ! -e $BOX/run/no-%s ] || { %s $BOX/run/no-*; echo no >&2; exit 1; };; esac; exec %s \"$@\"\n", path, tool, observetest.ToolPath(t, "rm"), observetest.ToolPath(t, tool)))
			}
			w := b.crashWrite(false)
			before := b.ListTree()
			if strings.HasPrefix(point, "/") {
				point = w.rename(point)
			}
			b.stopAt(point, sabotage+goOn)
			out := b.write(w)
			b.awaitPoint(point)
			b.Want(out, hostscript.ScriptCannot, "write: all was put back")
			if strings.Count(out.Stderr, "\n") != 1 { // the reason alone
				t.Errorf("%s", out.Stderr)
			}
			_ = os.Remove(b.At("/no-new.service"))
			after := b.ListTree()
			if d := moduletest.DifferingLinesOf(before, after); !onlyOriginals(d) {
				t.Errorf("something has changed:\n%s", d)
			}
			b.CheckClean()
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
	longtest.SkipSlow(t)
	b := crashSite(t)
	b.Want(b.write(b.crashWrite(true)), 0, "")
	b.crashWritten()
	w := b.crashWrite(true)
	b.Want(b.write(w), 0, "")
	b.crashWritten()
}

func TestDirectoriesAndLinksAreUndone(t *testing.T) {
	longtest.SkipSlow(t)
	b := newWriteBox(t)
	b.Put("/etc/kept/x", "x", 0o644)
	b.Put("/etc/empty/a/b/ours", "ours", 0o640)
	b.Check(os.Chmod(b.At("/etc/empty/a"), 0o711))
	b.Link("/etc/link", "old")
	b.Put("/etc/file", "file", 0o4755)
	b.Put("/no-x.service", "", 0o644)
	before := b.ListTree()
	w := b.planWrite(contents{"/etc/link": "x", "/etc/new/y": "y"}, testEdit{path: "/etc/kept", kind: resource.PathDirectory, mode: 0o700},
		testEdit{path: "/etc/new", kind: resource.PathDirectory, mode: 0o700}, writtenFile("/etc/new/y"), writtenFile("/etc/link"),
		testEdit{path: "/etc/file", kind: resource.PathLink, data: "x"},
		removedPath("/etc/empty/a/b/ours"), removedPath("/etc/empty/a/b"), removedPath("/etc/empty/a"), removedPath("/etc/empty"))
	w.units = []unitEdit{{name: "going.service", do: "disable", enabled: true, early: true}, {name: "on.service", do: "enable"}, {name: "x.service", do: "enable"}}
	w.units = append(w.units, unitEdit{name: "again.service", do: "disable", enabled: true, early: true}, unitEdit{name: "again.service", do: "enable"})
	b.Put("/wants/going.service", "", 0o644)
	b.Put("/wants/again.service", "", 0o644)
	b.Want(b.write(w), hostscript.ScriptCannot, "write: units: Failed to enable unit: Unit file x.service does not exist.")
	if !b.Exists("wants/going.service") {
		t.Error("the unit that was disabled is not enabled again")
	}
	if !b.Exists("wants/again.service") {
		t.Error("the unit that was disabled and enabled is not enabled again")
	}
	if b.Exists("wants/on.service") {
		t.Error("the unit that was enabled is not disabled again")
	}
	b.Check(os.RemoveAll(b.At("/wants")))
	if after := b.ListTree(); after != before {
		t.Error(moduletest.DifferingLinesOf(before, after))
	}
	b.CheckClean()
}

package hostconfig

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/resource"
	"holdfast/modules/moduletest"
)

// fullWrite is a write of every kind whose last part fails, on a host whose disk
// is full as soon as the write begins to be undone: from then on nothing can be
// copied, created or linked.
func fullWrite(t *testing.T) (*writeBox, hostWrite) {
	b := newWriteBox(t)
	b.Put("/etc/changed.conf", "old\n", 0o644)
	b.Put("/etc/gone.conf", "gone\n", 0o600)
	b.Link("/etc/link", "old")
	b.Put("/srv/app/gone/by/us.conf", "theirs\n", 0o640)
	b.Mkdir("/srv/app/dir")
	for _, dir := range []string{"/srv/app/gone", "/srv/app/gone/by"} {
		b.Check(os.Chmod(b.At(dir), 0o750))
	}
	b.Put("/var/lib/holdfast/applied.json", `{"old":1}`, 0o600)
	w := b.planWrite(contents{"/etc/changed.conf": "new\n", "/srv/app/dir/new.conf": "new\n"},
		testEdit{path: "/etc/changed.conf", kind: resource.PathFile, mode: 0o600},
		testEdit{path: "/etc/link", kind: resource.PathLink, data: "new"},
		testEdit{path: "/srv/app/dir", kind: resource.PathDirectory, mode: 0o700},
		writtenFile("/srv/app/dir/new.conf"),
		removedPath("/etc/gone.conf"), removedPath("/srv/app/gone/by/us.conf"), removedPath("/srv/app/gone/by"), removedPath("/srv/app/gone"))
	w.units = []unitEdit{{name: "x.service", do: "enable"}}
	b.Put("/no-x.service", "", 0o644)
	full := "#!/bin/sh\n[ ! -e \"$BOX/full\" ] || { echo \"$0: No space left on device\" >&2; exit 1; }\n"
	for _, tool := range []string{"cp", "mkdir", "ln", "tee", "dd"} {
		b.AddTool(tool, full+"exec /bin/"+tool+" \"$@\"\n")
	}
	b.stopAt("undoing", ": >\"$BOX/full\""+goOn)
	return b, w
}

// An undo needs no space: an account may fill the disk while a write fails.
func TestUndoNeedsNoSpace(t *testing.T) {
	t.Parallel()
	b, w := fullWrite(t)
	inode := func(path string) uint64 {
		info, err := os.Lstat(b.At(path))
		b.Check(err)
		return info.Sys().(*syscall.Stat_t).Ino
	}
	before, was := b.ListTree(), inode("/srv/app/gone/by/us.conf")
	b.Want(b.write(w), 79, "all was put back")
	b.awaitPoint("undoing")
	b.Check(os.Remove(b.At("full")))
	if after := b.ListTree(); after != before {
		b.T.Errorf("something has changed:\n%s", moduletest.DifferingLinesOf(before, after))
	}
	if inode("/srv/app/gone/by/us.conf") != was {
		t.Error("the file is another one than before, so that its attributes may be lost")
	}
	b.CheckClean()
}

// Space for the links of systemctl is free again before units are enabled again.
func TestUndoHasSpaceForUnits(t *testing.T) {
	longtest.SkipSlow(t)
	t.Parallel()
	b := newWriteBox(t)
	b.Put("/units/going.service", "enabled\n", 0o644)
	b.Put("/no-x.service", "", 0o644)
	w := b.planWrite(contents{})
	w.units = []unitEdit{{name: "going.service", do: "disable", enabled: true, early: true}, {name: "x.service", do: "enable"}}
	b.AddTool("dd", `case $* in *reserve*) echo reserved >>"$BOX/spaces" ;; esac
exec /bin/dd "$@"`)
	b.AddTool("timeout", `case $* in *going.service*) ls -d "$BOX"/etc/.holdfast-*/reserve 2>/dev/null >>"$BOX/spaces" || echo free >>"$BOX/spaces" ;; esac
exec /bin/timeout "$@"`)
	b.Want(b.write(w), 79, "all was put back")
	lines := strings.Fields(b.Read("/spaces"))
	if len(lines) != 10 || !strings.HasSuffix(lines[8], "/reserve") || lines[9] != "free" {
		t.Errorf("space: %v", lines)
	}
}

// The write fails in the middle: some files are replaced, some are not.
func TestUndoOfHalfNeedsNoSpace(t *testing.T) {
	t.Parallel()
	longtest.SkipSlow(t)
	b, w := fullWrite(t)
	b.Check(os.Remove(b.At("/run/holdfast/fault")))
	b.AddTool("mv", `case $* in *../link) : >"$BOX/full"; echo "mv: link: No space left on device" >&2; exit 1 ;; esac
exec /bin/mv "$@"`)
	before := b.ListTree()
	b.Want(b.write(w), 77, "all was put back")
	b.Check(os.Remove(b.At("full")))
	if after := b.ListTree(); after != before {
		b.T.Errorf("something has changed:\n%s", moduletest.DifferingLinesOf(before, after))
	}
	b.CheckClean()
}

// A write that cannot be undone does not end with the status of its first failure, which
// would mean that the host is unchanged.
func TestAFailedUndoHasItsOwnStatus(t *testing.T) {
	t.Parallel()
	b, w := fullWrite(t)
	b.Check(os.Remove(b.At("/run/holdfast/fault")))
	b.AddTool("mv", `case $* in *../link) : >"$BOX/full"; echo "mv: link: No space left on device" >&2; exit 1 ;; *./old-*) [ ! -e "$BOX/full" ] || exit 1 ;; esac
exec /bin/mv "$@"`)
	b.Want(b.write(w), hostscript.ScriptHalfDone, "could not be put back: /")
}

// Somebody puts a file into a directory while it is removed. The directory stays, with the file.
func TestRemovedDirectoriesKeepWhatCameLate(t *testing.T) {
	t.Parallel()
	for name, point := range map[string]string{"after the removal": "replaced", "before it": "rename 1"} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "before it")
			t.Parallel()
			b := newWriteBox(t)
			b.Put("/srv/app/.gone/us.conf", "ours\n", 0o644)
			w := b.planWrite(contents{}, removedPath("/srv/app/.gone/us.conf"), removedPath("/srv/app/.gone"))
			// The process is in the directory, wherever this is now.
			b.stopAt(point, `cd "$BOX/srv/app/.gone" 2>/dev/null || cd "$BOX"/srv/app/.holdfast-*/went-*/.gone
echo theirs >theirs`+goOn)
			out := b.write(w)
			b.awaitPoint(point)
			b.Want(out, 0, ".gone stays, because it is not empty")
			if b.Read("/srv/app/.gone/theirs") != "theirs\n" || b.Exists("/srv/app/.gone/us.conf") {
				t.Errorf("the directory has not what it should have")
			}
			b.record(w)
		})
	}
}

// An account renames the room of a write, or moves the directory around it. The room is removed, at the latest by the next
// write.
func TestRenamedRoomsAreRemoved(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ meddle, later string }{
		"renamed":                           {meddle: `mv "$BOX"/srv/app/.holdfast-* "$BOX/srv/app/mine"`},
		"renamed, and another in its place": {meddle: `cd "$BOX/srv/app" && r=$(echo .holdfast-*) && mv "$r" mine && mkdir "$r"`},
		"moved":                             {meddle: `mv "$BOX/srv/app" "$BOX/srv/away"`, later: "away"},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "moved")
			t.Parallel()
			b := newWriteBox(t)
			b.Put("/srv/app/a.conf", "old\n", 0o644)
			w := b.planWrite(contents{"/srv/app/a.conf": "new\n", "/srv/app/b.conf": "new\n"}, writtenFile("/srv/app/a.conf"), writtenFile("/srv/app/b.conf"))
			b.stopAt("replaced", x.meddle+goOn)
			out := b.write(w)
			b.awaitPoint("replaced")
			if x.later != "" {
				b.Want(out, 0, "the next write looks for it again in: /srv/app")
				b.Check(os.Rename(b.At("/srv/away"), b.At("/srv/app")))
				b.Want(b.RunScript(recordScript(moduletest.By("r1"), w.after, false)), 0, "")
			} else {
				b.Want(out, 0, "")
			}
			b.Check(os.RemoveAll(b.At("/var/lib/holdfast/tx")))
			b.CheckClean()
			if b.Exists("/srv/app/mine") {
				t.Error("the room stays under another name")
			}
		})
	}
}

// An account takes a room away in the middle of a write, which makes another one and is undone. Both are removed.
func TestBothRoomsAreRemoved(t *testing.T) {
	longtest.SkipSlow(t)
	t.Parallel()
	b := newWriteBox(t)
	b.Put("/srv/app/a.conf", "old\n", 0o644)
	b.Put("/no-x.service", "", 0o644)
	w := b.planWrite(contents{"/srv/app/a.conf": "new\n"}, writtenFile("/srv/app/a.conf"))
	w.units = []unitEdit{{name: "x.service", do: "enable"}}
	b.stopAt("undoing", `mv "$BOX"/srv/app/.holdfast-* "$BOX/srv/app/mine"`+goOn)
	b.Want(b.write(w), 79, "all was put back")
	b.awaitPoint("undoing")
	if b.Exists("/srv/app/mine") || b.Read("/srv/app/a.conf") != "old\n" {
		t.Error("the room stays under another name, or the write was not undone")
	}
	b.CheckClean()
}

// Rooms that nobody finds any more do not pile up, and their number has a bound.
func TestListsOfLostRoomsAreBounded(t *testing.T) {
	t.Parallel()
	longtest.SkipSlow(t)
	b := newWriteBox(t)
	for i := range 53 {
		b.Put(fmt.Sprintf("/var/lib/holdfast/left/%02d", i), fmt.Sprintf(".holdfast-%032x\n%032x\n/srv/gone\n", i, i), 0o600)
	}
	b.Put("/var/lib/holdfast/left/00", "", 0o600) // a power cut has emptied it
	b.Want(b.write(b.planWrite(contents{"/etc/a.conf": "a\n"}, writtenFile("/etc/a.conf"))), 0, "")
	left, err := os.ReadDir(b.At("/var/lib/holdfast/left"))
	b.Check(err)
	if len(left) != 49 {
		t.Errorf("%d lists are left", len(left))
	}
}

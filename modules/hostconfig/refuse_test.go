package hostconfig

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/observe/observetest"
	"holdfast/modules/moduletest"
)

// Each of these writes is refused with a reason, and changes nothing.
func TestAWriteThatCannotBeIsRefusedAndChangesNothing(t *testing.T) {
	link := func(path, target string) testEdit { return testEdit{path: path, kind: resource.PathLink, data: target} }
	for name, test := range map[string]struct {
		prepare func(*writeBox)
		edit    testEdit
		meddle  func(*writeBox, *hostWrite) // changes the host or the write after the plan
		code    int
		says    string
	}{
		"changed contents": {
			edit: writtenFile("/etc/foo"), meddle: func(b *writeBox, _ *hostWrite) { b.Put("/etc/foo", "other\n", 0o644) },
			code: hostscript.ScriptChanged, says: "write: /etc/foo is not as it was when this was planned (its contents changed)",
		},
		"changed mode": {
			edit: writtenFile("/etc/foo"), meddle: func(b *writeBox, _ *hostWrite) { b.Check(os.Chmod(b.At("/etc/foo"), 0o600)) },
			code: hostscript.ScriptChanged, says: "/etc/foo is not as it was when this was planned (its mode or owner changed)",
		},
		"gone meanwhile": {
			edit: writtenFile("/etc/foo"), meddle: func(b *writeBox, _ *hostWrite) { b.Check(os.Remove(b.At("/etc/foo"))) },
			code: hostscript.ScriptChanged, says: "(it is gone)",
		},
		"there meanwhile": {
			edit: writtenFile("/etc/new"), meddle: func(b *writeBox, _ *hostWrite) { b.Put("/etc/new", "", 0o644) },
			code: hostscript.ScriptChanged, says: "(it is there now)",
		},
		"a dangling link there meanwhile": {
			edit: writtenFile("/etc/new"), meddle: func(b *writeBox, _ *hostWrite) { b.Link("/etc/new", "/nowhere") },
			code: hostscript.ScriptChanged, says: "(it is there now)",
		},
		"another kind": {
			edit: writtenFile("/etc/foo"), meddle: func(b *writeBox, _ *hostWrite) {
				b.Check(os.Remove(b.At("/etc/foo")))
				b.Link("/etc/foo", "/etc/shadow")
			},
			code: hostscript.ScriptChanged, says: "(it is of another kind)",
		},
		"changed target": {
			edit: writtenFile("/etc/link"), meddle: func(b *writeBox, _ *hostWrite) {
				b.Check(os.Remove(b.At("/etc/link")))
				b.Link("/etc/link", "elsewhere")
			},
			code: hostscript.ScriptChanged, says: "(its target changed)",
		},
		"removal of what changed": {
			edit: removedPath("/etc/foo"), meddle: func(b *writeBox, _ *hostWrite) { b.Put("/etc/foo", "other\n", 0o644) },
			code: hostscript.ScriptChanged, says: "(its contents changed)",
		},
		"rebooted": {
			edit: writtenFile("/etc/foo"), meddle: func(b *writeBox, _ *hostWrite) { b.Box.Write("proc/sys/kernel/random/boot_id", "another") },
			code: hostscript.ScriptChanged, says: "rebooted since it was planned",
		},
		"soft rebooted": {
			edit: writtenFile("/etc/foo"), meddle: func(b *writeBox, _ *hostWrite) { b.Box.Write("soft-reboots", "1") },
			code: hostscript.ScriptChanged, says: "rebooted since it was planned",
		},
		"held by someone else": {
			edit: writtenFile("/etc/foo"), meddle: func(b *writeBox, _ *hostWrite) { b.Hold(engine.MaintenanceHold, "") },
			code: hostscript.ScriptHeld, says: "held by someone else",
		},
		"held by someone else, quiet": {
			edit: writtenFile("/etc/foo"), meddle: func(b *writeBox, w *hostWrite) {
				w.quiet = true
				b.Hold(engine.MaintenanceHold, "")
			},
			code: hostscript.ScriptHeld, says: "held by someone else",
		},
		"through a link": {
			prepare: func(b *writeBox) { b.Link("/etc/a", b.At("/tmp")) },
			edit:    writtenFile("/etc/a/b"), code: hostscript.ScriptCannot, says: "write: /etc/a/b: /etc/a is a symbolic link to ",
		},
		"through a link, with parents to make": {
			prepare: func(b *writeBox) { b.Link("/etc/a", b.At("/tmp")) },
			edit:    writtenFile("/etc/a/b/c/d"), code: hostscript.ScriptCannot, says: "; write the path it leads to",
		},
		"through a link of a user": {
			prepare: func(b *writeBox) { b.Link("/home/bob/.ssh", "../../etc") },
			edit:    writtenFile("/home/bob/.ssh/config"), code: hostscript.ScriptCannot, says: "/home/bob/.ssh is a symbolic link to ../../etc",
		},
		"through a link that leads nowhere": {
			prepare: func(b *writeBox) { b.Link("/etc/a", "/nowhere") },
			edit:    writtenFile("/etc/a/b"), code: hostscript.ScriptCannot, says: "/etc/a is a symbolic link to /nowhere",
		},
		"removal through a link": {
			prepare: func(b *writeBox) { b.Link("/etc/a", b.At("/tmp")); b.Put("/tmp/b", "", 0o644) },
			edit:    removedPath("/etc/a/b"), code: hostscript.ScriptCannot, says: "/etc/a is a symbolic link to ",
		},
		"below a file": {
			edit: writtenFile("/etc/foo/bar"),
			code: hostscript.ScriptCannot, says: "write: /etc/foo/bar: /etc/foo is not a directory",
		},
		"file where a directory is": {edit: writtenFile("/etc"), code: hostscript.ScriptCannot, says: "it is directory where a file is to be"},
		"link where a directory is": {edit: link("/etc", "x"), code: hostscript.ScriptCannot, says: "it is directory where a link is to be"},
		"directory where a file is": {
			edit: testEdit{path: "/etc/foo", kind: resource.PathDirectory, mode: 0o755}, code: hostscript.ScriptCannot, says: "it is file where a directory is to be",
		},
		"file where a pipe is": {
			prepare: func(b *writeBox) { b.Check(syscall.Mkfifo(b.At("/etc/pipe"), 0o644)) },
			edit:    writtenFile("/etc/pipe"), code: hostscript.ScriptCannot, says: "/etc/pipe: ",
		},
		"mount point": {
			prepare: func(b *writeBox) {
				b.Put("/proc/self/mountinfo", "36 35 98:0 /x /etc/foo rw - ext4 /dev/a rw\n", 0o644)
			},
			edit: writtenFile("/etc/foo"), code: hostscript.ScriptCannot, says: "something is mounted on it",
		},
		"no such user": {
			edit: testEdit{path: "/etc/foo", kind: resource.PathFile, mode: 0o644, user: "nobody-here"},
			code: hostscript.ScriptCannot, says: "write: /etc/foo: there is no user nobody-here",
		},
		"no such group": {
			edit: testEdit{path: "/etc/new", kind: resource.PathFile, mode: 0o644, group: "nobody-here"},
			code: hostscript.ScriptCannot, says: "write: /etc/new: there is no group nobody-here",
		},
		"hard link to nothing": {
			edit: testEdit{path: "/etc/new", kind: resource.PathLink, hard: true, data: "/etc/none"},
			code: hostscript.ScriptCannot, says: "/etc/new: its target /etc/none is not a file",
		},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "changed contents", "gone meanwhile", "another kind", "rebooted", "held by someone else, quiet",
				"through a link", "below a file", "mount point", "no such user")
			t.Parallel()
			b := newWriteBox(t)
			b.Put("/etc/foo", "foo\n", 0o644)
			b.Link("/etc/link", "foo")
			if test.prepare != nil {
				test.prepare(b)
			}
			user, group := test.edit.user, test.edit.group
			w := b.planWrite(contents{test.edit.path: "new\n", "/etc/first": "1\n"}, writtenFile("/etc/first"), test.edit)
			if user != "" {
				w.edits[1].user = user
			}
			if group != "" {
				w.edits[1].group = group
			}
			if test.meddle != nil {
				edits := w.edits
				w.edits = w.edits[1:]
				test.meddle(b, &w)
				w.edits = edits
			}
			b.checkRefused(w, test.code, test.says)
			if b.Exists("var/lib/holdfast/applied.json") {
				t.Error("there is a record")
			}
		})
	}
}

func TestAllThatChangedIsNamed(t *testing.T) {
	b := newWriteBox(t)
	w := b.planWrite(contents{}, writtenFile("/etc/a"), writtenFile("/etc/b"), writtenFile("/etc/c"))
	b.Put("/etc/a", "", 0o644)
	b.Put("/etc/c", "", 0o644)
	before := b.ListTree()
	out := b.write(w)
	b.Want(out, hostscript.ScriptChanged, "write: /etc/a is not")
	b.Want(out, hostscript.ScriptChanged, "write: /etc/c is not")
	if strings.Contains(out.Stderr, "/etc/b") || b.ListTree() != before {
		t.Errorf("%s", out.Stderr)
	}
}

func TestWhatHasNotArrivedWholeIsNotWritten(t *testing.T) {
	b := newWriteBox(t)
	w := b.planWrite(contents{"/etc/foo": "foo\n"}, writtenFile("/etc/foo"))
	sent := w.buildScript()
	for i, u := range sent.Uploads {
		if string(u.Data) == "foo\n" {
			sent.Uploads[i].Data = []byte("fo\n")
		}
	}
	before := b.ListTree()
	b.Want(b.RunScript(sent), hostscript.ScriptCannot, "has not arrived whole")
	b.Want(b.RunScript(engine.Exec{Script: sent.Script}), hostscript.ScriptCannot, "has not arrived whole")
	if b.ListTree() != before {
		t.Error("something has changed")
	}
}

func TestAFullDiskChangesNothing(t *testing.T) {
	longtest.SkipSlow(t)
	for name, tool := range map[string][2]string{
		"while it is sent":            {"tar", "echo 'tar: x: Cannot write: No space left on device' >&2; exit 2\n"},
		"while files are written":     {"cp", "case $* in */etc/*|*./file-*) echo 'cp: error writing x: No space left on device' >&2; exit 1;; esac; exec CP \"$@\"\n"},
		"while what is there is kept": {"cp", "case $* in *--parents*) echo 'cp: error writing x: No space left on device' >&2; exit 1;; esac; exec CP \"$@\"\n"},
		"while it is synced":          {"sync", "case $* in *./file-*) echo 'sync: error syncing x: No space left on device' >&2; exit 1;; esac\n"},
		"while the record is written": {"cp", "case $* in *before*) echo 'cp: error writing x: No space left on device' >&2; exit 1;; esac; exec CP \"$@\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newWriteBox(t)
			b.Put("/etc/foo", "foo\n", 0o644)
			b.Put("/var/lib/holdfast/applied.json", "old record", 0o600)
			b.AddTool(tool[0], strings.ReplaceAll(tool[1], "CP", observetest.ToolPath(t, "cp")))
			w := b.planWrite(contents{"/etc/foo": "new\n", "/etc/a/b": "new\n"}, writtenFile("/etc/foo"), writtenFile("/etc/a/b"))
			b.checkRefused(w, hostscript.ScriptNoSpace, "No space left on device")
		})
	}
}

func TestWhatATurnedDownToolSaysIsPassedOn(t *testing.T) {
	b := newWriteBox(t)
	b.Put("/etc/foo", "foo\n", 0o644)
	b.AddTool("cp", "case $* in *./file-*) echo 'cp: cannot create x: Read-only file system' >&2; exit 1;; esac; exec "+observetest.ToolPath(t, "cp")+" \"$@\"\n")
	b.checkRefused(b.planWrite(contents{"/etc/foo": "new\n"}, writtenFile("/etc/foo")), hostscript.ScriptCannot, "write: /etc/foo: cp: cannot create x: Read-only file system")
}

func TestAnImmutableFileIsRefused(t *testing.T) {
	b := newWriteBox(t)
	b.Put("/etc/foo", "foo\n", 0o644)
	if os.Getuid() != 0 || exec.Command("chattr", "+i", b.At("/etc/foo")).Run() != nil {
		t.Skip("this file system or user cannot make files immutable")
	}
	t.Cleanup(func() { _ = exec.Command("chattr", "-i", b.At("/etc/foo")).Run() })
	b.checkRefused(b.planWrite(contents{"/etc/foo": "new\n", "/etc/bar": ""}, writtenFile("/etc/bar"), writtenFile("/etc/foo")), hostscript.ScriptCannot, "write: /etc/foo: it cannot be replaced: it is immutable")
}

func TestOnlyOneWritesAtATime(t *testing.T) {
	b := newWriteBox(t)
	b.mustWrite(b.planWrite(contents{}, writtenFile("/etc/before")))
	lock, err := os.OpenFile(b.At("/var/lib/holdfast/write.lock"), os.O_RDWR, 0)
	b.Check(err)
	defer func() { _ = lock.Close() }()
	b.Check(syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	b.checkRefused(b.planWrite(contents{}, writtenFile("/etc/foo")), hostscript.ScriptHeld, "another holdfast is writing to this host (run r1, record, as ")
}

// Scripts follow the links of the OS: those directly in /, and /usr/local.
func TestTheLinksOfTheOSAreFollowed(t *testing.T) {
	longtest.SkipSlow(t)
	b := newWriteBox(t)
	b.Check(os.Remove(b.At("/home")))
	for path, target := range map[string]string{"/home": "var/home", "/usr/local": "../var/usrlocal", "/opt": "var/opt"} {
		b.Link(path, target)
		b.Mkdir(filepath.Join(filepath.Dir(path), target))
	}
	b.mustWrite(b.planWrite(contents{"/home/bob/x": "1", "/usr/local/bin/tool": "2", "/opt/a": "3"},
		writtenFile("/home/bob/x"), writtenFile("/usr/local/bin/tool"), writtenFile("/opt/a")))
	for path, want := range map[string]string{"/var/home/bob/x": "1", "/var/usrlocal/bin/tool": "2", "/var/opt/a": "3"} {
		if got := b.Read(path); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
}

// Only an installation can set FIPS mode. A host without it does not match a configuration that demands it, also if no record
// of an earlier configuration shows a change.
func TestFIPSIsComparedWithTheHost(t *testing.T) {
	t.Parallel()
	for state, refused := range map[string]bool{"1": false, "0": true, "": true} {
		b := moduletest.NewBox(t)
		if state != "" {
			b.Write("proc/sys/crypto/fips_enabled", state)
		}
		d := engine.Desired{Config: &resource.Config{Fixed: []resource.Fixed{{Name: "fips"}}}}
		f := b.ReadFacts(d, Module())
		f.BootID = moduletest.Boot
		if _, err := findChanges(d, f); (err != nil) != refused || err != nil && !strings.Contains(err.Error(), "its kernel is not in FIPS mode") {
			t.Errorf("fips_enabled %q: %v", state, err)
		}
		f.Config.Applied = &resource.Record{Schema: resource.RecordSchema, Config: *d.Config}
		if _, err := findChanges(engine.Desired{Config: &resource.Config{}, NoDocuments: true}, f); err != nil {
			t.Errorf("fips_enabled %q, without documents: %v", state, err)
		}
		// The record does not decide: fips may leave the documents, and come to the documents of a host in FIPS mode.
		for _, recorded := range []bool{true, false} {
			now := engine.Desired{Config: &resource.Config{}}
			if !recorded {
				f.Config.Applied, now = &resource.Record{Schema: resource.RecordSchema}, d
			}
			changes, err := findChanges(now, f)
			switch {
			case !recorded && refused:
				if err == nil || !strings.Contains(err.Error(), "its kernel is not in FIPS mode") {
					t.Errorf("fips_enabled %q, fips is new: %v", state, err)
				}
			case err != nil || len(changes) != 1 || changes[0].Resource != engine.RecordResource:
				t.Errorf("fips_enabled %q, recorded %v: %v, %v", state, recorded, changes, err)
			default:
				x, err := newConfigDiff(now, f, true)
				b.Check(err)
				if _, after := x.buildRecords(engine.Target{Desired: now, Facts: f}); after.Config.DemandsFIPS() == recorded {
					t.Errorf("fips_enabled %q, recorded %v: %+v", state, recorded, after)
				}
			}
		}
	}
}

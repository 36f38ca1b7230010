package hostconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/record"
	"holdfast/modules/moduletest"
)

// Names with characters that are special to the shell or to tools are written and
// removed like all others.
func TestStrangeNames(t *testing.T) {
	longtest.SkipSlow(t)
	b := newWriteBox(t)
	data := contents{}
	var made, again []testEdit
	for i, name := range []string{
		"with space", "it's", `"quoted"`, `back\slash`, `\`, `\n`, "100%", "%s%d", "%2F", "-rf", "--help", "a|b", "$(reboot)", "`reboot`", "*", "?", "[a]", "~",
		"ünï", "日本", "a;b", "a&b", "#x", "!", "{a,b}", "=", "a=b", "end ", " start", "\xff\xfe", strings.Repeat("x", 255), strings.Repeat("ü", 127), "..x", "...", "x.default",
	} {
		for _, path := range []string{"/etc/" + name, "/etc/in " + fmt.Sprint(i) + name[:min(len(name), 200)] + "/" + name} {
			data[path] = path + " contents\n"
			made = append(made, writtenFile(path))
		}
		l := testEdit{path: "/etc/links/" + name, kind: resource.PathLink, data: name}
		made = append(made, l)
		again = append(again, writtenFile("/etc/"+name), removedPath("/etc/links/"+name))
	}
	b.mustWrite(b.planWrite(data, made...))
	for path, text := range data {
		if got := b.Read(path); got != text {
			t.Errorf("%q: %q", path, got)
		}
	}
	for _, e := range made {
		if e.kind == resource.PathLink && b.Node(e.path).Target != e.data {
			t.Errorf("%q: %+v", e.path, b.Node(e.path))
		}
	}
	// The entries exist now, with the desired contents. holdfast takes them into
	// the record.
	for i := range again {
		again[i].save = true
		data[again[i].path] = "again\n"
	}
	b.mustWrite(b.planWrite(data, again...))
	for _, e := range again {
		if n := b.Node(e.path); n.Type != e.kind || n.Type == resource.PathFile && b.Read(e.path) != "again\n" {
			t.Errorf("%q: %+v", e.path, n)
		}
		if e.kind != resource.PathFile {
			continue
		}
		if got, err := os.ReadFile(b.At(record.OriginalsDir + "/" + record.OriginalName(e.path))); err != nil || string(got) != e.path+" contents\n" {
			t.Errorf("original of %q: %q, %v", e.path, got, err)
		}
	}
}

func TestAFileBecomesALinkAndALinkAFile(t *testing.T) {
	longtest.SkipSlow(t)
	b := newWriteBox(t)
	b.Put("/etc/file", "file\n", 0o640)
	b.Link("/etc/link", "old target")
	b.Put("/etc/one", "one\n", 0o644)
	b.Check(os.Link(b.At("/etc/one"), b.At("/etc/two")))
	b.mustWrite(b.planWrite(contents{"/etc/link": "new\n"},
		testEdit{path: "/etc/file", kind: resource.PathLink, data: "target", save: true},
		testEdit{path: "/etc/link", kind: resource.PathFile, mode: -1, save: true},
		testEdit{path: "/etc/two", kind: resource.PathLink, hard: true, data: "/etc/one"})) // unchanged: no rename
	if n := b.Node("/etc/file"); n.Target != "target" {
		t.Errorf("%+v", n)
	}
	if n := b.Node("/etc/link"); n.Type != resource.PathFile || n.Mode != 0o644 || b.Read("/etc/link") != "new\n" {
		t.Errorf("%+v", n)
	}
	b.mustWrite(b.planWrite(nil, testEdit{path: "/etc/file", mode: -1, restore: true}, testEdit{path: "/etc/link", mode: -1, restore: true}))
	if n := b.Node("/etc/file"); n.Mode != 0o640 || b.Read("/etc/file") != "file\n" {
		t.Errorf("%+v", n)
	}
	if n := b.Node("/etc/link"); n.Target != "old target" {
		t.Errorf("%+v", n)
	}
}

// If the host had the default of the OS, removing the path restores the default
// of the OS at that time.
func TestADefaultOfTheOSComesBackAsItIsThen(t *testing.T) {
	longtest.SkipSlow(t)
	b := newWriteBox(t)
	for _, dir := range []string{"/etc", "/usr/etc"} {
		b.Put(dir+"/same", "shipped\n", 0o644)
		b.Put(dir+"/dropped", "shipped\n", 0o644)
		b.Put(dir+"/mode", "shipped\n", 0o644)
		b.Link(dir+"/link", "shipped")
	}
	b.Check(os.Chmod(b.At("/etc/mode"), 0o600))
	names := []string{"/etc/same", "/etc/dropped", "/etc/mode", "/etc/link"}
	var edits, back []testEdit
	for _, name := range names {
		edits = append(edits, testEdit{path: name, kind: resource.PathFile, mode: 0o644, save: true})
		back = append(back, testEdit{path: name, mode: -1, restore: true})
	}
	b.mustWrite(b.planWrite(nil, edits...))
	for name, want := range map[string]bool{"same": true, "dropped": true, "link": true, "mode": false} {
		if got := b.Exists("var/lib/holdfast/originals/%2Fetc%2F" + name + ".default"); got != want {
			t.Errorf("%s is marked as the OS's own: %v", name, got)
		}
	}
	b.Put("/usr/etc/same", "of the next OS\n", 0o640)
	b.Check(os.Remove(b.At("/usr/etc/dropped")))
	b.mustWrite(b.planWrite(nil, back...))
	if b.Read("/etc/same") != "of the next OS\n" || b.Node("/etc/same").Mode != 0o640 || b.Exists("etc/dropped") || b.Node("/etc/mode").Mode != 0o600 || b.Node("/etc/link").Target != "shipped" {
		t.Errorf("not as the OS has it:\n%s", b.ListTree())
	}
	left, err := filepath.Glob(b.At("/var/lib/holdfast/originals/*"))
	b.Check(err)
	if len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// No original is kept if the host always had the same contents. Then removing the
// path restores the default of the OS, too.
func TestWhatTheOSShipsIsNotTakenAway(t *testing.T) {
	longtest.SkipSlow(t)
	b := newWriteBox(t)
	for _, name := range []string{"/etc/same", "/usr/etc/same", "/etc/other", "/usr/local/same", "/usr/usr/local/same"} {
		b.Put(name, "shipped\n", 0o644)
	}
	b.mustWrite(b.planWrite(nil, removedPath("/etc/same"), removedPath("/etc/other"), removedPath("/usr/local/same")))
	if b.Read("/etc/same") != "shipped\n" || b.Exists("etc/other") || b.Exists("usr/local/same") {
		t.Errorf("got:\n%s", b.ListTree())
	}
}

func TestAnOriginalIsNeverOverwritten(t *testing.T) {
	longtest.SkipSlow(t)
	b := newWriteBox(t)
	b.Put("/etc/foo", "first\n", 0o644)
	for _, text := range []string{"second\n", "third\n"} {
		b.mustWrite(b.planWrite(contents{"/etc/foo": text}, testEdit{path: "/etc/foo", kind: resource.PathFile, mode: 0o644, save: true}))
	}
	if got := b.Read("/var/lib/holdfast/originals/%2Fetc%2Ffoo"); got != "first\n" {
		t.Errorf("original %q", got)
	}
}

func TestADirectoryThatIsNotEmptyStays(t *testing.T) {
	longtest.SkipSlow(t)
	b := newWriteBox(t)
	b.Put("/etc/full/theirs", "", 0o644)
	b.Put("/etc/full/ours", "", 0o644)
	b.Put("/etc/empty/a/ours", "", 0o644)
	out := b.write(b.planWrite(nil, removedPath("/etc/full/ours"), removedPath("/etc/empty/a/ours"), removedPath("/etc/empty/a"), removedPath("/etc/empty"), removedPath("/etc/full")))
	b.Want(out, 0, "/etc/full stays, because it is not empty")
	if b.Exists("etc/full/ours") || !b.Exists("etc/full/theirs") || b.Exists("etc/empty") {
		t.Errorf("%s", b.ListTree())
	}
}

func TestDirectoriesGetTheirModesAndKeepWhatIsInThem(t *testing.T) {
	b := newWriteBox(t)
	b.Put("/etc/d/x", "x", 0o644)
	b.Check(os.Chmod(b.At("/etc/d"), 0o2775|os.ModeSetgid))
	b.mustWrite(b.planWrite(contents{"/etc/n/y": "y"}, testEdit{path: "/etc/d", kind: resource.PathDirectory, mode: 0o700},
		testEdit{path: "/etc/n", kind: resource.PathDirectory, mode: 0o1777}, writtenFile("/etc/n/y")))
	if b.Node("/etc/d").Mode != 0o700 || b.Node("/etc/n").Mode != 0o1777 || b.Read("/etc/d/x") != "x" || b.Read("/etc/n/y") != "y" {
		t.Errorf("%s", b.ListTree())
	}
}

func TestTheSameContentsWithOtherModes(t *testing.T) {
	longtest.SkipSlow(t)
	b := newWriteBox(t)
	b.mustWrite(b.planWrite(contents{"/etc/a": "x", "/etc/b": "x", "/etc/c": "x"}, writtenFile("/etc/a"),
		testEdit{path: "/etc/b", kind: resource.PathFile, mode: 0o600}, testEdit{path: "/etc/c", kind: resource.PathFile, mode: 0o4755}))
	for path, mode := range map[string]int{"/etc/a": 0o644, "/etc/b": 0o600, "/etc/c": 0o4755} {
		if n := b.Node(path); n.Mode != mode || b.Read(path) != "x" {
			t.Errorf("%s: %o", path, n.Mode)
		}
	}
}

func TestSELinuxContexts(t *testing.T) {
	b := newWriteBox(t)
	b.AddTool("selinuxenabled", "exit 0\n")
	b.AddTool("matchpathcon", "shift; [ $1 != -- ] || shift; for p; do case $p in */none) echo '<<none>>' ;; *) echo \"system_u:object_r:$p:s0\" ;; esac; done\n")
	b.AddTool("chcon", "printf 'chcon %s\\n' \"$*\" >>$BOX/log\n")
	b.mustWrite(b.planWrite(nil, writtenFile("/etc/a"), writtenFile("/etc/none"), testEdit{path: "/etc/link", kind: resource.PathLink, data: "x"}, writtenFile("/etc/new/b")))
	for path, made := range map[string]string{"/etc/a": "file-1", "/etc/link": "link-2", "/etc/new": "parent-3", "/etc/new/b": "file-4"} {
		if want := "chcon -h system_u:object_r:" + path + ":s0 ./" + made + "\n"; !strings.Contains(b.Log(), want) {
			t.Errorf("no %q in\n%s", want, b.Log())
		}
	}
	if strings.Contains(b.Log(), "none>") || strings.Count(b.Log(), "chcon") != 4 {
		t.Errorf("log:\n%s", b.Log())
	}
}

// A signal ends the script as long as the script can leave everything unchanged.
// Later, the script continues.
func TestASignalNeverLeavesHalf(t *testing.T) {
	for point, code := range map[string]int{"prepared": 143, "before": 0, "rename 2": 0, "units": 0} {
		t.Run(point, func(t *testing.T) {
			longtest.SkipOthers(t, point, "rename 2")
			t.Parallel()
			b := newWriteBox(t)
			b.Put("/etc/foo", "old\n", 0o644)
			before := b.ListTree()
			w := b.planWrite(contents{"/etc/foo": "new\n", "/etc/x": ""}, writtenFile("/etc/x"), writtenFile("/etc/foo"))
			b.stopAt(point, "for signal in HUP PIPE TERM; do kill -$signal $PPID; done"+goOn)
			b.Want(b.write(w), code, "")
			b.awaitPoint(point)
			if code == 0 {
				if b.Read("/etc/foo") != "new\n" {
					t.Error("not written")
				}
				return
			}
			if after := b.ListTree(); after != before {
				t.Error(moduletest.DifferingLinesOf(before, after))
			}
			b.CheckClean()
		})
	}
}

func TestAnOriginalComesBackIntoADirectoryThatIsGone(t *testing.T) {
	longtest.SkipSlow(t)
	b := newWriteBox(t)
	b.Put("/etc/d/e/foo", "theirs\n", 0o600)
	b.mustWrite(b.planWrite(nil, testEdit{path: "/etc/d/e/foo", kind: resource.PathFile, mode: 0o644, save: true}))
	b.Check(os.RemoveAll(b.At("/etc/d")))
	b.mustWrite(b.planWrite(nil, testEdit{path: "/etc/d/e/foo", mode: -1, restore: true}))
	if got := b.Read("/etc/d/e/foo"); got != "theirs\n" {
		t.Errorf("%q", got)
	}
}

func TestTheOrderOfEditsDoesNotMatter(t *testing.T) {
	longtest.SkipSlow(t)
	b := newWriteBox(t)
	b.Put("/etc/old/x/y", "", 0o644)
	b.mustWrite(b.planWrite(contents{"/etc/a/b/c": "c"}, removedPath("/etc/old"), removedPath("/etc/old/x"), removedPath("/etc/old/x/y"), writtenFile("/etc/a/b/c"),
		testEdit{path: "/etc/a/b", kind: resource.PathDirectory, mode: 0o711}, testEdit{path: "/etc/a", kind: resource.PathDirectory, mode: 0o700}))
	if b.Exists("etc/old") || b.Node("/etc/a").Mode != 0o700 || b.Node("/etc/a/b").Mode != 0o711 || b.Read("/etc/a/b/c") != "c" {
		t.Errorf("%s", b.ListTree())
	}
}

// The next write removes the temporary files that an interrupted write has left,
// also in directories that the next write does not change.
func TestWhatAnEarlierWriteLeftIsRemoved(t *testing.T) {
	b := newWriteBox(t)
	b.Put("/etc/d/there", "", 0o644)
	w := b.planWrite(contents{"/etc/d/new": "x", "/etc/e/f/new": "y"}, writtenFile("/etc/d/new"), writtenFile("/etc/e/f/new"))
	b.stopAt("prepared", "kill -9 0")
	if out := b.write(w); out.Code != -1 {
		t.Fatalf("not killed: %d %s", out.Code, out.Stderr)
	}
	for _, dir := range []string{"/etc/d", "/etc/e/f"} {
		left, err := filepath.Glob(b.At(dir + "/.holdfast-*"))
		b.Check(err)
		if len(left) != 1 {
			t.Errorf("%s: %v", dir, left)
		}
	}
	b.mustWrite(b.planWrite(contents{"/etc/other": "x"}, writtenFile("/etc/other")))
}

// After the script has noted that a path had the default of the OS, it keeps no
// other original of this path.
func TestTheMarkOfADefaultStays(t *testing.T) {
	longtest.SkipSlow(t)
	b := newWriteBox(t)
	b.Put("/etc/foo", "shipped\n", 0o644)
	b.Put("/usr/etc/foo", "shipped\n", 0o644)
	for _, text := range []string{"first\n", "second\n"} {
		b.mustWrite(b.planWrite(contents{"/etc/foo": text}, testEdit{path: "/etc/foo", kind: resource.PathFile, mode: 0o644, save: true}))
	}
	if name := "var/lib/holdfast/originals/%2Fetc%2Ffoo"; b.Exists(name) || !b.Exists(name+".default") {
		t.Errorf("%s", b.ListTree())
	}
}

// A script follows a link directly in / only if the link has the same owner as /.
func TestALinkInTheRootOfSomebodyElseIsNotFollowed(t *testing.T) {
	b := newWriteBox(t)
	b.Link("/mnt", "tmp")
	if os.Getuid() != 0 || os.Lchown(b.At("/mnt"), 1234, 1234) != nil {
		t.Skip("only root can give links away")
	}
	b.checkRefused(b.planWrite(nil, writtenFile("/mnt/x")), hostscript.ScriptCannot, "/mnt is a symbolic link to tmp")
}

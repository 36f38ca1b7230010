package hostconfig

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"holdfast/engine/longtest"
	"holdfast/engine/pathtest"
	"holdfast/engine/resource"
)

// The account that owns a directory shares with itself all that is made there. Nothing that
// a write makes is shared: neither files nor directories, nor what is in these.
func TestWritesInheritNoAccessLists(t *testing.T) {
	t.Parallel()
	// cp of coreutils 9.7 leaves the lists of a directory, and tar may be built without them.
	for name, tool := range map[string]string{"cp": plainlessCp, "tar": plainlessTar} {
		t.Run("without "+name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "tar")
			b := newWriteBox(t)
			b.AddTool(name, tool)
			checkInheritsNoLists(t, b)
		})
	}
}

const (
	plainlessCp = `case $* in *plain*) exit 0 ;; esac
exec /bin/cp "$@"`
	plainlessTar = `case $* in *--acls*) exit 64 ;; esac
exec /bin/tar "$@"`
)

func checkInheritsNoLists(t *testing.T, b *writeBox) {
	t.Helper()
	b.Put("/srv/app/changed.conf", "old\n", 0o640)
	b.Put("/srv/app/log", "theirs\n", 0o640)
	pathtest.Share(t, b.At("/srv/app"), pathtest.DefaultList)
	w := b.planWrite(contents{"/srv/app/new.conf": "new\n", "/srv/app/changed.conf": "new\n", "/srv/app/dir/in.conf": "in\n", "/srv/app/made/by/us.conf": "us\n"},
		testEdit{path: "/srv/app/new.conf", kind: resource.PathFile, mode: 0o640},
		testEdit{path: "/srv/app/changed.conf", kind: resource.PathFile, mode: 0o640, save: true},
		testEdit{path: "/srv/app/dir", kind: resource.PathDirectory, mode: 0o770},
		testEdit{path: "/srv/app/dir/in.conf", kind: resource.PathFile, mode: 0o644},
		testEdit{path: "/srv/app/made/by/us.conf", kind: resource.PathFile, mode: 0o644},
		testEdit{path: "/srv/app/hard", kind: resource.PathLink, hard: true, data: "/srv/app/new.conf"})
	b.mustWrite(w)
	if got := strings.Join(pathtest.Shared(t, b.At("/srv")), ", "); got != "app default" {
		t.Errorf("these have access control lists: %s", got)
	}
	if n := b.Node("/srv/app/dir"); n.Mode != 0o770 {
		t.Errorf("the directory has mode %o", n.Mode)
	}
}

// A file that only appends keeps owner, mode and list. With the mode alone, the group of the
// file could do what the list lets another account do.
func TestAppendKeepsTheAccessList(t *testing.T) {
	longtest.SkipSlow(t)
	t.Parallel()
	for _, dir := range []string{"/etc/app", "/srv/app"} { // only root can write to the first
		b := newWriteBox(t)
		b.Put(dir+"/log", "theirs\n", 0o600)
		b.Mkdir("/srv")
		b.Check(os.Chmod(b.At("/srv"), 0o777))
		pathtest.Share(t, b.At(dir+"/log"), pathtest.AccessList)
		want := pathtest.Shared(t, b.At(dir))
		b.mustWrite(b.planWrite(contents{dir + "/log": "theirs\nours\n"}, testEdit{path: dir + "/log", kind: resource.PathFile, mode: -1}))
		if got := pathtest.Shared(t, b.At(dir)); !slices.Equal(got, want) || b.Read(dir+"/log") != "theirs\nours\n" {
			t.Errorf("%s: %v, not %v", dir, got, want)
		}
	}
}

// Neither cp nor tar can remove access control lists: nothing is written.
func TestWritesRefuseListsThatStay(t *testing.T) {
	t.Parallel()
	b := newWriteBox(t)
	b.Mkdir("/srv/app")
	pathtest.Share(t, b.At("/srv/app"), pathtest.DefaultList)
	b.AddTool("cp", plainlessCp)
	b.AddTool("tar", plainlessTar)
	b.checkRefused(b.planWrite(contents{"/srv/app/new.conf": "new\n"}, writtenFile("/srv/app/new.conf")), 79, "setfacl -k")
}

// A directory becomes the property of root, and had an access control list. The mode would
// not say who may use it, so the write is refused before anything has changed.
func TestWritesRefuseSharedDirectories(t *testing.T) {
	t.Parallel()
	for _, list := range []string{pathtest.AccessList, pathtest.DefaultList} {
		b := newWriteBox(t)
		b.Mkdir("/srv/app")
		pathtest.Share(t, b.At("/srv/app"), list)
		b.checkRefused(b.planWrite(contents{"/etc/other.conf": "new\n"}, testEdit{path: "/srv/app", kind: resource.PathDirectory, mode: 0o700}, writtenFile("/etc/other.conf")), 79, "/srv/app: it has an access control list")
	}
}

// The list comes after the first check. The write is undone.
func TestWritesUndoSharedDirectories(t *testing.T) {
	t.Parallel()
	b := newWriteBox(t)
	b.Mkdir("/srv/app")
	b.Put("/etc/other.conf", "old\n", 0o644)
	pathtest.Share(t, b.At("/srv/app"), pathtest.DefaultList)
	b.Check(syscall.Removexattr(b.At("/srv/app"), pathtest.DefaultList))
	w := b.planWrite(contents{"/etc/other.conf": "new\n"}, testEdit{path: "/srv/app", kind: resource.PathDirectory, mode: 0o700}, writtenFile("/etc/other.conf"))
	b.AddTool("ls", `case $*:$(pwd) in *' .:'*/srv/app) if [ -e "$BOX/looked" ]; then echo 'drwxrwxr-x+'; exit; fi; : >"$BOX/looked" ;; esac
exec /bin/ls "$@"`)
	before := b.Node("/srv/app")
	b.Want(b.write(w), 79, "access control list")
	if b.Read("/etc/other.conf") != "old\n" || b.Node("/srv/app").Mode != before.Mode {
		t.Error("the write was not undone")
	}
	b.Check(os.Remove(b.At("looked")))
	b.CheckClean()
}

// The directory of holdfast passes a list on: all that a write copies from there would have
// it.
func TestWritesRefuseSharedState(t *testing.T) {
	t.Parallel()
	b := newWriteBox(t)
	pathtest.Share(t, b.At("/var/lib/holdfast"), pathtest.DefaultList)
	b.checkRefused(b.planWrite(contents{"/etc/new.conf": "new\n"}, writtenFile("/etc/new.conf")), 1, "setfacl -b -k")
}

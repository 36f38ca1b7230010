package change

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/restore"
	"holdfast/engine/pathtest"
)

// newRestoreBox is a host with old data, and an etcdutl that makes new ones.
func newRestoreBox(t *testing.T) *box {
	t.Helper()
	b := newBox(t)
	check(t, os.Remove(b.root+"/var/lib/holdfast/etcd-member"))
	b.write("etcd/default/member/snap/db", "old data")
	b.addTool("systemctl", "exit 0")
	b.addTool("chown", "exit 0")
	b.addTool("etcdutl", `[ "$3" != --help ] || { echo "--bump-revision --mark-compacted"; exit 0; }
mkdir -p restored.part/member/snap && cp "$3" restored.part/member/snap/db`)
	return b
}

func (b *box) mustRun(script Script) string {
	b.t.Helper()
	code, out := b.run(script)
	if code != 0 {
		b.t.Fatalf("exit status %d: %s", code, out)
	}
	return out
}

// probe returns the state that a probe finds.
func (b *box) probe() hostState {
	b.t.Helper()
	return readProbe(b.mustRun(probeScript(b.members)))
}

func (b *box) read(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.root, name))
	check(b.t, err)
	return string(text)
}

// bring uploads a snapshot and builds new data.
func (b *box) bring(snapshot string) {
	b.t.Helper()
	sum := sha256.Sum256([]byte(snapshot))
	b.mustRun(openRoomScript(testOwner, b.members))
	b.input = snapshot
	b.mustRun(receiveScript(testOwner, b.members, int64(len(snapshot)), hex.EncodeToString(sum[:])))
	b.input = ""
	b.mustRun(buildScript(testOwner, b.members, newData{settings: settingsText{name: "etcd-0"}}))
}

// TestRestoreScripts: the new data come into the place of the old ones, which are kept; each phase is found by a probe; at the
// end nothing else is left.
func TestRestoreScripts(t *testing.T) {
	t.Parallel()
	b := newRestoreBox(t)
	b.mustRun(toolsScript(b.members, 10))
	b.bring("new data")
	if s := b.probe(); s.phase != restore.Building || s.record != membership.Restoring || b.read("etcd/default/member/snap/db") != "old data" {
		t.Fatalf("%+v", s)
	}
	b.mustRun(completeScript(testOwner, b.members, "sha256-abc"))
	if s := b.probe(); s.phase != restore.Ready || s.of != "sha256-abc" || !s.data {
		t.Fatalf("%+v", s)
	}
	b.mustRun(replaceScript(testOwner, b.members, replacedClusters{clusters: []string{"c1"}, away: []awayHost{{"etcd-1", "c2"}}}))
	s := b.probe()
	if s.phase != restore.Placed || !s.replaced.hasCluster("c1") || !s.replaced.hasData("etcd-1", "c0") || s.replaced.hasData("etcd-1", "c2") {
		t.Fatalf("%+v", s)
	}
	b.mustRun(forgetScript(testOwner, b.members))
	if s := b.probe(); s.phase != restore.NoPhase || s.record != membership.NoRecord || !s.replaced.hasCluster("c1") {
		t.Fatalf("%+v", s)
	}
	names := strings.Join(b.list("etcd"), " ")
	if b.read("etcd/default/member/snap/db") != "new data" || strings.Count(names, " ") != 1 || !strings.Contains(names, "default.removed-") {
		t.Errorf("%s: %s", names, b.read("etcd/default/member/snap/db"))
	}
}

// TestRestoredDataHaveNoAccessLists: the folder above the data passes an access control list on. The new data do not have it.
func TestRestoredDataHaveNoAccessLists(t *testing.T) {
	t.Parallel()
	b := newRestoreBox(t)
	pathtest.Share(t, b.root+"/etcd", pathtest.DefaultList)
	b.bring("new data")
	b.mustRun(completeScript(testOwner, b.members, "x"))
	b.mustRun(replaceScript(testOwner, b.members, replacedClusters{}))
	if got := strings.Join(pathtest.Shared(t, b.root+"/etcd"), ", "); got != ". default" {
		t.Error(got)
	}
}

// TestUploadIsChecked: a snapshot that arrives cut or changed is not used.
func TestUploadIsChecked(t *testing.T) {
	t.Parallel()
	b := newRestoreBox(t)
	sum := sha256.Sum256([]byte("a snapshot"))
	for input, want := range map[string]string{"a snap": "cut off", "a snapshop": "another SHA-256", "": "cut off"} {
		b.mustRun(openRoomScript(testOwner, b.members))
		b.input = input
		if code, out := b.run(receiveScript(testOwner, b.members, 10, hex.EncodeToString(sum[:]))); code != 1 || !strings.Contains(out, want) {
			t.Errorf("%q: %d %s", input, code, out)
		}
	}
	if names := b.list("etcd"); len(names) != 2 { // the data, and one folder
		t.Errorf("earlier folders are left: %v", names)
	}
}

// TestReplaceIsCutShort: killed between the two renames, the next try finishes, and no data are lost.
func TestReplaceIsCutShort(t *testing.T) {
	t.Parallel()
	b := newRestoreBox(t)
	b.bring("new data")
	b.mustRun(completeScript(testOwner, b.members, "x"))
	b.addTool("mv", `case $* in *restored*) exit 1 ;; esac; PATH=${PATH#*:}; exec mv "$@"`)
	if code, out := b.run(replaceScript(testOwner, b.members, replacedClusters{})); code == 0 {
		t.Fatal(out)
	}
	if s := b.probe(); s.data || s.phase != restore.Ready {
		t.Fatalf("%+v", s)
	}
	check(t, os.Remove(b.root+"/bin/mv"))
	b.mustRun(replaceScript(testOwner, b.members, replacedClusters{}))
	if s := b.probe(); s.phase != restore.Placed || b.read("etcd/default/member/snap/db") != "new data" || len(b.list("etcd")) != 3 {
		t.Errorf("%+v %v", s, b.list("etcd"))
	}
}

// TestReplaceIsRefused: a folder of the restore that others may enter or have replaced is not used, and nothing is renamed.
func TestReplaceIsRefused(t *testing.T) {
	t.Parallel()
	for name, interfere := range map[string]func(b *box, room string) error{
		"opened to others": func(_ *box, room string) error { return os.Chmod(room, 0o755) },
		"moved away":       func(_ *box, room string) error { return os.Rename(room, room+"x") },
		"a link": func(b *box, room string) error {
			return errors.Join(os.Rename(room, b.root+"/elsewhere"), os.Symlink(b.root+"/elsewhere", room))
		},
		"other data": func(_ *box, room string) error { return os.RemoveAll(room + "/restored") },
	} {
		b := newRestoreBox(t)
		b.bring("new data")
		b.mustRun(completeScript(testOwner, b.members, "x"))
		rooms, err := filepath.Glob(b.root + "/etcd/.holdfast-restore-*")
		check(t, err)
		check(t, interfere(b, rooms[0]))
		code, out := b.run(replaceScript(testOwner, b.members, replacedClusters{}))
		if code == 0 || b.read("etcd/default/member/snap/db") != "old data" {
			t.Errorf("%s: %d %s", name, code, out)
		}
		b.mustRun(forgetScript(testOwner, b.members))
		if b.read("etcd/default/member/snap/db") != "old data" {
			t.Errorf("%s: the old data are gone", name)
		}
	}
}

// TestCopyOfDatabase: the database is copied only if it is a file in its folder, and etcd is stopped.
func TestCopyOfDatabase(t *testing.T) {
	t.Parallel()
	b := newRestoreBox(t)
	b.mustRun(openRoomScript(testOwner, b.members))
	b.mustRun(copyScript(testOwner, b.members))
	b.mustRun(buildScript(testOwner, b.members, newData{copied: true, settings: settingsText{name: "etcd-0"}}))
	out := b.mustRun(readScript(b.members, true, 0, 100))
	if !strings.HasPrefix(out, "8 ") || !strings.Contains(out, "b2xkIGRhdGE=") { // "old data"
		t.Error(out)
	}
	b.addTool("systemctl", `[ "$1" != is-active ] || echo active`)
	if code, out := b.run(copyScript(testOwner, b.members)); code != 1 || !strings.Contains(out, "still runs") {
		t.Error(code, out)
	}
	b.addTool("systemctl", "exit 0")
	db := b.members.DataDir + "/member/snap/db"
	check(t, errors.Join(os.Rename(db, b.root+"/secret"), os.Symlink(b.root+"/secret", db)))
	for name, script := range map[string]Script{"copy": copyScript(testOwner, b.members), "read": readScript(b.members, false, 0, 100)} {
		if code, out := b.run(script); code != 1 || !strings.Contains(out, "no database") {
			t.Errorf("%s: %d %s", name, code, out)
		}
	}
}

// TestOldTools: an etcdutl without the flags that let clients notice the restore is refused, and so is a full disk.
func TestOldTools(t *testing.T) {
	t.Parallel()
	b := newRestoreBox(t)
	if code, out := b.run(toolsScript(b.members, 8<<40)); code != 1 || !strings.Contains(out, "KiB free") {
		t.Error(code, out)
	}
	b.addTool("etcdutl", `[ "$1" != version ] || echo "etcdutl version: 3.5.4"; [ "$1" != snapshot ] || echo "--name --data-dir"`)
	if code, out := b.run(toolsScript(b.members, 1)); code != 1 || !strings.Contains(out, "its etcdutl (etcdutl version: 3.5.4) has no --bump-revision") {
		t.Error(code, out)
	}
}

// TestCopyOfSparseDatabase: an account can make its database a file of any size that takes no room. Its copy does.
func TestCopyOfSparseDatabase(t *testing.T) {
	t.Parallel()
	b := newRestoreBox(t)
	b.mustRun(openRoomScript(testOwner, b.members))
	check(t, os.Truncate(b.members.DataDir+"/member/snap/db", 1<<40))
	if code, out := b.run(copyScript(testOwner, b.members)); code != 1 || !strings.Contains(out, "the copy of the database of 1099511627776 bytes needs 2148532224 KiB, and only 9999998 KiB are free") {
		t.Error(code, out)
	}
}

// TestUnmountedDisk: a host whose disk is not mounted has no data to see, and is not a host without data.
func TestUnmountedDisk(t *testing.T) {
	t.Parallel()
	b := newRestoreBox(t)
	check(t, os.RemoveAll(b.members.DataDir))
	b.addTool("systemd-escape", `shift 2; for path; do echo "unit-of$path"; done`)
	state := func(active string) {
		b.addTool("systemctl", `[ "$1" = show ] && [ "$2 $4 $6" = "-p -p -p" ] || exit 0
shift 7
for unit; do
	case $unit in
	unit-of`+b.root+`/etcd) printf 'Where=%s\nLoadState=loaded\nActiveState=`+active+`\n\n' "${unit#unit-of}" ;;
	*) printf 'Where=%s\nLoadState=not-found\nActiveState=inactive\n\n' "${unit#unit-of}" ;;
	esac
done`)
	}
	for _, active := range []string{"inactive", "failed", "activating"} {
		state(active)
		if s := b.probe(); s.unmounted != b.root+"/etcd" || s.data {
			t.Errorf("%s: %+v", active, s)
		}
	}
	state("active")
	if s := b.probe(); s.unmounted != "" {
		t.Errorf("%+v", s)
	}
}

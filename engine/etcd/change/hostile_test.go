package change

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/engine"
	"holdfast/engine/etcd/setting"
	"holdfast/engine/longtest"
	"holdfast/engine/pathtest"
	"holdfast/modules/hostconfig/observe/observetest"
)

// An account puts each of these files aside and puts a link in its place, or a pipe where link is "". The paths begin at the root
// of the host. Everything below precious belongs to root.
var swaps = []struct{ name, file, link string }{
	{"folder of the data directory", "etcd", "precious"},
	{"data directory", "etcd/default", "precious/default"},
	{"member", "etcd/default/member", "precious/default/member"},
	{"folder of the database", "etcd/default/member/snap", "precious/default/member/snap"},
	{"database", "etcd/default/member/snap/db", "precious/default/member/snap/db"},
	{"database, by a pipe", "etcd/default/member/snap/db", ""},
	{"log in the data directory", "etcd/default/member/wal", "precious/default/member/wal"},
	{"room", "etcd/.holdfast-restore-*", "precious"},
	{"folder of the log", "disk", "precious"},
	{"log", "disk/wal", "precious/wal"},
	{"folder of the keys", "etc/etcd/pki", "precious"},
	{"folder above the keys", "etc/etcd", "precious"},
}

// oldData is as long as the secret.
var oldData = strings.Repeat("o", len(observetest.Secret))

// newHostileBox is a host with old data and a log in folders of an account, and with files of root that have the same names
// elsewhere.
func newHostileBox(t *testing.T) *box {
	t.Helper()
	b := newRestoreBox(t)
	check(t, os.Mkdir(b.root+"/disk", 0o755))
	b.members.Settings = &engine.EtcdSettings{WALDir: b.root + "/disk/wal"}
	b.members.CA = &engine.EtcdCA{Folder: "/etc/etcd/pki"}
	b.write("etcd/default/member/snap/db", oldData)
	b.write("disk/wal/0.wal", "log")
	b.write("etcd/default/member/wal/0.wal", "log")
	b.write("etc/etcd/pki/current/server.key", "key")
	for _, name := range []string{
		"default/member/snap/db", "default/member/wal/0.wal", "restored/member/snap/db", "restored/member/wal/0.wal", "restored.part/member/snap/db",
		"snapshot.db", "source", "log", "wal/0.wal", "current/server.key", "pki/current/server.key",
	} {
		b.write("precious/"+name, observetest.Secret)
	}
	check(t, errors.Join(os.Chmod(b.root+"/precious", 0o700), os.Chmod(b.root, 0o755)))
	b.addTool("systemctl", `[ "$1" != show ] || echo root`)
	b.addTool("chown", `case $(readlink /proc/self/cwd) in */precious*) : >"`+b.root+`/precious/chowned" ;; esac`)
	return b
}

// prepareSwap makes the account act directly before call n of a program, and undo it before the next call if back is set.
func (b *box) prepareSwap(file, link string, n int, back bool) {
	b.t.Helper()
	put := "mkfifo \"$file\""
	if link != "" {
		put = "ln -s " + b.root + "/" + link + " \"$file\""
	}
	b.write("swap", "for file in "+b.root+"/"+file+"; do [ -e \"$file\" ] || continue; mv \"$file\" \"$file.away\"; "+put+"; done\n")
	b.write("undo", "for away in "+b.root+"/"+file+".away; do [ -e \"$away\" ] || continue; rm -f \"${away%.away}\"; mv -T \"$away\" \"${away%.away}\"; done\n")
	b.write("count", "")
	undo := ""
	if back {
		undo = "elif [ -e acted ] && (set -C; : >undone) 2>/dev/null; then\n	PATH=/usr/bin:/bin sh undo 2>/dev/null\n"
	}
	for _, tool := range observetest.MeddledTools {
		if tool == "chown" {
			continue
		}
		b.write("meddled/"+tool, "#!/bin/sh\n(\ncd "+b.root+"\nprintf x >>count\nread -r n <count || :\n"+
			"if [ ${#n} -ge "+strconv.Itoa(n)+" ] && (set -C; : >acted) 2>/dev/null; then\n	PATH=/usr/bin:/bin sh swap 2>/dev/null\n"+undo+"fi\n)\n"+
			"exec "+observetest.ToolPath(b.t, tool)+" \"$@\"\n")
		check(b.t, os.Chmod(b.root+"/meddled/"+tool, 0o755))
	}
	b.path = b.root + "/meddled:"
}

// listPrecious describes the files of root.
func (b *box) listPrecious() string {
	b.t.Helper()
	var list strings.Builder
	check(b.t, filepath.WalkDir(b.root+"/precious", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(&list, strings.TrimPrefix(path, b.root), info.Mode(), info.Size(), info.ModTime())
		return nil
	}))
	return list.String()
}

// findLeaks lists the files outside of precious that have the secret.
func (b *box) findLeaks() []string {
	b.t.Helper()
	var list []string
	check(b.t, filepath.WalkDir(b.root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == b.root+"/precious":
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), observetest.Secret) {
			list = append(list, path)
		}
		return nil
	}))
	return list
}

// hasSecret reports whether a script has printed the secret, in one of the encodings of scripts.
func hasSecret(out string) bool {
	return strings.Contains(out, observetest.Secret) || strings.Contains(out, base64.StdEncoding.EncodeToString([]byte(observetest.Secret))) ||
		strings.Contains(out, fmt.Sprintf("%x", observetest.Secret))
}

// TestScriptsAreSafeOnHostileGround: an account swaps a folder or a file of its own at any moment of a restore, a start and a
// removal. Root neither reads nor changes anything elsewhere, and does not wait. By default each swap happens at one moment.
func TestScriptsAreSafeOnHostileGround(t *testing.T) {
	t.Parallel()
	longtest.SkipSlow(t)
	for i, swap := range swaps {
		t.Run(swap.name, func(t *testing.T) {
			t.Parallel()
			step := longtest.Pick(60, 1)
			for n := 1 + 17*i; swappedPlay(t, swap.file, swap.link, n, (n+i)%2 == 0); n += step {
				if longtest.On() {
					swappedPlay(t, swap.file, swap.link, n, (n+i)%2 != 0)
				}
			}
		})
	}
}

// swappedPlay runs all scripts that enter folders, with a swap before call n of a program. It reports whether
// the scripts called the program n times.
func swappedPlay(t *testing.T, file, link string, n int, back bool) bool {
	t.Helper()
	b := newHostileBox(t)
	before := b.listPrecious()
	b.prepareSwap(file, link, n, back)
	settings := settingsText{name: "etcd-0", managed: b.members}
	var log strings.Builder
	for _, script := range []Script{
		probeScript(b.members), toolsScript(b.members, 10), preflightScript(b.members),
		openRoomScript(testOwner, b.members), copyScript(testOwner, b.members), readScript(b.members, false, 0, 100),
		buildScript(testOwner, b.members, newData{copied: true, settings: settings}), readScript(b.members, true, 0, 100),
		completeScript(testOwner, b.members, "x"), probeScript(b.members), replaceScript(testOwner, b.members, replacedClusters{}),
		startScript(testOwner, settings, setting.Wanted{}), setAsideScript(testOwner, b.members), forgetScript(testOwner, b.members),
	} {
		code, out := b.run(script)
		if code < 0 {
			t.Errorf("before program %d, back %v: a script has waited: %s", n, back, out)
		}
		fmt.Fprintf(&log, "%d %s\n", code, out)
	}
	if after := b.listPrecious(); after != before {
		t.Errorf("before program %d, back %v: what is root's has changed\n%s\n%s\n%s", n, back, before, after, log.String())
	}
	if leaked := b.findLeaks(); len(leaked) > 0 || hasSecret(log.String()) {
		t.Errorf("before program %d, back %v: the secret is in %v\n%s", n, back, leaked, log.String())
	}
	return len(b.read("count")) >= n
}

// TestDatabasesThatAreReplaced: an account replaces only the database, directly before root reads it. Root reads no target of a
// link, and does not wait for a pipe.
func TestDatabasesThatAreReplaced(t *testing.T) {
	t.Parallel()
	for _, put := range []string{"ln -s $S/default/member/snap/db ./db", "mkfifo ./db"} {
		b := newHostileBox(t)
		b.mustRun(openRoomScript(testOwner, b.members))
		b.addTool("dd", "rm -f ./db; "+strings.ReplaceAll(put, "$S", b.root+"/precious")+"; exec "+observetest.ToolPath(t, "dd")+" \"$@\"")
		for name, script := range map[string]Script{"copy": copyScript(testOwner, b.members), "read": readScript(b.members, false, 0, 100)} {
			b.write("etcd/default/member/snap/fresh", oldData)
			check(t, os.Rename(b.root+"/etcd/default/member/snap/fresh", b.root+"/etcd/default/member/snap/db"))
			began := time.Now()
			code, out := b.run(script)
			if leaked := b.findLeaks(); len(leaked) > 0 || hasSecret(out) || code < 0 || time.Since(began) > 30*time.Second {
				t.Errorf("%s, %s: %v, %d %s %v", put, name, time.Since(began), code, out, leaked)
			}
		}
	}
}

// TestRenamesStayInTheirFolder: an account swaps the room or the folder of the data directory directly before root renames there.
func TestRenamesStayInTheirFolder(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ call, file string }{{"*restored*", "etcd/.holdfast-restore-*"}, {"*default.removed-*", "etcd"}} {
		b := newHostileBox(t)
		b.bring("new data")
		b.mustRun(completeScript(testOwner, b.members, "x"))
		before := b.listPrecious()
		mv := observetest.ToolPath(t, "mv")
		b.addTool("mv", "case $* in "+x.call+") for file in "+b.root+"/"+x.file+"; do "+mv+" $file $file.away; ln -s "+b.root+"/precious $file; done; : >"+b.root+"/acted ;; esac\nexec "+mv+" \"$@\"")
		code, out := b.run(replaceScript(testOwner, b.members, replacedClusters{}))
		if _, err := os.Stat(b.root + "/acted"); err != nil {
			t.Errorf("%s: nothing was swapped: %d %s", x.call, code, out)
		}
		if after := b.listPrecious(); after != before {
			t.Errorf("%s: %d %s\n%s\n%s", x.call, code, out, before, after)
		}
	}
}

// TestFoldersThatAreSwappedAllTheTime: an account exchanges a folder with a link all the time. Some shells compute the path of a
// folder before they enter it, so they cannot tell where they are.
func TestFoldersThatAreSwappedAllTheTime(t *testing.T) {
	t.Parallel()
	b := newHostileBox(t)
	member, link := b.members.DataDir+"/member", b.root+"/etcd/link"
	check(t, os.Symlink(b.root+"/precious/default/member", link))
	ctx, cancel := context.WithCancel(t.Context())
	swapping := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if err := unix.Renameat2(unix.AT_FDCWD, member, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
				swapping <- err
				return
			}
		}
		swapping <- nil
	}()
	runs, read := longtest.Choose(8, 200, 5000), 0
	for range runs {
		script := readScript(b.members, false, 0, 100)
		script.Text += "echo\n"
		code, out := b.run(script)
		if code == 0 && strings.Contains(out, base64.StdEncoding.EncodeToString([]byte(oldData))) {
			read++
		}
		if hasSecret(out) {
			t.Errorf("%s has read a file of root: %s", pathtest.Shell(), out)
			break
		}
	}
	cancel()
	if err := <-swapping; err != nil {
		t.Skip("files cannot be exchanged here:", err)
	}
	t.Logf("%d of %d runs have read the database", read, runs)
}

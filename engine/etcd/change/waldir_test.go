package change

import (
	"errors"
	"os"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcd/setting"
	"holdfast/engine/longtest"
)

// newWALBox is a host whose inventory wants the log in a folder of its own.
func newWALBox(t *testing.T) *box {
	t.Helper()
	b := newConfigureBox(t)
	check(t, os.MkdirAll(b.root+"/disk", 0o755))
	b.members.Settings = &engine.EtcdSettings{WALDir: b.root + "/disk/wal"}
	return b
}

func (b *box) startWith(wal string) {
	b.t.Helper()
	wanted := setting.Wanted{Values: setting.Values{"quota_backend_bytes": "7"}}.WithWAL(wal)
	if code, out := b.run(startScript(testOwner, settingsText{name: "etcd-0", managed: b.members}, wanted)); code != 0 {
		b.t.Fatal(code, out)
	}
}

// TestProbeFindsTheLog checks that the probe reads the log in the folder that the etcd of the host uses: the log says to which
// member the data belong. A log that another member left counts as data, so that no new member gets it.
func TestProbeFindsTheLog(t *testing.T) {
	t.Parallel()
	const inData, onDisk = "wal 696e2064617461\n", "wal 6f6e206469736b\n" // "in data", "on disk"
	for name, x := range map[string]struct {
		started, wal   string // "-": not started
		inData, onDisk bool
		want           string
	}{
		"new host":             {started: "-", want: ""},
		"new host, log left":   {started: "-", onDisk: true, want: "data\n" + onDisk},
		"log on disk":          {started: "/disk/wal", onDisk: true, want: "data\n" + onDisk},
		"log in data, no disk": {started: "", inData: true, want: "data\n" + inData},
		"log in data, other log left": {
			started: "", inData: true, onDisk: true, want: "data\n" + inData, // its etcd does not know of the other
		},
		"not set up, log in data": {started: "-", inData: true, want: "data\n" + inData},
	} {
		b := newWALBox(t)
		if x.started != "-" {
			wal := x.started
			if wal != "" {
				wal = b.root + wal
			}
			b.startWith(wal)
		}
		if x.inData {
			b.write("etcd/default/member/wal/0.wal", "in data")
		}
		if x.onDisk {
			b.write("disk/wal/0.wal", "on disk")
		}
		code, out := b.run(probeScript(b.members))
		_, found, _ := strings.Cut(out, "user etcd\n")
		if code != 0 || found != x.want {
			t.Errorf("%s: %d %q, want %q", name, code, found, x.want)
		}
	}
}

// TestLogIsNoLink: nobody leads the probe or a removal elsewhere.
func TestLogIsNoLink(t *testing.T) {
	t.Parallel()
	b := newWALBox(t)
	b.startWith(b.root + "/disk/wal")
	b.write("elsewhere/wal/0.wal", "precious")
	check(t, errors.Join(os.Remove(b.root+"/disk"), os.Symlink("elsewhere", b.root+"/disk")))
	for name, script := range map[string]Script{"probe": probeScript(b.members), "set aside": setAsideScript(testOwner, b.members)} {
		if code, out := b.run(script); code == 0 || !strings.Contains(out, "is a link") {
			t.Errorf("%s: %d %s", name, code, out)
		}
	}
	if len(b.list("elsewhere/wal")) != 1 {
		t.Error("the folder elsewhere was renamed")
	}
}

// TestLogIsSetAside: the log goes with the data of its member, also where the script was cut short in between.
func TestLogIsSetAside(t *testing.T) {
	t.Parallel()
	b := newWALBox(t)
	b.startWith(b.root + "/disk/wal")
	b.write("etcd/default/member/snap/db", "data")
	b.write("disk/wal/0.wal", "log")
	b.addTool("mv", `case $* in *default*) exit 1 ;; esac; PATH=${PATH#*:}; exec mv "$@"`)
	if code, out := b.run(setAsideScript(testOwner, b.members)); code == 0 {
		t.Fatal(out)
	}
	check(t, os.Remove(b.root+"/bin/mv"))
	code, out := b.run(setAsideScript(testOwner, b.members))
	disk, data := strings.Join(b.list("disk"), " "), strings.Join(b.list("etcd"), " ")
	if code != 0 || !strings.HasPrefix(disk, "wal.removed-") || !strings.HasPrefix(data, "default.removed-") || strings.Contains(disk+data, " ") {
		t.Error(code, out, disk, data)
	}
}

// TestRestoreLeavesTheOldLog: restored data have their log in the data directory, and etcd does not get the old one.
func TestRestoreLeavesTheOldLog(t *testing.T) {
	t.Parallel()
	b := newRestoreBox(t)
	check(t, os.MkdirAll(b.root+"/disk", 0o755))
	b.members.Settings = &engine.EtcdSettings{WALDir: b.root + "/disk/wal"}
	b.startWith(b.root + "/disk/wal")
	b.write("disk/wal/0.wal", "log")
	b.bring("new data")
	b.mustRun(completeScript(testOwner, b.members, "x"))
	b.addTool("systemctl", `[ "$1" != disable ] || ls "`+b.root+`/disk" >"`+b.root+`/disabled"`)
	b.mustRun(replaceScript(testOwner, b.members, replacedClusters{}))
	if b.read("disabled") != "wal\n" {
		t.Error("after a power cut, etcd would start without its log")
	}
	if disk := strings.Join(b.list("disk"), " "); !strings.HasPrefix(disk, "wal.removed-") || b.read("etcd/default/member/snap/db") != "new data" {
		t.Error(disk)
	}
	r := &Run{Members: []engine.Host{{Name: "etcd-0"}}, Owner: testOwner, Hosts: boxes{"etcd-0": b}}
	r.Cluster.Managed = &engine.ManagedMembers{Settings: &engine.EtcdSettings{WALDir: "/disk/wal", QuotaBackendBytes: 7}}
	check(t, actions{r}.startRestored(t.Context(), "etcd-0", settingsText{name: "etcd-0", managed: b.members}))
	if text := b.read(tunedPath); text != "ETCD_QUOTA_BACKEND_BYTES=7\n" {
		t.Error(text)
	}
}

// TestPreflightOfTheLog: the folder of the log is checked as the one of the data is, and its disk if the inventory wants that.
func TestPreflightOfTheLog(t *testing.T) {
	t.Parallel()
	b := newWALBox(t)
	disk := func(number string) {
		b.addTool("stat", `case $* in "-c %d .") echo `+number+` ;; "-c %d . / "*) echo 5; echo 7; exit 1 ;; *) PATH=${PATH#*:}; exec stat "$@" ;; esac`)
	}
	for name, x := range map[string]struct {
		device string
		own    bool
		want   string
	}{
		"shared": {"5", false, "sync "}, "own": {"6", true, "sync "},
		"of the data": {"5", true, "is on the disk of data_dir or of the system"}, "of the system": {"7", true, "is on the disk of data_dir or of the system"},
	} {
		disk(x.device)
		b.members.Settings.WALOnOwnDisk = x.own
		if _, out := b.run(preflightScript(b.members)); !strings.Contains(out, x.want) || strings.Contains(out, "sync ") != (x.want == "sync ") {
			t.Errorf("%s: %s", name, out)
		}
	}
	b.addTool("mountpoint", `[ "$2" = ./wal ]`)
	if _, out := b.run(preflightScript(b.members)); !strings.Contains(out, "use a folder in it as wal_dir") {
		t.Error(out)
	}
	check(t, os.RemoveAll(b.root+"/disk"))
	if _, out := b.run(preflightScript(b.members)); !strings.Contains(out, "/disk; make it, writable for etcd") {
		t.Error(out)
	}
}

// TestPreflightOfTheDataDisk: a data directory on the disk of the system is refused if the inventory wants another, also where the log has
// a disk of its own.
func TestPreflightOfTheDataDisk(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		device, system string // "5": no /sysroot
		own            bool
		refused        bool
	}{
		"not asked for":    {"5", "echo 5; exit 1", false, false},
		"own":              {"6", "echo 5; exit 1", true, false},
		"own, ostree":      {"6", "echo 5; echo 7", true, false},
		"not mounted":      {"5", "echo 5; exit 1", true, true},
		"in the sysroot":   {"7", "echo 5; echo 7", true, true},
		"part of a number": {"5", "echo 55; exit 1", true, false},
	} {
		for _, wal := range []string{"/disk/wal", ""}[:longtest.Choose(1, 2, 2)] {
			b := newWALBox(t)
			b.addTool("stat", `case $*:$PWD in "-c %d .:`+b.root+`/etcd") echo `+x.device+` ;; "-c %d .:"*) echo 9 ;; "-c %d / /sysroot:"*) `+x.system+` ;; *) PATH=${PATH#*:}; exec stat "$@" ;; esac`)
			b.members.Settings = &engine.EtcdSettings{DataOnOwnDisk: x.own}
			if wal != "" {
				b.members.Settings.WALDir = b.root + wal
			}
			code, out := b.run(preflightScript(b.members))
			if refused := strings.Contains(out, b.root+"/etcd is on the disk of the system, and data_on_own_disk is set; mount another disk there"); refused != x.refused || refused == strings.Contains(out, "sync ") || refused != (code == 1) {
				t.Errorf("%s, log in %q: %d %s", name, wal, code, out)
			}
		}
	}
}

// TestMemberIsNotRestartedWithoutItsLog: with another or an empty folder, etcd would begin an empty log, and a voter would forget its
// votes.
func TestMemberIsNotRestartedWithoutItsLog(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		lose func(b *box) error
		want string
	}{
		"disk not mounted": {func(b *box) error { return os.RemoveAll(b.root + "/disk/wal") }, "/disk/wal has no log of etcd; is its disk mounted?"},
		"settings lost":    {func(b *box) error { return os.Remove(b.root + tunedPath) }, "etcd-settings.env is gone"},
	} {
		b := newWALBox(t)
		b.startWith(b.root + "/disk/wal")
		b.write("disk/wal/0.wal", "log")
		check(t, x.lose(b))
		b.addTool("systemctl", `case $1 in restart) : >"`+b.root+`/restarted" ;; esac`)
		wanted := wantedQuota("8").On(probeSettings(t, b))
		if code, out := b.run(configureScript(testOwner, b.members, wanted)); code != 1 || !strings.Contains(out, x.want) {
			t.Errorf("%s: %d %s", name, code, out)
		}
		if _, err := os.Stat(b.root + "/restarted"); err == nil || probeSettings(t, b).Unread {
			t.Errorf("%s: it was restarted, or other settings were written", name)
		}
	}
}

package change

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcd/etcdtest"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/setting"
	"holdfast/engine/shelltest"
)

// TestReadWAL reads the ID of a real member out of its WAL, and nothing out of anything else.
func TestReadWAL(t *testing.T) {
	t.Parallel()
	member := etcdtest.Start(t, 1, etcdtest.Options{}).Members[0]
	files, err := filepath.Glob(filepath.Join(member.Dir(), "member", "wal", "*.wal"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	begin, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	begin = begin[:512]
	want := strconv.FormatUint(member.ID(), 16)
	got, cluster := readWAL(begin)
	if got != want || cluster == "" || cluster == got {
		t.Errorf("member %q of %q, want %q", got, cluster, want)
	}
	for n := range begin {
		if got, _ := readWAL(begin[:n]); got != "" && got != want {
			t.Errorf("member %q in the first %d bytes", got, n)
		}
	}
	out := "clock 1700000000\nrunning\nrecord adding\ndata\nwal " + fmt.Sprintf("%x", begin) + "\n"
	if s := readProbe(out); s.dataOf != want || !s.running || !s.data || s.record != membership.Adding || s.clock.Unix() != 1700000000 {
		t.Errorf("%+v", s)
	}
}

// FuzzReadWAL: nothing that a host sends makes the reader panic.
func FuzzReadWAL(f *testing.F) {
	f.Add([]byte("\x04\x00\x00\x00\x00\x00\x00\x84\x08\x01\x10\x00"))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(_ *testing.T, begin []byte) { readWAL(begin) })
}

// TestShellcheck checks every script.
func TestShellcheck(t *testing.T) {
	owner := engine.HoldOwner{Run: "r1", Bastion: "b1"}
	m := engine.ManagedMembers{PeerPort: 2380, DataDir: "/var/lib/etcd/default", Unit: "etcd.service"}
	for name, script := range map[string]Script{
		"probe":     probeScript(m),
		"record":    recordScript(owner, m, membership.Adding),
		"forget":    forgetScript(owner, m),
		"start":     startScript(owner, settingsText{name: "etcd-0", cluster: "etcd-0=http://10.0.0.1:2380", managed: m}, setting.Wanted{}),
		"configure": configureScript(owner, m, setting.Wanted{Values: setting.Values{"quota_backend_bytes": "1"}, User: "etcd"}),
		"set aside": setAsideScript(owner, m),
		"preflight": preflightScript(m),
		"version":   versionScript(m),

		"tools":     toolsScript(m, 1<<30),
		"open room": openRoomScript(owner, m),
		"receive":   receiveScript(owner, m, 1<<30, "abc"),
		"copy":      copyScript(owner, m),
		"build":     buildScript(owner, m, newData{settings: settingsText{name: "etcd-0", cluster: "etcd-0=http://10.0.0.1:2380"}, copied: true, bump: 7}),
		"complete":  completeScript(owner, m, "data-etcd-0"),
		"note":      noteScript(owner, m, replacedClusters{clusters: []string{"c1"}}),
		"replace":   replaceScript(owner, m, replacedClusters{}),
		"read":      readScript(m, false, 0, 512),
		"read new":  readScript(m, true, 0, 512),
	} {
		t.Run(name, func(t *testing.T) { shelltest.Check(t, name, script.Text) })
	}
}

package change

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcd/database"
	"holdfast/engine/etcd/etcdtest"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/restore"
)

// dataHosts are stopped hosts with databases.
type dataHosts map[string]dataHost

type dataHost struct{ probe, database string }

func (f dataHosts) Run(_ context.Context, host engine.Host, script Script) (engine.Output, error) {
	switch h := f[host.Name]; script.Purpose {
	case ProbeHost:
		return engine.Output{Stdout: "clock 1\n" + h.probe}, nil
	case ReadDatabase:
		number := func(name string) int {
			n, _ := strconv.Atoi(regexp.MustCompile(`(?m)^` + name + `='?(\d+)`).FindStringSubmatch(script.Text)[1])
			return n
		}
		part := h.database[min(number("offset"), len(h.database)):]
		part = part[:min(number("length"), len(part))]
		return engine.Output{Stdout: fmt.Sprintf("%d 1\n%s", len(h.database), base64.StdEncoding.EncodeToString([]byte(part)))}, nil
	}
	return engine.Output{}, nil
}

// walLine returns the line of a probe for the log of a member.
func walLine(member, cluster uint64) string {
	return fmt.Sprintf("data\nwal %x\n", walBegin(member, cluster))
}

func walBegin(member, cluster uint64) []byte {
	varint := func(field int, n uint64) []byte {
		out := []byte{byte(field << 3)}
		for ; n >= 0x80; n >>= 7 {
			out = append(out, byte(n)|0x80)
		}
		return append(out, byte(n))
	}
	ids := slices.Concat(varint(1, member), varint(2, cluster))
	record := slices.Concat(varint(1, 1), []byte{3<<3 | 2, byte(len(ids))}, ids)
	return slices.Concat([]byte{byte(len(record)), 0, 0, 0, 0, 0, 0, 0}, record, bytes.Repeat([]byte{0}, 8))
}

// makeDatabase returns the database of a cluster of one member with a number of keys.
func makeDatabase(t *testing.T, keys int) string {
	t.Helper()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{})
	client, ctx := cluster.Client(t), etcdtest.Context(t)
	for i := range keys {
		if _, err := client.Put(ctx, fmt.Sprint("key", i), fmt.Sprint(keys)); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Members[0].Stop()
	file, err := os.ReadFile(filepath.Join(cluster.Members[0].Dir(), "member", "snap", "db"))
	check(t, err)
	return string(file)
}

// TestUnlikeDataOfOneCluster: a cluster that was made anew with the names, addresses and token of the old one has its IDs. The
// contents tell that the data of a host that was forgotten are of the old one, and neither is taken for the fresher one.
func TestUnlikeDataOfOneCluster(t *testing.T) {
	t.Parallel()
	few, many := makeDatabase(t, 3), makeDatabase(t, 9)
	hosts := dataHosts{"a": {walLine(0xa, 0xc), few}, "b": {walLine(0xb, 0xc), many}}
	r := newFakeRestore(&restoringHosts{}, &fakeEtcd{})
	r.Run.Hosts = hosts
	s, err := r.Observe(t.Context())
	if f := restore.Plan(s); err != nil || f.Refusal == nil || f.Refusal.Kind != restore.UnlikeHistories || !strings.Contains(f.Refusal.Text, "with other contents") {
		t.Errorf("%v %+v", err, f.Refusal)
	}
	hosts["b"] = dataHost{walLine(0xb, 0xc), few}
	r.relations, r.data = map[[2]string]database.Relation{}, map[string]restore.Data{}
	s, err = r.Observe(t.Context())
	if f := restore.Plan(s); err != nil || f.Refusal != nil && f.Refusal.Kind == restore.UnlikeHistories || s.Hosts[1].Data.Fork != "" {
		t.Errorf("%v %+v", err, f.Refusal)
	}
}

// TestPlacedMembersOfDatabases: a member in a database is on the host whose data it has, whose name it has, or whose address
// is in its URLs, in any spelling.
func TestPlacedMembersOfDatabases(t *testing.T) {
	t.Parallel()
	r := newFakeRestore(&restoringHosts{}, &fakeEtcd{})
	r.Run.Members = []engine.Host{{Name: "a", Address: "10.0.0.1"}, {Name: "b", Address: "fd00::01"}, {Name: "c", Address: "C.Example.com"}}
	r.peerURLs = map[string][]string{"2": {"https://[fd00::1]:2380"}, "3": {"https://c.example.com.:2380"}, "4": {"https://[fd00::2]:2380"}}
	s := restore.State{Hosts: []restore.Host{{Name: "a", DataOf: "1"}, {Name: "b"}, {Name: "c"}}}
	for m, want := range map[membership.Member]string{{ID: "1", Name: "b"}: "a", {ID: "2"}: "b", {ID: "3"}: "c", {ID: "4"}: "", {ID: "5", Name: "B"}: "b"} {
		if got := r.hostOf(s, m); got != want {
			t.Errorf("%+v is on %q, want %q", m, got, want)
		}
	}
}

// TestLineage: the members of the clusters before a restore, and the revision at which it began, are recorded on the bastion and on
// hosts, and each record alone is enough.
func TestLineage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "snapshots", "main.lineage")
	r := newFakeRestore(&restoringHosts{}, &fakeEtcd{})
	r.LineagePath = path
	check(t, r.noteLineage([]string{"1a", "1b"}, 1_000_000_010))
	other := newFakeRestore(&restoringHosts{}, &fakeEtcd{})
	other.LineagePath = path
	var s restore.State
	check(t, other.addLineage(&s))
	if !slices.Equal(s.Ancestors, []string{"1a", "1b"}) || s.Restored != 1_000_000_010 {
		t.Errorf("%+v", s)
	}
	elsewhere := newFakeRestore(&restoringHosts{}, &fakeEtcd{})
	elsewhere.Run.replaced = readProbe("replaced cluster c1\nreplaced member 1a\nreplaced revision 7\nreplaced member nonsense\n").replaced
	s = restore.State{}
	check(t, elsewhere.addLineage(&s))
	if !slices.Equal(s.Ancestors, []string{"1a"}) || s.Restored != 7 {
		t.Errorf("%+v", s)
	}
	if text := elsewhere.Run.replaced.String(); text != "cluster c1\nmember 1a\nrevision 7\n" {
		t.Errorf("%q", text)
	}
	check(t, os.Remove(path))
	check(t, os.Symlink("/etc/passwd", path))
	if err := newFakeRestoreAt(path).addLineage(&s); err == nil {
		t.Error("a link is read")
	}
}

// TestLineageOfALaterVersion: a record of the bastion with a line that this version does not know is an error, and stays.
func TestLineageOfALaterVersion(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "main.lineage")
	const text = "member 1a\nblessed 1b x\nrevision 7\n"
	check(t, os.WriteFile(path, []byte(text), 0o600))
	err := newFakeRestoreAt(path).addLineage(&restore.State{})
	if want := path + `: it has the line "blessed 1b x", which this version of holdfast does not know; use the version that wrote it, or a later one`; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v", err)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != text {
		t.Errorf("it has become %q, %v", now, err)
	}
}

func newFakeRestoreAt(path string) *Restore {
	r := newFakeRestore(&restoringHosts{}, &fakeEtcd{})
	r.LineagePath = path
	return r
}

// TestFormerMembers: the IDs of members that were replaced one after the other are in the data, so that a snapshot from before is of
// this cluster.
func TestFormerMembers(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 3, etcdtest.Options{})
	gone := cluster.Members[2].ID()
	cluster.RemoveMember(t, cluster.Members[2])
	cluster.Members[0].Stop()
	file, err := os.ReadFile(filepath.Join(cluster.Members[0].Dir(), "member", "snap", "db"))
	check(t, err)
	r := newFakeRestore(&restoringHosts{}, &fakeEtcd{})
	r.Run.Hosts = dataHosts{"a": {walLine(0xa, 0xc), string(file)}}
	s, err := r.Observe(t.Context())
	want := membership.Member{ID: strconv.FormatUint(gone, 16)}
	if err != nil || len(s.Hosts[0].Data.Removed) != 1 || s.Hosts[0].Data.Removed[0] != want {
		t.Errorf("%v %+v", err, s.Hosts[0].Data)
	}
}

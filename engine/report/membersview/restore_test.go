package membersview_test

import (
	"strings"
	"testing"

	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/restore"
	"holdfast/engine/report/membersview"
)

// TestWriteRestore checks that a person sees the data of each host, the writes
// that would be lost, and the steps. No text of a host can control the
// terminal.
func TestWriteRestore(t *testing.T) {
	t.Parallel()
	members := []membership.Member{{ID: "1a", Name: "a", Host: "a"}, {ID: "1b", Name: "b", Host: "b"}, {ID: "1c", Name: "c", Host: "c"}}
	s := restore.State{Cluster: "main", Lost: []string{"c"}, Hosts: []restore.Host{
		{Name: "a", HasData: true, Running: true, DataOf: "1a", Data: restore.Data{Revision: 48213, Members: members, Time: "2026-11-23 03:12:44 UTC"}},
		{Name: "b", HasData: true, DataOf: "9f", Unread: "page 3\x1b[2J is beyond its end"},
		{Name: "c", Unreachable: "no route"},
	}}
	saved := []restore.Source{{Path: "old.db", Data: restore.Data{Revision: 47100, Time: "2026-11-22 22:00:03 UTC"}}}
	var b strings.Builder
	if err := membersview.WriteRestore(&b, s, restore.Plan(s), saved); err != nil {
		t.Fatal(err)
	}
	const want = `HOST            ETCD         DATA                                             REVISION  LAST WRITTEN
a               runs         of member 1a                                     48213     2026-11-23 03:12:44 UTC
b               stopped      cannot be read: page 3\x1b[2J is beyond its end  -         -
c               unreachable  not known, said to be lost                       -         -
(this machine)  -            old.db                                           47100     2026-11-22 22:00:03 UTC
source: the data of a, revision 48213, last written 2026-11-23 03:12:44 UTC
WOULD BE LOST: all writes after revision 48213; no later revision is known
 1. preflight a
 2. build a (from the data of a, revision 48213)
 3. set aside b
 4. replace a
 5. start a
 6. finish a
Then this command adds the other voters, in the same way as "holdfast etcd members apply".
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	s.Snapshot = &restore.Source{Identity: "x", Path: "old.db", Data: saved[0].Data}
	s.Snapshot.Members = members
	if err := membersview.WriteRestore(&b, s, restore.Plan(s), nil); err != nil || !strings.Contains(b.String(), "WOULD BE LOST: at least 1113 revisions, because the data of a have revision 48213, last written 2026-11-23 03:12:44 UTC") {
		t.Error(b.String(), err)
	}
}

package restore_test

import (
	"strings"
	"testing"

	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/restore"
)

func namedMembers(prefix string, names ...string) []membership.Member {
	var list []membership.Member
	for _, n := range names {
		list = append(list, membership.Member{ID: prefix + n, Name: n, Host: n})
	}
	return list
}

// forgottenData makes the data of host b those of an earlier cluster of the same name, with a higher revision.
func forgottenData(s *restore.State) {
	b := &s.Hosts[1]
	b.HasData, b.DataOf, b.DataCluster = true, "2b", "older"
	b.Data = restore.Data{Revision: 5000, Members: namedMembers("2", "a", "b", "c"), Time: "2024-01-01 00:00:00 UTC"}
}

// TestUnlikeHistories checks that no data are taken for the freshest among those of several clusters, and that a person chooses.
func TestUnlikeHistories(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*restore.State){
		"of another cluster": forgottenData,
		"of a cluster that was made anew with the same IDs": func(s *restore.State) {
			s.Hosts[1].HasData, s.Hosts[1].DataOf, s.Hosts[1].DataCluster = true, "1b", "cl"
			s.Hosts[1].Data = restore.Data{Revision: 5000, Members: s.Hosts[0].Data.Members, Fork: "b"}
		},
		"of an unknown cluster": func(s *restore.State) {
			forgottenData(s)
			s.Hosts[1].DataCluster = ""
		},
	} {
		s := threeHosts("dnn")
		change(&s)
		f := restore.Plan(s)
		if f.Refusal == nil || f.Refusal.Kind != restore.UnlikeHistories || len(f.Steps) > 0 ||
			!strings.Contains(f.Refusal.Text, "--from a or --from b") || !strings.Contains(f.Refusal.Text, "revision 5000") {
			t.Errorf("%s: %+v", name, f)
		}
		s.From = "a"
		f = restore.Plan(s)
		if f.Refusal != nil || f.Source.Host != "a" || f.Source.Revision != 10 {
			t.Errorf("%s: %+v", name, f)
		}
		if best := s.Freshest(f.Source, nil); best.Host != "a" {
			t.Errorf("%s: the data of b count as fresher: %+v", name, best)
		}
		if others := s.OtherHistories(f.Source, nil); len(others) != 1 || others[0].Host != "b" {
			t.Errorf("%s: %+v", name, others)
		}
		if n := s.HighestRevision(f.Source, nil); n != 5000 {
			t.Errorf("%s: clients may know revision 5000, not only %d", name, n)
		}
		s.Hosts[1].Data.Members = s.Hosts[1].Data.Members[1:2] // a cluster of one voter, which may live
		if f := restore.Plan(s); f.Refusal != nil {
			t.Errorf("%s: %+v", name, f.Refusal)
		}
		s.From = "c"
		if f := restore.Plan(s); f.Refusal == nil || !strings.Contains(f.Refusal.Text, "host c, which --from names, has no data") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestDataAgainstSavedSnapshots checks that the only data that are left are not taken for those of this cluster if the saved
// snapshots are of another one.
func TestDataAgainstSavedSnapshots(t *testing.T) {
	t.Parallel()
	s := threeHosts("ndn")
	s.Known = namedMembers("1", "a", "b", "c")
	if f := restore.Plan(s); f.Refusal != nil {
		t.Errorf("%+v", f.Refusal)
	}
	s = threeHosts("nnn")
	s.Known = namedMembers("1", "a", "b", "c")
	forgottenData(&s)
	if f := restore.Plan(s); f.Refusal == nil || f.Refusal.Kind != restore.UnlikeHistories || !strings.Contains(f.Refusal.Text, "use --from b") {
		t.Errorf("%+v", f.Refusal)
	}
	for name, known := range map[string]func(*restore.State){
		"a person has chosen them":             func(s *restore.State) { s.From = "b" },
		"the snapshots are from before":        func(s *restore.State) { s.Ancestors = []string{"1b"} },
		"the members were replaced one by one": func(s *restore.State) { s.Hosts[1].Data.Removed = namedMembers("1", "c") },
	} {
		s := threeHosts("nnn")
		s.Known = namedMembers("1", "a", "b", "c")
		forgottenData(&s)
		known(&s)
		if f := restore.Plan(s); f.Refusal != nil || f.Source.Host != "b" {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestSnapshotFromBeforeARestore checks that a snapshot is accepted if one of its members is known to have been a member, also if
// it is of a cluster that a restore has replaced, and that its revisions are not compared with later ones.
func TestSnapshotFromBeforeARestore(t *testing.T) {
	t.Parallel()
	old := &restore.Source{Identity: "sha", Path: "old.db", Data: restore.Data{Revision: 40, Members: namedMembers("0", "a", "b", "far")}}
	old.Members[2].Host = ""
	for name, c := range map[string]struct {
		change func(*restore.State)
		want   string
	}{
		"nobody knows it":           {func(*restore.State) {}, "use --same-cluster"},
		"a restore has recorded it": {func(s *restore.State) { s.Ancestors = []string{"0b"} }, ""},
		"a person says so":          {func(s *restore.State) { s.SameCluster, s.Lost = true, []string{"far"} }, ""},
		"the data have one member": {func(s *restore.State) {
			s.Hosts[0].Data.Members, s.Lost = namedMembers("1", "a"), []string{"far"}
		}, "of another cluster: its members are a (0a), b (0b), far (0far); those of the data on the hosts are a (1a);"},
		"its members were replaced one by one": {func(s *restore.State) {
			s.Hosts[0].Data.Removed, s.Lost = namedMembers("0", "a"), []string{"far"}
		}, ""},
		"all disks are lost, and its voter may live": {func(s *restore.State) { s.Hosts[0].HasData, s.Ancestors = false, []string{"0b"} }, "--lost far"},
		"all disks are lost, and saved snapshots are of another cluster": {func(s *restore.State) {
			s.Hosts[0].HasData, s.Known = false, namedMembers("1", "a", "b")
		}, "those in the snapshots that runs have saved of this cluster are a (1a), b (1b)"},
	} {
		s := threeHosts("dnn")
		s.Snapshot = old
		c.change(&s)
		f := restore.Plan(s)
		switch {
		case c.want == "" && f.Refusal != nil, c.want != "" && (f.Refusal == nil || !strings.Contains(f.Refusal.Text, c.want)):
			t.Errorf("%s: %v", name, f.Refusal)
		}
	}
	s := threeHosts("dnn")
	s.Snapshot, s.Ancestors, s.Restored = old, []string{"0b"}, 1_000_000_040
	s.Hosts[0].Data.Revision = 1_000_000_060
	later := restore.Source{Path: "later.db", Data: restore.Data{Revision: 1_000_000_050, Members: namedMembers("1", "a")}}
	earlier := restore.Source{Path: "earlier.db", Data: restore.Data{Revision: 45, Members: namedMembers("0", "a")}}
	saved := []restore.Source{later, earlier}
	if best := s.Freshest(*old, saved); best.Path != "earlier.db" {
		t.Errorf("%+v", best)
	}
	if others := s.OtherHistories(*old, saved); len(others) != 2 {
		t.Errorf("%+v", others)
	}
	if n := s.HighestRevision(*old, saved); n != 1_000_000_060 {
		t.Errorf("the new revisions begin above %d", n)
	}
	s.Hosts[0].HasData = false
	if n := s.HighestRevision(*old, nil); n != 1_000_000_040 {
		t.Errorf("the new revisions begin above %d, although a restore began at 1000000040", n)
	}
	p := restore.NewPreview(s, restore.Plan(s), saved)
	if p.Refusal == nil { // its third voter may live
		t.Errorf("%+v", p)
	}
}

// TestUnmountedDiskMayHaveData checks that a host whose disk is not mounted is not a host without data.
func TestUnmountedDiskMayHaveData(t *testing.T) {
	t.Parallel()
	s := threeHosts("dnu")
	s.Lost = []string{"c"}
	s.Hosts[1].Unreachable, s.Hosts[1].Unmounted = "/var/lib/etcd is not mounted", "/var/lib/etcd"
	f := restore.Plan(s)
	if f.Refusal == nil || f.Refusal.Kind != restore.QuorumMayLive || !strings.Contains(f.Refusal.Text, "host b: /var/lib/etcd is not mounted") {
		t.Errorf("%+v", f.Refusal)
	}
	s.Lost = append(s.Lost, "b")
	if f := restore.Plan(s); f.Refusal != nil {
		t.Error(f.Refusal)
	}
}

// TestUnknownMemberMayLive checks that data whose member is not known count for the quorum: they may be of any member.
func TestUnknownMemberMayLive(t *testing.T) {
	t.Parallel()
	s := threeHosts("ddn")
	s.Hosts[0].DataOf = ""
	if f := restore.Plan(s); f.Refusal == nil || f.Refusal.Kind != restore.QuorumMayLive {
		t.Errorf("%+v", f)
	}
	s.Hosts[0].DataOf = "of a former member"
	if f := restore.Plan(s); f.Refusal != nil {
		t.Errorf("%+v", f.Refusal)
	}
}

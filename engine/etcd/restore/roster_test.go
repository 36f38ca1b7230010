package restore

import (
	"errors"
	"slices"
	"testing"

	"holdfast/engine/etcd/membership"
)

func dataHost(name, history string, revision int64, ids ...string) Host {
	h := Host{Name: name, HasData: true, DataCluster: history, Data: Data{Revision: revision}}
	for _, id := range ids {
		h.Data.Members = append(h.Data.Members, membership.Member{ID: id})
	}
	return h
}

// TestFreshestRosterCounts: of the data of one history, the member list of the freshest counts, wherever its host is in the
// inventory.
func TestFreshestRosterCounts(t *testing.T) {
	t.Parallel()
	old, fresh := dataHost("etcd-0", "c1", 5, "a", "b"), dataHost("etcd-1", "c1", 10, "a", "c")
	for _, hosts := range [][]Host{{old, fresh}, {fresh, old}} {
		list := State{Hosts: append(hosts, dataHost("etcd-2", "c2", 7, "x"))}.listRosters()
		if len(list) != 2 || list[0].from != "the data of etcd-1" || list[1].from != "the data of etcd-2" {
			t.Errorf("%+v", list)
		}
	}
}

// TestSnapshotRosterCountsIfFresher: the member list of a snapshot counts unless a host has fresher data of the same history.
func TestSnapshotRosterCountsIfFresher(t *testing.T) {
	t.Parallel()
	for revision, counts := range map[int64]bool{4: false, 5: false, 6: true} {
		s := State{
			Hosts:    []Host{dataHost("etcd-0", "c1", 5, "a"), dataHost("etcd-1", "c2", 1, "x")},
			Snapshot: &Source{Data: Data{Revision: revision, Members: []membership.Member{{ID: "a"}}}},
		}
		if got := slices.ContainsFunc(s.listRosters(), func(r roster) bool { return r.from == "the snapshot" }); got != counts {
			t.Errorf("a snapshot of revision %d, data of 5: %v", revision, got)
		}
	}
}

// TestKinOfASource: a later restore must know the members of the source, and those of all data of its history, former ones too.
func TestKinOfASource(t *testing.T) {
	t.Parallel()
	here, away := dataHost("etcd-0", "c1", 5, "a", "b"), dataHost("etcd-1", "c2", 1, "x")
	here.Data.Removed = []membership.Member{{ID: "gone"}}
	s := State{Hosts: []Host{here, away}}
	kin := func(host string) []string {
		ids := s.Kin(Source{Host: host, Data: Data{Members: []membership.Member{{ID: "a"}, {ID: "s"}}}})
		slices.Sort(ids)
		return ids
	}
	if got := kin("etcd-0"); !slices.Equal(got, []string{"a", "b", "gone", "s"}) {
		t.Errorf("of data: %v", got)
	}
	if got := kin(""); !slices.Equal(got, []string{"a", "b", "gone", "s"}) {
		t.Errorf("of a snapshot, beside forgotten data: %v", got)
	}
	s.Ancestors = []string{"x"}
	if got := kin(""); !slices.Equal(got, []string{"a", "b", "gone", "s", "x"}) {
		t.Errorf("of a snapshot, beside data of an earlier cluster: %v", got)
	}
	s.Ancestors, s.Hosts = nil, []Host{away}
	if got := kin(""); !slices.Equal(got, []string{"a", "s", "x"}) {
		t.Errorf("of a snapshot from before a restore that nobody recorded: %v", got)
	}
}

// TestUnreadForkMayLive: data that cannot be read, with the cluster ID of two histories, may be of either.
func TestUnreadForkMayLive(t *testing.T) {
	t.Parallel()
	first, fork, unread := dataHost("etcd-0", "c1", 5, "a", "b", "c"), dataHost("etcd-1", "c1", 9, "a", "b", "c"), dataHost("etcd-2", "c1", 0)
	fork.Data.Fork, unread.Unread = "etcd-1", "it cannot be read"
	for i, h := range []*Host{&first, &fork, &unread} {
		h.DataOf = []string{"a", "b", "c"}[i]
	}
	s := State{Hosts: []Host{first, fork, unread}, From: "etcd-1"}
	for i := range s.Hosts {
		for j, h := range s.Hosts[i].Data.Members {
			h.Host = s.Hosts[j].Name
			s.Hosts[i].Data.Members[j] = h
		}
	}
	_, err := Next(s)
	if r := (*Refusal)(nil); !errors.As(err, &r) || r.Kind != QuorumMayLive {
		t.Errorf("%v", err)
	}
	s.Hosts[2].DataCluster = "c2"
	if step, err := Next(s); err != nil || step.Host != "etcd-1" {
		t.Errorf("%+v, %v", step, err)
	}
}

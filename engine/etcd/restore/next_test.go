package restore_test

import (
	"strings"
	"testing"

	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/restore"
)

// threeHosts returns a cluster of three members. Each letter is the condition of one member: d has data and is stopped, r
// has data and runs, n has no data, u is unreachable.
func threeHosts(conditions string) restore.State {
	s := restore.State{Cluster: "main"}
	var members []membership.Member
	for _, name := range []string{"a", "b", "c"} {
		members = append(members, membership.Member{ID: "1" + name, Name: name, Host: name})
	}
	for i, c := range conditions {
		h := restore.Host{Name: members[i].Name}
		switch c {
		case 'd', 'r':
			h.HasData, h.Running, h.DataOf, h.DataCluster = true, c == 'r', members[i].ID, "cl"
			h.Data = restore.Data{Revision: int64(10 + i), Members: members}
		case 'u':
			h.Unreachable = "no route"
		}
		s.Hosts = append(s.Hosts, h)
	}
	return s
}

// TestRefusals checks that each refusal has the numbers of voters and the next
// step for a person.
func TestRefusals(t *testing.T) {
	t.Parallel()
	snapshot := func(names ...string) *restore.Source {
		source := restore.Source{Identity: "sha", Path: "x.db", Data: restore.Data{Revision: 5}}
		for _, n := range names {
			source.Members = append(source.Members, membership.Member{ID: "1" + n, Name: n, Host: strings.Trim(n, "xyz")})
		}
		return &source
	}
	for _, c := range []struct {
		name   string
		state  restore.State
		change func(*restore.State)
		want   string
	}{
		{"alive", threeHosts("rrr"), func(s *restore.State) {
			s.Answers = []membership.Member{{Host: "a", Healthy: true}, {Host: "b", Healthy: true}, {Host: "c"}, {Learner: true, Healthy: true}}
		}, "3 voters, 2 answer: the quorum of 2 lives"},
		{"alive again after new data were built", threeHosts("rrr"), func(s *restore.State) {
			s.Hosts[0].Record, s.Hosts[0].Phase = membership.Restoring, restore.Ready
			s.Answers = []membership.Member{{Host: "a", Healthy: true}, {Host: "b", Healthy: true}, {Host: "c"}}
		}, "3 voters, 2 answer: the quorum of 2 lives"},
		{"one of them reads, so others live", threeHosts("ruu"), func(s *restore.State) {
			s.Lost = []string{"b", "c"}
			s.Answers = []membership.Member{{ID: "1a", Host: "a", Healthy: true}, {ID: "1b", Host: "b"}, {ID: "1c", Host: "c"}}
		}, "a quorum lives that this machine does not see"},
		{"stopped", threeHosts("ddn"), nil, "3 voters (as the data of b says), 2 have their data (a, b): the quorum of 2 may live"},
		{"unreachable", threeHosts("dnu"), nil, "host c is unreachable (no route): its member may live; if it is gone for good, use --lost c"},
		{"a living one is said to be lost", threeHosts("rrn"), func(s *restore.State) {
			s.Lost = []string{"a", "b", "c"}
			s.Answers = []membership.Member{{Host: "a", Healthy: true}, {Host: "b", Healthy: true}, {Host: "c"}}
		}, "3 voters, 2 answer: the quorum of 2 lives"},
		{"elsewhere", threeHosts("dnn"), func(s *restore.State) {
			s.Hosts[0].Data.Members = append(s.Hosts[0].Data.Members[:2:2], membership.Member{ID: "9", Name: "far"})
		}, "voter far is on no host of the inventory: it may live; if it is gone for good, use --lost far"},
		{"no source", threeHosts("nnn"), nil, "name a snapshot: holdfast etcd restore main FILE"},
		{"unreadable", threeHosts("dnn"), func(s *restore.State) { s.Hosts[0].Unread = "page 3 is beyond its end" }, "(a: page 3 is beyond its end)"},
		{"foreign by names", threeHosts("nnn"), func(s *restore.State) { s.Snapshot = snapshot("x", "y") }, "none of its members x (1x), y (1y) is on a host of the inventory"},
		{"foreign by data", threeHosts("dnn"), func(s *restore.State) {
			s.Snapshot = snapshot("a", "b")
			s.Snapshot.Members[0].ID, s.Snapshot.Members[1].ID = "2a", "2b"
		}, "its members are a (2a), b (2b); those of the data on the hosts are a (1a), b (1b), c (1c)"},
		{"replaced data are no source", threeHosts("dnn"), func(s *restore.State) { s.Hosts[0].Replaced = true }, "no reachable host has readable data of this cluster"},
		{"not known", threeHosts("dnn"), func(s *restore.State) { s.Problem = "its hosts are in different clusters" }, "its hosts are in different clusters"},
		{"no tools", threeHosts("dnn"), func(s *restore.State) { s.Hosts[0].Failed = "no etcdutl" }, "no host can have the new data: a: no etcdutl"},
	} {
		if c.change != nil {
			c.change(&c.state)
		}
		f := restore.Plan(c.state)
		if f.Refusal == nil || !strings.Contains(f.Refusal.Error(), c.want) || len(f.Steps) != 0 {
			t.Errorf("%s: %v %v, want %q", c.name, f.Steps, f.Refusal, c.want)
		}
	}
}

// TestSources checks that the freshest data are the source, and that the fresher one of two member lists decides the
// number of voters.
func TestSources(t *testing.T) {
	t.Parallel()
	s := threeHosts("dnd")
	s.Hosts[1].Unreachable = "" // b answers and has lost its data
	s.Lost = []string{"a"}
	if got := s.Source(); got.Host != "c" || got.Revision != 12 {
		t.Errorf("%+v", got)
	}
	if f := restore.Plan(s); f.Refusal != nil || f.Steps[0].Host != "c" || f.Steps[0].Action != restore.Preflight {
		t.Errorf("%+v", f)
	}
	s = threeHosts("ddn")
	stale := s.Hosts[0].Data.Members[:1]
	s.Hosts[0].Data.Members = stale // a was the only member when it wrote its data
	s.Hosts[1].HasData = false
	if f := restore.Plan(s); f.Refusal == nil || f.Refusal.Kind != restore.QuorumMayLive {
		t.Errorf("the only voter may live: %+v", f)
	}
}

// TestInterruptedGoesOnlyOnWithItsSource checks that new data from another source are built again.
func TestInterruptedGoesOnlyOnWithItsSource(t *testing.T) {
	t.Parallel()
	s := threeHosts("dnn")
	s.Hosts[0].Record, s.Hosts[0].Phase, s.Hosts[0].Of = membership.Restoring, restore.Ready, s.Source().Identity
	if f := restore.Plan(s); f.Refusal != nil || f.Steps[0].Action != restore.SetAside {
		t.Errorf("%+v", f)
	}
	s.Hosts[0].Data.Revision += 5000 // the cluster has lived again, and taken writes
	if f := restore.Plan(s); f.Refusal != nil || f.Steps[0].Action != restore.Preflight || f.Steps[1].Action != restore.Build {
		t.Errorf("%+v", f)
	}
	s.Hosts[0].Of = "another"
	if f := restore.Plan(s); f.Refusal != nil || f.Steps[0].Action != restore.Preflight || f.Steps[1].Action != restore.Build {
		t.Errorf("%+v", f)
	}
	s.Hosts[0].Record = membership.NoRecord // without a record, the folder proves nothing
	s.Hosts[0].Of = s.Source().Identity
	if f := restore.Plan(s); f.Refusal != nil || f.Steps[0].Action != restore.Preflight {
		t.Errorf("%+v", f)
	}
}

package etcd

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"holdfast/engine"
)

var errDown = errors.New("connection refused")

// memberList returns a member list with the IDs 1, 2 …
func memberList(names ...string) []*pb.Member {
	var list []*pb.Member
	for i, name := range names {
		list = append(list, &pb.Member{ID: uint64(i + 1), Name: name, PeerURLs: []string{"https://10.0.0." + string(rune('1'+i)) + ":2380"}})
	}
	return list
}

// healthyAnswer returns the answer of a healthy member. Member 1 leads.
func healthyAnswer(host string, id uint64, list []*pb.Member) answer {
	return answer{
		host: host, readAsked: true, committed: 100, members: list,
		status: &clientv3.StatusResponse{
			Header: &pb.ResponseHeader{ClusterId: 0xc, MemberId: id}, Leader: 1, RaftTerm: 2, RaftAppliedIndex: 100, RaftIndex: 100,
		},
	}
}

func changeAnswer(a answer, change func(*answer)) answer {
	change(&a)
	return a
}

// factCase is a set of answers and the expected facts.
type factCase struct {
	answers []answer
	known   map[uint64]string
	problem string // of the cluster; "": none
	ill     string // the only member that is not healthy: NAME on HOST: PROBLEM
}

// factCases are states of members and hosts that real members cannot reach
// quickly.
func factCases() map[string]factCase {
	three := memberList("a", "b", "c")
	down := answer{host: "c", err: errDown}
	odd := memberList("a", "b", "c")
	odd[2].PeerURLs = []string{"https://[FD00::1]:2380", "https://storage-3.example.com.:2380"}
	return map[string]factCase{
		"well": {answers: []answer{healthyAnswer("a", 1, three), healthyAnswer("b", 2, three), healthyAnswer("c", 3, three)}},
		"a dead member is placed by its name": {
			answers: []answer{healthyAnswer("a", 1, three), healthyAnswer("b", 2, three), down},
			ill:     "c on c: connection refused",
		},
		"a dead member is placed by its address": {
			answers: []answer{healthyAnswer("a", 1, three), healthyAnswer("b", 2, three), {host: "h", address: "10.0.0.3", err: errDown}},
			ill:     "c on h: connection refused",
		},
		"a dead member is placed by its name in another spelling": {
			answers: []answer{healthyAnswer("a", 1, three), healthyAnswer("b", 2, three), {host: "C", err: errDown}},
			ill:     "c on C: connection refused",
		},
		"a dead member is placed by its address in another spelling": {
			answers: []answer{healthyAnswer("a", 1, odd), healthyAnswer("b", 2, odd), {host: "h", address: "fd00:0::01", err: errDown}},
			ill:     "c on h: connection refused",
		},
		"a dead member is placed by a name in its URL in another spelling": {
			answers: []answer{healthyAnswer("a", 1, odd), healthyAnswer("b", 2, odd), {host: "Storage-3.Example.com", err: errDown}},
			ill:     "c on Storage-3.Example.com: connection refused",
		},
		"a dead member is placed where it was seen before": {
			answers: []answer{healthyAnswer("a", 1, three), healthyAnswer("b", 2, three), {host: "h", err: errDown}},
			known:   map[uint64]string{3: "h"},
			ill:     "c on h: connection refused",
		},
		"a dead member is not placed on a host that answers as another": {
			answers: []answer{healthyAnswer("a", 1, three), healthyAnswer("c", 2, three)},
			known:   map[uint64]string{3: "c"},
			problem: "member c (https://10.0.0.3:2380) is on no host of the inventory",
			ill:     "c on : no host of the inventory answers as this member",
		},
		"behind": {
			answers: []answer{healthyAnswer("a", 1, three), healthyAnswer("b", 2, three), changeAnswer(healthyAnswer("c", 3, three), func(a *answer) {
				a.status.RaftAppliedIndex = 93
			})},
			ill: "c on c: it is 7 entries behind",
		},
		"cannot read": {
			answers: []answer{healthyAnswer("a", 1, three), healthyAnswer("b", 2, three), changeAnswer(healthyAnswer("c", 3, nil), func(a *answer) {
				a.readErr = errors.New("linearizable read: no answer in time")
			})},
			ill: "c on c: linearizable read: no answer in time (0 entries behind)",
		},
		"not started": {
			answers: []answer{healthyAnswer("a", 1, memberList("a", "b", "")), healthyAnswer("b", 2, memberList("a", "b", "")), {host: "c", address: "10.0.0.3", err: errDown}},
			ill:     "3 on c: it was added to the cluster but has not started",
		},
		"two hosts are one member": {
			answers: []answer{healthyAnswer("a", 1, three), healthyAnswer("b", 2, three), healthyAnswer("c", 3, three), healthyAnswer("d", 3, three)},
			problem: "hosts c and d both answer as member c: check their addresses",
		},
		"removed": {
			answers: []answer{healthyAnswer("a", 1, three), healthyAnswer("b", 2, three), healthyAnswer("c", 3, three), changeAnswer(healthyAnswer("d", 9, nil), func(a *answer) {
				a.readErr = errDown
			})},
			problem: `host d has etcd_cluster = "main" but is not in the cluster's member list (etcd there says it is member 9, which was removed)`,
		},
		"no hosts":  {problem: "no host of the inventory is in it"},
		"no leader": {answers: []answer{leaderlessAnswer("a", 1, three), down}, problem: "no leader: 1 of 3 voters answer, the quorum is 2"},
	}
}

func TestFacts(t *testing.T) {
	for name, c := range factCases() {
		t.Run(name, func(t *testing.T) {
			facts := newClusterView(c.answers, c.known).clusterFacts("main")
			if c.problem == "" && facts.Problem != "" || !strings.Contains(facts.Problem, c.problem) {
				t.Errorf("problem %q, want %q", facts.Problem, c.problem)
			}
			if strings.HasPrefix(name, "no ") {
				return
			}
			var ill []string
			for _, m := range facts.Members {
				if !m.Healthy {
					ill = append(ill, m.Name+" on "+m.Host+": "+m.Problem)
				}
			}
			if c.ill == "" && len(ill) > 0 || c.ill != "" && (len(ill) != 1 || !strings.HasPrefix(ill[0], c.ill)) {
				t.Errorf("ill %q, want %q", ill, c.ill)
			}
		})
	}
}

// TestUnknownMemberMayBeOfASilentHost: a member whose name and URLs are those of no host may be the one of a host where etcd
// does not answer. So etcd is started there before anybody removes the member, or takes the host out of the cluster.
func TestUnknownMemberMayBeOfASilentHost(t *testing.T) {
	t.Parallel()
	list := memberList("a", "b", "c.example.com")
	answers := []answer{healthyAnswer("a", 1, list), healthyAnswer("b", 2, list), {host: "c", retired: true, err: errDown}, {host: "d", err: errDown}}
	got := newClusterView(answers, nil).clusterFacts("main").Problem
	want := "member c.example.com (https://10.0.0.3:2380) is not known to be on a host of the inventory, and may be that of c (connection refused) or d (connection refused): " +
		`start etcd there. If it is of another host: add its host with etcd_cluster = "main", or start etcd there, or remove it: etcdctl member remove 3`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestAdviceOfManaged: members of a managed cluster are added and removed with holdfast, and those of others with etcdctl.
func TestAdviceOfManaged(t *testing.T) {
	t.Parallel()
	gone := []answer{healthyAnswer("a", 1, memberList("a", "b", "c")), healthyAnswer("b", 2, memberList("a", "b", "c"))}
	fresh := []answer{healthyAnswer("a", 1, memberList("a", "b", "")), healthyAnswer("b", 2, memberList("a", "b", "")), {host: "c", address: "10.0.0.3", err: errDown}, {host: "d", err: errDown}}
	for managed, want := range map[string][]string{
		"main": {
			`add its host with etcd_cluster = "main" (and etcd_retired = true if its voter is to go), or start etcd there, or remove it: holdfast etcd members apply main --remove-member c`,
			"host d has", "add a member there: holdfast etcd members apply main, or remove etcd_cluster", "remove etcd_cluster, holdfast apply --limit d, and set it again",
			"go on with holdfast etcd members apply main, or remove it: holdfast etcd members apply main --remove-member 3",
		},
		"": {
			`add its host with etcd_cluster = "main", or start etcd there, or remove it: etcdctl member remove 3`,
			"host d has", "add it to the cluster, or remove etcd_cluster",
			"start etcd at https://10.0.0.3:2380, or remove it: etcdctl member remove 3",
		},
	} {
		text := ""
		for _, answers := range [][]answer{gone, fresh} {
			v := newClusterView(answers, nil)
			v.managed = managed
			facts := v.clusterFacts("main")
			text += facts.Problem
			for _, m := range facts.Members {
				text += m.Problem
			}
		}
		for _, w := range want {
			if !strings.Contains(text, w) || managed != "" && strings.Contains(text, "etcdctl") {
				t.Errorf("no %q in %s", w, text)
			}
		}
	}
}

func leaderlessAnswer(host string, id uint64, list []*pb.Member) answer {
	return changeAnswer(healthyAnswer(host, id, list), func(a *answer) {
		a.status.Leader, a.readErr = 0, errDown
		a.status.Errors = []string{"etcdserver: no leader"}
	})
}

// TestAlarmTexts checks that alarms in the status of members count even if the
// alarms cannot be listed. A missing leader is no alarm.
func TestAlarmTexts(t *testing.T) {
	a := leaderlessAnswer("a", 1, memberList("a"))
	if newClusterView([]answer{a}, nil).hasAlarms() {
		t.Error("no leader is taken for an alarm")
	}
	a.status.Errors = append(a.status.Errors, "memberID:1 alarm:CORRUPT\x1b", "memberID:1 alarm:CORRUPT\x1b")
	if got := newClusterView([]answer{a}, nil).statusAlarms(); len(got) != 1 || got[0] != "memberID:1 alarm:CORRUPT?" {
		t.Errorf("%q", got)
	}
}

// TestFirstDay: before the first change of members, no host has the credentials that holdfast issues, or a member. The error has each
// host once, and the next commands. If a host has not answered, it may have them, and nothing is advised.
func TestFirstDay(t *testing.T) {
	t.Parallel()
	missing := func(_ context.Context, paths ...string) ([][]byte, error) {
		return nil, &fs.PathError{Op: "read", Path: paths[0], Err: fs.ErrNotExist}
	}
	cfg := Config{Name: "main", Managed: true, NewestCredentials: true, TLS: &engine.TLS{CA: "/pki/ca.crt", Cert: "/pki/client.crt", Key: "/pki/client.key"}}
	for _, host := range []string{"a", "b"} {
		cfg.Peers = append(cfg.Peers, Peer{Host: host, ReadFiles: missing})
	}
	_, err := Open(t.Context(), cfg)
	const want = "etcd cluster main: read the client credentials: no host has those that holdfast issues (a: read /pki/ca.crt: file does not exist; b: read /pki/ca.crt: file does not exist); " +
		"if the cluster was never made, make it: holdfast etcd members apply main. Hosts that need their configuration before etcd can run get it while they do not name the cluster: " +
		"remove their etcd_cluster, holdfast apply, and add it again"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	cfg.Peers[1].ReadFiles = func(context.Context, ...string) ([][]byte, error) { return nil, errDown }
	_, err = Open(t.Context(), cfg)
	const silent = "etcd cluster main: read the client credentials: a: read /pki/ca.crt: file does not exist; b: connection refused"
	if err == nil || err.Error() != silent {
		t.Errorf("a host does not answer: %v\nwant %s", err, silent)
	}
	v := newClusterView([]answer{{host: "a", err: errors.New("connection refused")}}, nil)
	v.managed = "main"
	if text := v.noAnswerProblem(); !strings.HasPrefix(text, "no member answers: a: connection refused; if the cluster was never made, make it: holdfast etcd members apply main") {
		t.Error(text)
	}
}

package etcd_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"holdfast/engine/etcd"
	"holdfast/engine/etcd/etcdtest"
)

// fakeMember imitates a member of an etcd cluster. It returns answers that a real member does not return at a chosen
// moment.
type fakeMember struct {
	pb.UnimplementedMaintenanceServer
	pb.UnimplementedClusterServer
	pb.UnimplementedKVServer

	host string
	addr string

	mu     sync.Mutex
	status *pb.StatusResponse
	list   []*pb.Member
	alarms []*pb.AlarmMember
	asked  func(question string) // called with the name of each request
	reads  []error               // errors of the next linearizable reads
}

// fakeCluster starts fake members on hosts. The members have the IDs 1, 2 …, all are healthy, and the first one leads.
func fakeCluster(t *testing.T, hosts ...string) ([]*fakeMember, etcd.Config) {
	t.Helper()
	var list []*pb.Member
	for i, h := range hosts {
		list = append(list, &pb.Member{ID: uint64(i + 1), Name: h})
	}
	cfg := etcd.Config{Name: "main", ClientPort: 2379, Timeout: time.Minute, Poll: time.Millisecond}
	var members []*fakeMember
	for i, h := range hosts {
		m := &fakeMember{host: h, list: list, asked: func(string) {}, status: &pb.StatusResponse{
			Header: &pb.ResponseHeader{ClusterId: 0xc, MemberId: uint64(i + 1)}, Leader: 1, RaftTerm: 2, RaftIndex: 100, RaftAppliedIndex: 100,
		}}
		m.serve(t)
		members = append(members, m)
		cfg.Peers = append(cfg.Peers, etcd.Peer{Host: h, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", m.addr)
		}})
	}
	return members, cfg
}

func (m *fakeMember) serve(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.addr = listener.Addr().String()
	server := grpc.NewServer()
	pb.RegisterMaintenanceServer(server, m)
	pb.RegisterClusterServer(server, m)
	pb.RegisterKVServer(server, m)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
}

// change changes the next answers of the member.
func (m *fakeMember) change(f func(*fakeMember)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m)
}

// ask returns the current answer of the member.
func (m *fakeMember) ask(question string) fakeAnswer {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked(question)
	status := &pb.StatusResponse{
		Header: m.status.Header, Leader: m.status.Leader, RaftTerm: m.status.RaftTerm, RaftIndex: m.status.RaftIndex,
		RaftAppliedIndex: m.status.RaftAppliedIndex, Errors: m.status.Errors,
	}
	return fakeAnswer{status, m.list, m.alarms}
}

type fakeAnswer struct {
	status *pb.StatusResponse
	list   []*pb.Member
	alarms []*pb.AlarmMember
}

func (m *fakeMember) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return m.ask("status").status, nil
}

func (m *fakeMember) MemberList(context.Context, *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	a := m.ask("members")
	return &pb.MemberListResponse{Header: a.status.Header, Members: a.list}, nil
}

func (m *fakeMember) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	a := m.ask("read")
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.reads) > 0 {
		err := m.reads[0]
		m.reads = m.reads[1:]
		return nil, err
	}
	return &pb.RangeResponse{Header: a.status.Header}, nil
}

func (m *fakeMember) Alarm(context.Context, *pb.AlarmRequest) (*pb.AlarmResponse, error) {
	a := m.ask("alarms")
	return &pb.AlarmResponse{Header: a.status.Header, Alarms: a.alarms}, nil
}

func (m *fakeMember) MoveLeader(context.Context, *pb.MoveLeaderRequest) (*pb.MoveLeaderResponse, error) {
	return &pb.MoveLeaderResponse{Header: m.ask("move").status.Header}, nil
}

// TestAlarmOfAnyMember checks that an alarm counts if any member reports it, even one whose answer knows less than
// others.
func TestAlarmOfAnyMember(t *testing.T) {
	members, cfg := fakeCluster(t, "a", "b", "c")
	members[2].status.Errors = []string{"memberID:3 alarm:NOSPACE"}
	for _, m := range members {
		m.alarms = []*pb.AlarmMember{{MemberID: 3, Alarm: pb.AlarmType_NOSPACE}}
	}
	facts := openCluster(t, cfg).Gather(t.Context())
	if len(facts.Alarms) != 1 || facts.Alarms[0] != "NOSPACE on c" {
		t.Errorf("alarms %q", facts.Alarms)
	}
	if facts.MayLose("b", nil, false) == nil {
		t.Error("may lose a member while there is an alarm")
	}
}

// TestStatusOfAnotherMember checks that a member whose later status names another member, or none, counts as not healthy, and that its later
// answers about the cluster count for nothing.
func TestStatusOfAnotherMember(t *testing.T) {
	for name, header := range map[string]*pb.ResponseHeader{
		"none": nil, "another member": {ClusterId: 0xc, MemberId: 1}, "another cluster": {ClusterId: 0xd, MemberId: 3},
	} {
		t.Run(name, func(t *testing.T) {
			members, cfg := fakeCluster(t, "a", "b", "c")
			liar, asked := members[2], 0
			liar.asked = func(question string) {
				if question == "status" {
					if asked++; asked > 1 {
						liar.status = &pb.StatusResponse{Header: header, Leader: 3, RaftTerm: 9}
					}
				}
			}
			facts := openCluster(t, cfg).Gather(t.Context())
			if got := facts.Leader(); got != "a" || len(facts.Members) != 3 {
				t.Errorf("leader on %q, %d members", got, len(facts.Members))
			}
			for _, m := range facts.Members {
				if m.Healthy != (m.Host != "c") || m.Host == "c" && !strings.HasPrefix(m.Problem, "status: the answer names another member than before") {
					t.Errorf("%s: healthy %t, %q", m.Host, m.Healthy, m.Problem)
				}
			}
		})
	}
}

// TestLeaderByHearsay checks that a member's statement about the leader does not count if another member knows a later
// term, and that a leader that does not answer counts as not healthy.
func TestLeaderByHearsay(t *testing.T) {
	t.Run("an older term", func(t *testing.T) {
		members, cfg := fakeCluster(t, "a", "b", "c")
		members[1].status.Leader, members[1].status.RaftTerm = 2, 3
		members[2].status.Leader, members[2].status.RaftTerm = 2, 3
		if got := openCluster(t, cfg).Gather(t.Context()).Leader(); got != "b" {
			t.Errorf("leader on %q, want b: a is of an older term", got)
		}
	})
	t.Run("a leader that does not answer", func(t *testing.T) {
		_, cfg := fakeCluster(t, "a", "b", "c")
		cfg.Peers[0].Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errAway }
		leader, err := openCluster(t, cfg).MoveLeader(t.Context(), "b")
		if err == nil {
			t.Fatalf("the leader is on %s, it says, which does not answer", leader)
		}
		checkText(t, err.Error(), "a on a leads but is not healthy: the host is away")
	})
}

// TestAwaitMemberWaitsForOthers checks that AwaitMember also waits until the other voters are healthy.
func TestAwaitMemberWaitsForOthers(t *testing.T) {
	members, cfg := fakeCluster(t, "a", "b", "c")
	behind := members[2]
	behind.status.RaftAppliedIndex = 90
	looks := 0
	// The member on c catches up during the third gather.
	behind.asked = func(question string) {
		if question == "members" {
			looks++
		}
		if looks == 3 {
			behind.status.RaftAppliedIndex = 100
		}
	}
	if err := openCluster(t, cfg).AwaitMember(etcdtest.Context(t), "a", func(string) {}); err != nil {
		t.Fatal(err)
	}
	behind.change(func(*fakeMember) {
		if looks < 3 {
			t.Errorf("did not wait for the voter on c, which was 10 entries behind: looked %d times", looks)
		}
	})
}

var errAway = errors.New("the host is away")

// TestBoundsOfAnswers checks that the answers of members are bounded in size
// and number.
func TestBoundsOfAnswers(t *testing.T) {
	t.Run("members", func(t *testing.T) {
		members, cfg := fakeCluster(t, "a")
		for range 100 {
			members[0].list = append(members[0].list, &pb.Member{ID: uint64(len(members[0].list) + 1), Name: "x"})
		}
		checkText(t, openCluster(t, cfg).Gather(t.Context()).Problem, "it has 101 members, and no cluster has more than 100")
	})
	t.Run("alarms", func(t *testing.T) {
		members, cfg := fakeCluster(t, "a")
		members[0].status.Errors = []string{"memberID:1 alarm:NOSPACE"}
		for i := range 1000 {
			members[0].alarms = append(members[0].alarms, &pb.AlarmMember{MemberID: uint64(i), Alarm: pb.AlarmType_NOSPACE})
		}
		facts := openCluster(t, cfg).Gather(t.Context())
		if len(facts.Alarms) != 101 || facts.Alarms[100] != "900 more alarms" {
			t.Errorf("%d alarms", len(facts.Alarms))
		}
	})
	t.Run("a long answer", func(t *testing.T) {
		members, cfg := fakeCluster(t, "a")
		members[0].status.Errors = []string{strings.Repeat("x", 5<<20)}
		checkText(t, openCluster(t, cfg).Gather(t.Context()).Problem, "no member answers: a: status: ", "larger than max")
	})
	t.Run("metrics", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for line := strings.Repeat("# no metric\n", 1000); ; {
				if _, err := io.WriteString(w, line); err != nil {
					return
				}
			}
		}))
		defer server.Close()
		_, cfg := fakeCluster(t, "a")
		cfg.Peers[0].Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", server.Listener.Addr().String())
		}
		_, err := openCluster(t, cfg).Scrape(t.Context(), "a")
		if err == nil {
			t.Fatal("read metrics without end")
		}
		checkText(t, err.Error(), "the metrics are longer than 4 MiB")
	})
}

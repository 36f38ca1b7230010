package etcd_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine/etcd"
	"holdfast/engine/etcd/etcdtest"
	"holdfast/engine/etcdfacts"
)

// startSilentServer accepts connections and never answers, like the kernel of a frozen
// host.
func startSilentServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// redirectHost makes the connections to a host go to another address.
func redirectHost(host, address string) func(*etcd.Config) {
	return func(c *etcd.Config) {
		for i, p := range c.Peers {
			if p.Host == host {
				c.Peers[i].Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
					return new(net.Dialer).DialContext(ctx, network, address)
				}
			}
		}
	}
}

func reportsFrozenHost(t *testing.T, cluster *etcdtest.Cluster) {
	short := func(c *etcd.Config) { c.Timeout = time.Second }
	client := openCluster(t, newConfig(cluster, short, redirectHost("etcd-2", startSilentServer(t))))
	facts := gatherUntil(t, client, func(f etcdfacts.ClusterFacts) bool { return f.CountHealthy() == 2 && f.Margin() == 0 })
	checkText(t, findMember(t, facts, "etcd-2").Problem, "does not answer")
	if _, err := client.Scrape(t.Context(), "etcd-2"); err == nil {
		t.Error("scraped a frozen host")
	}
	if err := facts.MayLose("etcd-0", nil, false); err == nil {
		t.Error("may lose a second member")
	}
}

func comeBack(t *testing.T, cluster *etcdtest.Cluster, client *etcd.Cluster) {
	m := cluster.Leader(t)
	m.Stop()
	facts := gatherUntil(t, client, haveHealthy(2))
	down := findMember(t, facts, m.Host)
	if down.Healthy {
		t.Fatalf("facts %+v", facts)
	}
	checkText(t, down.Problem, "refused")

	awaitSaysWhatItSaw(t, cluster, m.Host)

	back := make(chan error, 1)
	go func() { back <- client.AwaitMember(etcdtest.Context(t), m.Host, func(string) {}) }()
	m.Restart(t)
	if err := <-back; err != nil {
		t.Fatal(err)
	}
	gatherHealthy(t, client, 3)
}

// awaitSaysWhatItSaw checks that the error of a wait names the conditions of
// the last gather, not the missing answers after the end of the context.
func awaitSaysWhatItSaw(t *testing.T, cluster *etcdtest.Cluster, host string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var dials atomic.Int64
	client := openCluster(t, newConfig(cluster, func(c *etcd.Config) {
		for i := range c.Peers {
			dial := c.Peers[i].Dial
			c.Peers[i].Dial = func(dialCtx context.Context, network, address string) (net.Conn, error) {
				// Two members answer, one of them to two connections, and one refuses on both addresses. No member is silent for 6 s, after which its
				// other address would be tried.
				if dials.Add(1) > 5 {
					cancel()
					<-dialCtx.Done()
				}
				return dial(dialCtx, network, address)
			}
		}
	}))
	err := client.AwaitMember(ctx, host, func(string) {})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("not the context's end: %v", err)
	}
	checkText(t, err.Error(), "etcd cluster main: wait for the member on "+host+": member "+host+" is not healthy", "refused")
	if strings.Contains(err.Error(), "no member answers") {
		t.Errorf("says what it saw too late: %v", err)
	}
}

func wrongCA(t *testing.T, cluster *etcdtest.Cluster) {
	other := etcdtest.NewCA(t)
	client := openCluster(t, newConfig(cluster, func(c *etcd.Config) {
		read := cluster.Members[0].ReadFile
		c.Peers[0].ReadFiles = etcdtest.OneByOne(func(ctx context.Context, path string) ([]byte, error) {
			if path == c.TLS.CA {
				return other, nil
			}
			return read(ctx, path)
		})
	}))
	facts := client.Gather(t.Context())
	checkText(t, facts.Problem, "no member answers: etcd-0: ", "is not from a CA in /etc/etcd/ca.crt of etcd-0", "; etcd-2: ")
	if facts.MayLose("etcd-0", nil, true) == nil {
		t.Error("may lose a member of a cluster that cannot be seen")
	}
}

func reportsLearner(t *testing.T, cluster *etcdtest.Cluster) {
	m := cluster.AddLearner(t)
	client := openCluster(t, newConfig(cluster))
	facts := client.Gather(t.Context())
	got := findMember(t, facts, m.Host)
	if facts.Problem != "" || !got.Learner || got.Healthy || len(facts.Voters()) != 3 || facts.CountHealthy() != 3 {
		t.Errorf("facts %+v", facts)
	}
	checkText(t, got.Problem, "learner")
	if err := client.AwaitMember(etcdtest.Context(t), "etcd-0", func(string) {}); err != nil {
		t.Errorf("a voter is back though there is a learner: %v", err)
	}

	cluster.RemoveMember(t, m)
	m.Stop()
	checkText(t, client.Gather(t.Context()).Problem, `host etcd-3 has etcd_cluster = "main" but is not in the cluster's member list`)
}

func reportsUnstartedMember(t *testing.T, cluster *etcdtest.Cluster) {
	m := cluster.AddUnstarted(t)
	facts := openCluster(t, newConfig(cluster)).Gather(t.Context())
	got := findMember(t, facts, m.Host) // found by the address in its peer URL
	if got.Healthy || facts.CountHealthy() != 3 || got.Name != got.ID {
		t.Errorf("facts %+v", facts)
	}
	checkText(t, got.Problem, "has not started", "etcdctl member remove "+got.ID)
	managed := newConfig(cluster)
	managed.Managed = true
	facts = openCluster(t, managed).Gather(t.Context())
	checkText(t, findMember(t, facts, m.Host).Problem, "has not started", "holdfast etcd members apply main --remove-member "+got.ID)
}

// closesConnections checks that only the connections of scrapes stay open, and that Close
// ends those, too. Other calls run at the same time.
func closesConnections(t *testing.T, cluster *etcdtest.Cluster) {
	var conns counted
	client := openCluster(t, newConfig(cluster, conns.count))
	var wg conc.WaitGroup
	for range 4 {
		wg.Go(func() { client.Gather(t.Context()) })
		wg.Go(func() { _, _ = client.Scrape(t.Context(), "etcd-0") }) // other tests check the result
	}
	wg.Go(func() {
		if _, err := client.Snapshot(t.Context(), filepath.Join(t.TempDir(), "x.db")); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	if n := conns.open.Load(); n > 1 || conns.made.Load() < 13 {
		t.Errorf("%d of %d connections are open", n, conns.made.Load())
	}
	client.Close()
	if n := conns.open.Load(); n != 0 {
		t.Errorf("%d connections are open after Close", n)
	}
}

// counted counts connections.
type counted struct{ made, open atomic.Int64 }

func (c *counted) count(cfg *etcd.Config) {
	for i := range cfg.Peers {
		dial := cfg.Peers[i].Dial
		cfg.Peers[i].Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			c.made.Add(1)
			c.open.Add(1)
			return &closing{Conn: conn, closed: sync.OnceFunc(func() { c.open.Add(-1) })}, nil
		}
	}
}

// closing is a connection that calls closed when it is closed.
type closing struct {
	net.Conn
	closed func()
}

func (c *closing) Close() error {
	defer c.closed()
	return c.Conn.Close()
}

func noQuorum(t *testing.T, cluster *etcdtest.Cluster) {
	client := openCluster(t, newConfig(cluster, func(c *etcd.Config) { c.Timeout = time.Second; c.Peers = c.Peers[:3] }))
	last := cluster.Leader(t)
	for _, m := range cluster.Members[:3] {
		if m != last {
			m.Stop()
		}
	}
	facts := gatherUntil(t, client, func(f etcdfacts.ClusterFacts) bool { return len(f.Members) > 0 })
	if facts.CountHealthy() != 0 || facts.Margin() != -2 {
		t.Errorf("facts %+v", facts)
	}
	checkText(t, findMember(t, facts, last.Host).Problem, "linearizable read: no answer in time")
	for _, m := range cluster.Members {
		if facts.MayLose(m.Host, nil, true) == nil {
			t.Errorf("may lose %s without a quorum", m.Host)
		}
	}
	if _, err := client.Snapshot(t.Context(), filepath.Join(t.TempDir(), "x.db")); err == nil {
		t.Error("took a snapshot without a quorum")
	}
	if _, err := client.MoveLeader(t.Context(), last.Host); err == nil {
		t.Error("moved the leader without a quorum")
	}
}

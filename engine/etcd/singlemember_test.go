package etcd_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"holdfast/engine/etcd"
	"holdfast/engine/etcd/etcdtest"
)

// TestAlone tests a cluster of one member without TLS. The member listens only
// on the address of its host.
func TestAlone(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{
		AddressOnly: true, QuotaBytes: 4 << 20, Names: func(int) string { return "infra\x1b[31m1" },
	})
	client := openCluster(t, newConfig(cluster))

	t.Run("observe", func(t *testing.T) {
		facts := gatherHealthy(t, client, 1)
		if got := facts.Members[0].Name; got != "infra?[31m1" {
			t.Errorf("name %q is not fit for a terminal", got)
		}
		if facts.MayLose("etcd-0", nil, false) == nil || facts.MayLose("etcd-0", nil, true) != nil {
			t.Error("a single voter may be lost with allow_outage, only with it")
		}
	})
	t.Run("leadership has nowhere to go", func(t *testing.T) {
		_, err := client.MoveLeader(t.Context(), "etcd-0")
		if err == nil {
			t.Fatal("moved")
		}
		checkText(t, err.Error(), "etcd cluster main: move the leader off etcd-0: no other healthy voter")
	})
	t.Run("damaged snapshot", func(t *testing.T) { refusesDamagedSnapshot(t, cluster) })
	t.Run("snapshot that breaks off", func(t *testing.T) { refusesCutSnapshot(t, cluster) })
	t.Run("connection that breaks", func(t *testing.T) { reportsBrokenConnection(t, cluster) })
	t.Run("frozen", func(t *testing.T) {
		problem, dial := "", redirectHost("etcd-0", startSilentServer(t))
		for limit := time.Second / 2; limit < time.Minute; limit *= 4 { // on a busy machine even the connection takes its time
			problem = openCluster(t, newConfig(cluster, dial, func(c *etcd.Config) { c.Timeout = limit })).Gather(t.Context()).Problem
			if !strings.Contains(problem, "dial tcp") {
				break
			}
		}
		checkText(t, problem, "no member answers: etcd-0: status: no answer in time")
	})
	t.Run("no space", func(t *testing.T) { noSpace(t, cluster, client) })
}

// spoiling is a connection that corrupts the data it reads.
type spoiling struct {
	net.Conn
	spoil func(p []byte, n int) (int, error)
}

func (s spoiling) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if err != nil {
		return n, err
	}
	return s.spoil(p, n)
}

// corruptConnections corrupts the data of every connection to the members.
func corruptConnections(spoil func(p []byte, n int) (int, error)) func(*etcd.Config) {
	return func(c *etcd.Config) {
		for i := range c.Peers {
			dial := c.Peers[i].Dial
			c.Peers[i].Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := dial(ctx, network, address)
				return spoiling{conn, spoil}, err
			}
		}
	}
}

// putLongValue writes a value that is easy to find in a stream.
func putLongValue(t *testing.T, cluster *etcdtest.Cluster) {
	t.Helper()
	if _, err := cluster.Client(t).Put(etcdtest.Context(t), "k", strings.Repeat("v", 200_000)); err != nil {
		t.Fatal(err)
	}
}

func refusesDamagedSnapshot(t *testing.T, cluster *etcdtest.Cluster) {
	putLongValue(t, cluster)
	var once atomic.Bool
	client := openCluster(t, newConfig(cluster, corruptConnections(func(p []byte, n int) (int, error) {
		if i := bytes.Index(p[:n], []byte("vvvvvvvv")); i >= 0 && !once.Swap(true) {
			p[i+4] = 'w'
		}
		return n, nil
	})))
	refusesSnapshot(t, client, "from infra?[31m1 on etcd-0: check the snapshot: its hash does not match: it is damaged")
}

func refusesCutSnapshot(t *testing.T, cluster *etcdtest.Cluster) {
	putLongValue(t, cluster)
	client := openCluster(t, newConfig(cluster, corruptConnections(func(p []byte, n int) (int, error) {
		if bytes.Contains(p[:n], []byte("vvvvvvvv")) {
			return 0, net.ErrClosed
		}
		return n, nil
	})))
	refusesSnapshot(t, client, "use of closed network connection")
}

// reportsBrokenConnection checks that Gather reports a connection that breaks between two
// requests, and does not wait for an answer.
func reportsBrokenConnection(t *testing.T, cluster *etcdtest.Cluster) {
	client := openCluster(t, newConfig(cluster, corruptConnections(func(p []byte, n int) (int, error) {
		if bytes.Contains(p[:n], []byte("infra")) { // the member list
			return n, net.ErrClosed
		}
		return n, nil
	})))
	facts := client.Gather(t.Context())
	if facts.CountHealthy() != 0 {
		t.Errorf("facts %+v", facts)
	}
	text := facts.Problem
	for _, m := range facts.Members {
		text += m.Problem
	}
	checkText(t, text, "connection")
	if strings.Contains(text, "no answer in time") {
		t.Errorf("waited for a broken connection: %s", text)
	}
}

// refusesSnapshot checks that no snapshot can be saved, that the error has the
// reason, and that no file is left.
func refusesSnapshot(t *testing.T, client *etcd.Cluster, why string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "main.db")
	_, err := client.Snapshot(t.Context(), path)
	if err == nil {
		t.Fatal("took it")
	}
	checkText(t, err.Error(), "etcd cluster main: snapshot to "+path, why)
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) > 0 {
		t.Errorf("left %v: %v", entries, err)
	}
}

func noSpace(t *testing.T, cluster *etcdtest.Cluster, client *etcd.Cluster) {
	raw, ctx := cluster.Client(t), etcdtest.Context(t)
	for i := 0; ; i++ {
		_, err := raw.Put(ctx, "fill", strings.Repeat("x", 1<<20))
		if err != nil {
			if err.Error() != rpctypes.ErrNoSpace.Error() {
				t.Fatal(err)
			}
			break
		}
		if i > 500 { // etcd checks the quota when it commits to its backend, every 100 ms
			t.Fatal("the quota never ends")
		}
	}
	facts := client.Gather(t.Context())
	if len(facts.Alarms) != 1 || facts.Alarms[0] != "NOSPACE on infra?[31m1" {
		t.Fatalf("alarms %q", facts.Alarms)
	}
	if err := facts.MayLose("etcd-0", nil, true); err == nil {
		t.Error("may be lost with an alarm")
	}
}

// TestAuth tests a cluster with authentication.
func TestAuth(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{TLS: true, User: "root"})
	enableAuth(t, cluster.Client(t))
	client := openCluster(t, newConfig(cluster))

	gatherHealthy(t, client, 1)
	if _, err := client.Snapshot(t.Context(), filepath.Join(t.TempDir(), "main.db")); err != nil {
		t.Errorf("root may take a snapshot: %v", err)
	}

	for user, why := range map[string]string{"holdfast": "permission denied", "nobody": "user name not found"} {
		other := openCluster(t, newConfig(cluster, asUser(t, cluster, user)))
		gatherHealthy(t, other, 1) // a member is healthy, although the user may not read its data
		_, err := other.Snapshot(t.Context(), filepath.Join(t.TempDir(), "main.db"))
		if err == nil {
			t.Fatal("took a snapshot without permission")
		}
		checkText(t, err.Error(), why, "role root")
	}
}

// asUser uses the client certificate of another user.
func asUser(t *testing.T, cluster *etcdtest.Cluster, user string) func(*etcd.Config) {
	t.Helper()
	cert, key := cluster.Issue(t, user)
	return func(c *etcd.Config) {
		read := cluster.Members[0].ReadFile
		c.Peers[0].ReadFiles = etcdtest.OneByOne(func(ctx context.Context, path string) ([]byte, error) {
			switch path {
			case c.TLS.Cert:
				return cert, nil
			case c.TLS.Key:
				return key, nil
			}
			return read(ctx, path)
		})
	}
}

func enableAuth(t *testing.T, client *clientv3.Client) {
	t.Helper()
	ctx := etcdtest.Context(t)
	for _, step := range []func() error{
		func() error { _, err := client.RoleAdd(ctx, "root"); return err },
		func() error { _, err := client.UserAdd(ctx, "root", "secret"); return err },
		func() error { _, err := client.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := client.UserAdd(ctx, "holdfast", "secret"); return err },
		func() error { _, err := client.AuthEnable(ctx); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTwoClusters tests two clusters whose hosts the inventory puts into one.
func TestTwoClusters(t *testing.T) {
	t.Parallel()
	one, other := etcdtest.Start(t, 1, etcdtest.Options{}), etcdtest.Start(t, 1, etcdtest.Options{})
	cfg := newConfig(one)
	cfg.Peers = append(cfg.Peers, newConfig(other).Peers...)
	cfg.Peers[1].Host = "stray"
	problem := openCluster(t, cfg).Gather(t.Context()).Problem
	checkText(t, problem, "its hosts are in different etcd clusters", "stray is in ")
	if strings.Contains(problem, "; host stray") {
		t.Errorf("said twice: %s", problem)
	}
}

// TestServerNames tests the names in the certificate of a member.
func TestServerNames(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{"etcd-0": true, "localhost": true, "elsewhere.example": false} {
		t.Run(name, func(t *testing.T) {
			cluster := etcdtest.Start(t, 1, etcdtest.Options{
				TLS: true, ServerNames: func(*etcdtest.Member) []string { return []string{name} },
			})
			facts := openCluster(t, newConfig(cluster)).Gather(t.Context())
			if good {
				checkHealthy(t, facts, 1)
				return
			}
			checkText(t, facts.Problem, "the server certificate of etcd-0 (etcd-0, issued by etcdtest CA) is for elsewhere.example, not for any of 127.0.0.1")
		})
	}
}

// TestOpen tests credentials that cannot be read.
func TestOpen(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{TLS: true})
	const secret = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"
	_, err := etcd.Open(t.Context(), newConfig(cluster, func(c *etcd.Config) {
		read := cluster.Members[0].ReadFile
		c.Peers[0].ReadFiles = etcdtest.OneByOne(func(ctx context.Context, path string) ([]byte, error) {
			if path == c.TLS.Key {
				return []byte(secret), nil
			}
			return read(ctx, path)
		})
		c.Peers = append(c.Peers, etcd.Peer{Host: "gone", ReadFiles: etcdtest.OneByOne(func(_ context.Context, path string) ([]byte, error) {
			return nil, &os.PathError{Op: "read", Path: path, Err: os.ErrNotExist}
		})})
	}))
	if err == nil {
		t.Fatal("opened")
	}
	checkText(t, err.Error(), "etcd cluster main: read the client credentials: etcd-0: pair ", "client.key", "; gone: read ")
	if strings.Contains(err.Error(), "c2VjcmV0") {
		t.Errorf("tells the key: %v", err)
	}
}

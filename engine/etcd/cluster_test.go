package etcd_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd"
	"holdfast/engine/etcd/etcdtest"
	"holdfast/engine/etcdfacts"
)

// newConfig returns the Config of a test cluster, after the changes. Its timeout
// is one minute, so that no test fails on a busy machine.
func newConfig(c *etcdtest.Cluster, change ...func(*etcd.Config)) etcd.Config {
	cfg := etcd.Config{Name: "main", ClientPort: c.ClientPort, TLS: c.TLS, Timeout: time.Minute, Poll: 10 * time.Millisecond}
	for _, m := range c.Members {
		cfg.Peers = append(cfg.Peers, etcd.Peer{Host: m.Host, Address: m.Address, Dial: m.Dial, ReadFiles: m.ReadFiles})
	}
	for _, f := range change {
		f(&cfg)
	}
	return cfg
}

func openCluster(t *testing.T, cfg etcd.Config) *etcd.Cluster {
	t.Helper()
	c, err := etcd.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// gatherUntil gathers facts until well returns true. With a short timeout for a member
// that never answers, a busy machine may also be late with other answers.
func gatherUntil(t *testing.T, client *etcd.Cluster, well func(etcdfacts.ClusterFacts) bool) etcdfacts.ClusterFacts {
	t.Helper()
	var facts etcdfacts.ClusterFacts
	for range 50 {
		if facts = client.Gather(t.Context()); well(facts) {
			return facts
		}
	}
	t.Fatalf("facts %+v", facts)
	return facts
}

// findMember returns the facts of the member on a host.
func findMember(t *testing.T, facts etcdfacts.ClusterFacts, host string) etcdfacts.Member {
	t.Helper()
	for _, m := range facts.Members {
		if m.Host == host {
			return m
		}
	}
	t.Fatalf("no member on %s in %+v", host, facts)
	return etcdfacts.Member{}
}

func checkText(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not say %q", text, part)
		}
	}
}

// isHealthy reports whether a cluster has n members that are all healthy, and a leader.
func isHealthy(facts etcdfacts.ClusterFacts, n int) bool {
	return facts.Problem == "" && len(facts.Alarms) == 0 && len(facts.Members) == n && facts.CountHealthy() == n && facts.Leader() != ""
}

// haveHealthy returns a condition: n members are healthy, and one of them leads.
func haveHealthy(n int) func(etcdfacts.ClusterFacts) bool {
	return func(f etcdfacts.ClusterFacts) bool { return f.CountHealthy() == n && f.Leader() != "" }
}

// gatherHealthy gathers facts until the cluster is healthy: on a busy machine, several members may choose another leader at any time.
func gatherHealthy(t *testing.T, client *etcd.Cluster, n int) etcdfacts.ClusterFacts {
	t.Helper()
	return gatherUntil(t, client, func(f etcdfacts.ClusterFacts) bool { return isHealthy(f, n) })
}

func checkHealthy(t *testing.T, facts etcdfacts.ClusterFacts, n int) {
	t.Helper()
	if !isHealthy(facts, n) {
		t.Fatalf("not a well cluster of %d: %+v", n, facts)
	}
}

// TestVersions checks that the facts contain the version of the cluster and of the databases as soon as etcd has
// decided on them.
func TestVersions(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]etcdtest.Options{"plain": {}, "TLS, other port for metrics": {TLS: true, Metrics: "http"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := etcdtest.Start(t, 1, options)
			client := openCluster(t, newConfig(cluster, func(c *etcd.Config) {
				if options.TLS {
					c.Metrics = &engine.MetricsListener{Port: etcdtest.MetricsPort}
				}
			}))
			deadline, poll := time.Now().Add(time.Minute), time.NewTicker(50*time.Millisecond)
			defer poll.Stop()
			for ; ; <-poll.C {
				facts := client.Gather(t.Context())
				m := findMember(t, facts, "etcd-0")
				major, rest, _ := strings.Cut(m.Version, ".")
				minor, _, answered := strings.Cut(rest, ".")
				if want := major + "." + minor + ".0"; answered && facts.Version == want && m.StorageVersion == want {
					return
				}
				if time.Now().After(deadline) { // etcd decides within 5 s
					t.Fatalf("facts %+v", facts)
				}
			}
		})
	}
}

// TestThree tests the life of a cluster of three members with TLS.
func TestThree(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 3, etcdtest.Options{TLS: true})
	client := openCluster(t, newConfig(cluster))

	t.Run("observe", func(t *testing.T) {
		facts := gatherHealthy(t, client, 3)
		for i, m := range cluster.Members {
			got := facts.Members[i]
			if got.Host != m.Host || got.Name != m.Name || got.RaftIndex == 0 || got.DBBytes == 0 || !strings.HasPrefix(got.Version, "3.") {
				t.Errorf("member %d is %+v", i, got)
			}
		}
		if facts.Leader() != cluster.Leader(t).Host {
			t.Errorf("leader %s", facts.Leader())
		}
	})
	t.Run("move leader", func(t *testing.T) { moveLeader(t, cluster, client) })
	t.Run("snapshot", func(t *testing.T) { takeSnapshot(t, cluster, client) })
	t.Run("scrape", func(t *testing.T) { scrapesMetrics(t, cluster, client) })
	t.Run("a member is frozen", func(t *testing.T) { reportsFrozenHost(t, cluster) })
	t.Run("a member is stopped and comes back", func(t *testing.T) { comeBack(t, cluster, client) })
	t.Run("wrong CA", func(t *testing.T) { wrongCA(t, cluster) })
	t.Run("a host is not in the inventory", func(t *testing.T) {
		two := openCluster(t, newConfig(cluster, func(c *etcd.Config) { c.Peers = c.Peers[:2] }))
		checkText(t, two.Gather(t.Context()).Problem, "member etcd-2 (http://", "is on no host of the inventory")
	})
	t.Run("learner", func(t *testing.T) { reportsLearner(t, cluster) })
	t.Run("a member was added and not started", func(t *testing.T) { reportsUnstartedMember(t, cluster) })
	t.Run("connections are closed", func(t *testing.T) { closesConnections(t, cluster) })
	t.Run("the quorum is lost", func(t *testing.T) { noQuorum(t, cluster) })
}

func moveLeader(t *testing.T, cluster *etcdtest.Cluster, client *etcd.Cluster) {
	was := cluster.Leader(t).Host
	to, err := client.MoveLeader(t.Context(), was)
	if err != nil || to == was || to != cluster.Leader(t).Host {
		t.Fatalf("moved from %s to %s: %v", was, to, err)
	}
	again, err := client.MoveLeader(t.Context(), was)
	if err != nil || again != to {
		t.Fatalf("a host that does not lead: %s, %v; want %s", again, err, to)
	}
}

func takeSnapshot(t *testing.T, cluster *etcdtest.Cluster, client *etcd.Cluster) {
	path := filepath.Join(t.TempDir(), "main.db")
	if err := os.WriteFile(path+".part", []byte("left by a crash"), 0o644); err != nil {
		t.Fatal(err)
	}
	put, err := cluster.Client(t).Put(etcdtest.Context(t), "k", strings.Repeat("v", 100_000))
	if err != nil {
		t.Fatal(err)
	}
	info, err := client.Snapshot(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all, body := sha256.Sum256(data), sha256.Sum256(data[:len(data)-32])
	if info.SHA256 != hex.EncodeToString(all[:]) || string(body[:]) != string(data[len(data)-32:]) {
		t.Error("hashes do not match")
	}
	if info.Bytes != int64(len(data)) || info.Bytes < 100_000 || info.Revision < put.Header.Revision || info.Took <= 0 {
		t.Errorf("info %+v", info)
	}
	if info.Host == cluster.Leader(t).Host {
		t.Errorf("taken from the leader, %s", info.Host)
	}
	checkOnlyFile(t, path, 0o600)
}

func checkOnlyFile(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Fatalf("files %v: %v", entries, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != mode {
		t.Errorf("mode %v: %v", info.Mode(), err)
	}
}

func scrapesMetrics(t *testing.T, cluster *etcdtest.Cluster, client *etcd.Cluster) {
	before, err := client.Scrape(t.Context(), "etcd-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Client(t).Put(etcdtest.Context(t), "k", "v"); err != nil {
		t.Fatal(err)
	}
	after, err := client.Scrape(t.Context(), "etcd-1")
	if err != nil {
		t.Fatal(err)
	}
	delta := after.Since(before)
	p99, ok := delta.WALFsync.Quantile(0.99)
	if !ok || p99.Value <= 0 || p99.Observed == 0 || p99.Observed > after.WALFsync.Count() {
		t.Errorf("p99 %+v, %v", p99, ok)
	}
	point := after.P99Since(before, "etcd-1")
	if b := point.WALFsyncBucket; b == nil || point.Window <= 0 || point.WALFsyncP99Seconds < b.LowSeconds || b.HighSeconds > 0 && point.WALFsyncP99Seconds > b.HighSeconds || b.Observed != p99.Observed {
		t.Errorf("point %+v, bucket %+v", point, point.WALFsyncBucket)
	}
	if after.Quota == 0 {
		t.Error("no space quota")
	}
	if after.LeaderChanges == 0 || after.Started == 0 { // all members of this process share the counters
		t.Errorf("%d leader changes; started %v", after.LeaderChanges, after.Started)
	}
	if _, err := client.Scrape(t.Context(), "elsewhere"); err == nil {
		t.Error("scraped a host that is not in the cluster")
	}
}

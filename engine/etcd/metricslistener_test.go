package etcd_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd"
	"holdfast/engine/etcd/etcdtest"
)

// dialedPorts records the ports that are dialed on the hosts of a cluster.
type dialedPorts struct {
	mu    sync.Mutex
	ports []string
}

func (d *dialedPorts) watchPeers(c *etcd.Config) {
	for i, p := range c.Peers {
		c.Peers[i].Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, _ := net.SplitHostPort(address)
			d.mu.Lock()
			d.ports = append(d.ports, port)
			d.mu.Unlock()
			return p.Dial(ctx, network, address)
		}
	}
}

// TestMetricsListener checks that metrics, and only metrics, are read from a listener of their own, without TLS or with
// the credentials of the cluster.
func TestMetricsListener(t *testing.T) {
	t.Parallel()
	for scheme, secured := range map[string]bool{"http": false, "https": true} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			cluster := etcdtest.Start(t, 1, etcdtest.Options{TLS: true, Metrics: scheme})
			set := &engine.MetricsListener{Port: etcdtest.MetricsPort}
			if secured {
				credentials := *cluster.TLS
				set.TLS = &credentials
			}
			var dialed dialedPorts
			client := openCluster(t, newConfig(cluster, func(c *etcd.Config) { c.Metrics = set }, dialed.watchPeers))
			metrics, err := client.Scrape(t.Context(), "etcd-0")
			if err != nil || metrics.WALFsync.Count() == 0 {
				t.Fatalf("%+v, %v", metrics, err)
			}
			if got := strings.Join(dialed.ports, " "); got != "2381" {
				t.Errorf("dialed ports %s", got)
			}
			if gatherHealthy(t, client, 1); dialed.ports[1] != "2379" {
				t.Errorf("dialed ports %s", dialed.ports)
			}
		})
	}
}

// TestSlowMemberDelaysNoScrape checks that a member that does not answer delays the answers of the others no longer than
// the caller wants to wait, and that a late answer is returned by the next scrape.
func TestSlowMemberDelaysNoScrape(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 2, etcdtest.Options{})
	answers, dials := make(chan struct{}), make(chan struct{}, 8)
	client := openCluster(t, newConfig(cluster, func(c *etcd.Config) {
		dial := c.Peers[1].Dial
		c.Peers[1].Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			dials <- struct{}{}
			<-answers
			return dial(ctx, network, address)
		}
	}))
	for answered := 0; answered < 2; {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		all := client.ScrapeAll(ctx)
		cancel()
		if err := all["etcd-1"].Err; err == nil || !strings.Contains(err.Error(), "has not answered yet") {
			t.Fatalf("%+v", all)
		}
		if all["etcd-0"].Err == nil {
			answered++
		}
	}
	close(answers)
	if all := client.ScrapeAll(t.Context()); all["etcd-0"].Err != nil || all["etcd-1"].Err != nil || len(dials) != 1 || !all["etcd-1"].Began.Before(all["etcd-0"].Began) {
		t.Errorf("after %d dials: %+v", len(dials), all)
	}
}

// TestMetricsCredentials checks a listener with its own CA and client credentials. These credentials are read from the
// hosts only for metrics, and the health of the cluster does not depend on them.
func TestMetricsCredentials(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{TLS: true})
	other := etcdtest.Start(t, 1, etcdtest.Options{TLS: true}) // only its CA and credentials are used
	m := cluster.Members[0]
	listener := serveMetrics(t, other)
	paths := engine.TLS{CA: "/etc/etcd/metrics-ca.crt", Cert: "/etc/etcd/metrics.crt", Key: "/etc/etcd/metrics.key"}
	missing := ""
	cfg := newConfig(cluster, func(c *etcd.Config) {
		c.Metrics = &engine.MetricsListener{Port: 9979, TLS: &paths}
		c.Peers[0].Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasSuffix(address, ":9979") {
				address = listener
			}
			return m.Dial(ctx, network, address)
		}
		c.Peers[0].ReadFiles = etcdtest.OneByOne(func(ctx context.Context, path string) ([]byte, error) {
			for own, theirs := range map[string]string{paths.CA: other.TLS.CA, paths.Cert: other.TLS.Cert, paths.Key: other.TLS.Key} {
				switch path {
				case missing:
					return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
				case own:
					return other.Members[0].ReadFile(ctx, theirs)
				}
			}
			return m.ReadFile(ctx, path)
		})
	})
	if metrics, err := openCluster(t, cfg).Scrape(t.Context(), "etcd-0"); err != nil || metrics.WALFsync.Count() == 0 {
		t.Errorf("with credentials of its own: %+v, %v", metrics, err)
	}

	missing = paths.Key
	client := openCluster(t, cfg)
	_, err := client.Scrape(t.Context(), "etcd-0")
	if err == nil {
		t.Fatal("scraped without a key")
	}
	checkText(t, err.Error(), "etcd cluster main: metrics of the member on etcd-0:", "read the client credentials for metrics: etcd-0: read /etc/etcd/metrics.key")
	if strings.Contains(err.Error(), "PRIVATE KEY") {
		t.Errorf("the error shows a key: %v", err)
	}
	gatherHealthy(t, client, 1)

	missing, cfg.Metrics.TLS = "", cluster.TLS
	if _, err := openCluster(t, cfg).Scrape(t.Context(), "etcd-0"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("with the cluster's CA: %v", err)
	}
}

// serveMetrics serves a few metrics with TLS, requests a client certificate, and returns the server's address. All
// credentials are from the CA of the cluster authority.
func serveMetrics(t *testing.T, authority *etcdtest.Cluster) string {
	t.Helper()
	ca, err := authority.Members[0].ReadFile(t.Context(), authority.TLS.CA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	cert, key := authority.Issue(t, "metrics", "127.0.0.1")
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, fewMetrics)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // drops messages about handshakes that fail on purpose
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

const fewMetrics = `# TYPE etcd_disk_wal_fsync_duration_seconds histogram
etcd_disk_wal_fsync_duration_seconds_bucket{le="0.001"} 3
etcd_disk_wal_fsync_duration_seconds_bucket{le="+Inf"} 4
etcd_disk_wal_fsync_duration_seconds_sum 0.5
etcd_disk_wal_fsync_duration_seconds_count 4
# TYPE etcd_disk_backend_commit_duration_seconds histogram
etcd_disk_backend_commit_duration_seconds_bucket{le="+Inf"} 0
etcd_disk_backend_commit_duration_seconds_sum 0
etcd_disk_backend_commit_duration_seconds_count 0
`

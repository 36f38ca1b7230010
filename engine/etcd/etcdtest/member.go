package etcdtest

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// Member is one real member, on a host that is only a loopback address.
type Member struct {
	Host    string // etcd-0, etcd-1 …
	Address string // of the host
	Name    string // of the member

	cluster *Cluster
	dir     string
	etcd    *embed.Etcd
	config  *embed.Config
}

// Dial connects like a program on the member's own host: on etcd's ports it
// replaces 127.0.0.1 by the member's address, or refuses with AddressOnly.
func (m *Member) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	for _, port := range []int{clientPort, peerPort, MetricsPort} {
		if address != loopbackAddress(port) {
			continue
		}
		if m.cluster.options.AddressOnly {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		address = net.JoinHostPort(m.Address, fmt.Sprint(port))
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// ReadFile reads a file of the member's host. The host has only the files in Cluster.TLS.
func (m *Member) ReadFile(_ context.Context, path string) ([]byte, error) {
	data, ok := m.cluster.files[path]
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return data, nil
}

// ReadFiles reads files of the member's host.
func (m *Member) ReadFiles(ctx context.Context, paths ...string) ([][]byte, error) {
	return OneByOne(m.ReadFile)(ctx, paths...)
}

// OneByOne returns a function that reads files with read.
func OneByOne(read func(context.Context, string) ([]byte, error)) func(context.Context, ...string) ([][]byte, error) {
	return func(ctx context.Context, paths ...string) ([][]byte, error) {
		files := make([][]byte, len(paths))
		for i, path := range paths {
			data, err := read(ctx, path)
			if err != nil {
				return nil, err
			}
			files[i] = data
		}
		return files, nil
	}
}

// ID returns the member's ID.
func (m *Member) ID() uint64 { return uint64(m.etcd.Server.MemberID()) }

// Stop stops the member as a reboot does. Further calls have no effect.
func (m *Member) Stop() {
	if m.etcd == nil {
		return
	}
	m.etcd.Close()
	m.etcd = nil
}

// Restart starts a stopped member with its data, and waits until it serves.
func (m *Member) Restart(t testing.TB) {
	t.Helper()
	m.launchEtcd(t)
	m.awaitReady(t)
}

func (m *Member) clientURL() string {
	scheme := "http"
	if m.cluster.options.TLS {
		scheme = "https"
	}
	return fmt.Sprintf("%s://%s:%d", scheme, m.Address, clientPort)
}

func (m *Member) peerURL() string {
	scheme := "http"
	if m.cluster.options.PeerTLS || m.cluster.options.PeerAutoTLS {
		scheme = "https"
	}
	return fmt.Sprintf("%s://%s:%d", scheme, m.Address, peerPort)
}

func (m *Member) startMember(t testing.TB, state, initial string) {
	t.Helper()
	client, peer := []url.URL{parseURL(t, m.clientURL())}, []url.URL{parseURL(t, m.peerURL())}
	config := embed.NewConfig()
	config.Name, config.Dir = m.Name, m.dir
	config.ListenClientUrls, config.AdvertiseClientUrls = client, client
	config.ListenPeerUrls, config.AdvertisePeerUrls = peer, peer
	config.ClusterState, config.InitialCluster, config.InitialClusterToken = state, initial, m.cluster.token
	config.TickMs, config.ElectionMs = 50, 500
	config.StrictReconfigCheck = false // with the check, etcd refuses a learner until enough voters have been connected for 5 s
	config.BcryptCost = 4
	config.QuotaBackendBytes = m.cluster.options.QuotaBytes
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	if m.cluster.options.TLS {
		cert, key, ca := m.cluster.memberFiles(t, m, "server")
		config.ClientTLSInfo = transport.TLSInfo{
			CertFile: cert, KeyFile: key, TrustedCAFile: ca, ClientCertAuth: true, Logger: zap.NewNop(),
		}
	}
	config.PeerAutoTLS, config.SelfSignedCertValidity = m.cluster.options.PeerAutoTLS, 1
	if m.cluster.options.PeerTLS {
		cert, key, ca := m.cluster.memberFiles(t, m, "peer")
		config.PeerTLSInfo = transport.TLSInfo{
			CertFile: cert, KeyFile: key, TrustedCAFile: ca, ClientCertAuth: true, Logger: zap.NewNop(),
		}
	}
	if scheme := m.cluster.options.Metrics; scheme != "" {
		config.ListenMetricsUrls = []url.URL{parseURL(t, fmt.Sprintf("%s://%s:%d", scheme, m.Address, MetricsPort))}
	}
	m.config = config
	m.launchEtcd(t)
}

func (m *Member) launchEtcd(t testing.TB) {
	t.Helper()
	etcd, err := embed.StartEtcd(m.config)
	if err != nil {
		t.Fatalf("etcdtest: start %s: %v", m.Name, err)
	}
	m.etcd = etcd
}

func (m *Member) awaitReady(t testing.TB) {
	t.Helper()
	select {
	case <-m.etcd.Server.ReadyNotify():
	case <-time.After(startTimeout):
		t.Fatalf("etcdtest: %s does not get ready", m.Name)
	}
}

func parseURL(t testing.TB, s string) url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return *u
}

// Dir returns the data directory of the member.
func (m *Member) Dir() string { return m.dir }

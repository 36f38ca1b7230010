// Package etcdtest starts real etcd members on the loopback interface for
// tests. Every member has its own loopback address, so that all members can
// listen on the same ports, as members on different hosts do.
package etcdtest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"

	"holdfast/engine"
	"holdfast/engine/longtest"
)

const (
	clientPort   = 2379
	peerPort     = 2380
	startTimeout = 30 * time.Second // bounds the start of a member, and a change of members

	requestTimeout = 5 * time.Minute // bounds all requests of a test that have one context
)

// MetricsPort is the port on which members with Options.Metrics serve their
// metrics.
const MetricsPort = 2381

// Options describe the cluster to start.
type Options struct {
	TLS         bool                     // clients must use TLS and a certificate
	User        string                   // common name of the client certificate; "": root
	Names       func(host int) string    // member names; nil: the host names
	AddressOnly bool                     // members do not listen on the loopback of their host
	QuotaBytes  int64                    // space quota; 0: etcd's default
	Metrics     string                   // scheme of the listener on MetricsPort, which serves only metrics; "": no such listener
	ServerNames func(m *Member) []string // names in the server certificates; nil: the loopback names and the address

	PeerAutoTLS bool // members make the certificates for each other themselves

	PeerTLS bool             // members also use TLS with each other; needs TLS
	Dates   map[string]Dates // validity of certificates: "ca", "server", "peer" and "client"; others are valid for 2 hours
}

// Dates are the validity of a certificate, relative to now.
type Dates struct{ From, To time.Duration }

// Cluster is a cluster of real members.
type Cluster struct {
	ClientPort int
	TLS        *engine.TLS // paths of the credentials on every host; nil without TLS
	Members    []*Member

	options Options
	ca      *authority
	files   map[string][]byte
	token   string
}

// counter numbers all members of this process, for their addresses.
var counter atomic.Uint32

// Start starts a cluster of n members on the hosts etcd-0, etcd-1 and so on, and waits until it has a leader. The
// cluster stops with the test.
func Start(t testing.TB, n int, options Options) *Cluster {
	t.Helper()
	shrinkLogs()
	if options.User == "" {
		options.User = "root"
	}
	c := &Cluster{ClientPort: clientPort, options: options, token: t.Name()}
	if options.TLS {
		c.makeCredentials(t)
	}
	for range n {
		c.addUnlisted(t)
	}
	var initial []string
	for _, m := range c.Members {
		initial = append(initial, m.Name+"="+m.peerURL())
	}
	for _, m := range c.Members {
		m.startMember(t, "new", strings.Join(initial, ","))
	}
	for _, m := range c.Members {
		m.awaitReady(t)
	}
	return c
}

// shrinkLogs makes members reserve little space for their logs: by default 128 MB each.
var shrinkLogs = sync.OnceFunc(func() { wal.SegmentSizeBytes = 4 << 20 })

func (c *Cluster) addUnlisted(t testing.TB) *Member {
	t.Helper()
	i := len(c.Members)
	pid := os.Getpid()
	m := &Member{
		Host:    fmt.Sprintf("etcd-%d", i),
		Address: fmt.Sprintf("127.%d.%d.%d", 64+pid/256%128, pid%256, counter.Add(1)%250+1),
		cluster: c, dir: longtest.DirInMemory(t), // a member waits for its disk again and again
	}
	m.Name = m.Host
	if c.options.Names != nil {
		m.Name = c.options.Names(i)
	}
	c.Members = append(c.Members, m)
	t.Cleanup(m.Stop)
	return m
}

// Client returns a client of all members. The end of the test closes it. Its requests need a Context.
func (c *Cluster) Client(t testing.TB) *clientv3.Client {
	t.Helper()
	var endpoints []string
	for _, m := range c.Members {
		endpoints = append(endpoints, m.clientURL())
	}
	return c.newClient(t, endpoints...)
}

// Context returns the context of a test's own requests to a cluster. It ends before the test: a member that stops may never
// answer a request that it has taken.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
	t.Cleanup(cancel)
	return ctx
}

func (c *Cluster) newClient(t testing.TB, endpoints ...string) *clientv3.Client {
	t.Helper()
	config := clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()}
	if c.TLS != nil {
		pair, err := tls.X509KeyPair(c.files[c.TLS.Cert], c.files[c.TLS.Key])
		if err != nil {
			t.Fatal(err)
		}
		config.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: c.ca.pool, MinVersion: tls.VersionTLS12}
	}
	client, err := clientv3.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Leader returns the leading member.
func (c *Cluster) Leader(t testing.TB) *Member {
	t.Helper()
	for _, m := range c.Members {
		if m.etcd != nil && m.etcd.Server.Leader() != 0 {
			for _, l := range c.Members {
				if l.etcd != nil && l.etcd.Server.MemberID() == m.etcd.Server.Leader() {
					return l
				}
			}
		}
	}
	t.Fatal("etcdtest: no leader")
	return nil
}

// AddLearner adds a learner on a new host and starts it.
func (c *Cluster) AddLearner(t testing.TB) *Member {
	t.Helper()
	m := c.addMember(t)
	var initial []string
	for _, other := range c.Members {
		initial = append(initial, other.Name+"="+other.peerURL())
	}
	m.startMember(t, "existing", strings.Join(initial, ","))
	m.awaitReady(t)
	return m
}

// AddUnstarted adds a learner on a new host and never starts it.
func (c *Cluster) AddUnstarted(t testing.TB) *Member {
	t.Helper()
	return c.addMember(t)
}

func (c *Cluster) addMember(t testing.TB) *Member {
	t.Helper()
	client := c.newClient(t, c.Members[0].clientURL())
	m := c.addUnlisted(t)
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if _, err := client.MemberAddAsLearner(ctx, []string{m.peerURL()}); err != nil {
		t.Fatal(err)
	}
	c.awaitList(ctx, t)
	return m
}

// RemoveMember removes a member from the list. It asks another one: a removed member stops, and does not answer a request that it
// has taken.
func (c *Cluster) RemoveMember(t testing.TB, m *Member) {
	t.Helper()
	other := slices.IndexFunc(c.Members, func(other *Member) bool { return other != m && other.etcd != nil })
	client, id := c.newClient(t, c.Members[other].clientURL()), m.ID()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for { // a request that was not answered in time may have been carried out
		_, err := client.MemberRemove(ctx, id)
		if err == nil || errors.Is(err, rpctypes.ErrMemberNotFound) {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("etcdtest: remove member %s: %v", m.Name, err)
		}
	}
}

// awaitList waits until each member that runs knows all changes of the list of members. A new member asks any of them for the
// list, and does not start with an older one.
func (c *Cluster) awaitList(ctx context.Context, t testing.TB) {
	t.Helper()
	for _, m := range c.Members {
		if m.etcd == nil {
			continue
		}
		if _, err := c.newClient(t, m.clientURL()).MemberList(ctx); err != nil { // a linearizable read
			t.Fatalf("etcdtest: list the members on %s: %v", m.Name, err)
		}
	}
}

func loopbackAddress(port int) string { return net.JoinHostPort("127.0.0.1", fmt.Sprint(port)) }

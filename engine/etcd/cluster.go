package etcd

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"holdfast/engine"
)

// Peer is the host of one member.
type Peer struct {
	Host    string // its name in the inventory
	Address string // the host's address in the inventory
	Retired bool   // the host need not have a member

	// Dial connects from the host itself, until the context ends. For an
	// unreachable host, Dial returns the reason; the facts then still contain
	// the member of that host.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// ReadFiles reads files of the host as root, in one round trip. Its error names the path.
	ReadFiles func(ctx context.Context, paths ...string) ([][]byte, error)

	// RunScript runs a script on the host as root, and returns its output. Without TLS, it tells who listens on the port of the
	// member. Nil: only an answer at the address of the host counts.
	RunScript func(ctx context.Context, script string) (string, error)

	// RoundTrip returns the last measured round trip to the host, or 0 if none
	// was measured. Nil means 0.
	RoundTrip func() time.Duration
}

// Config describes a cluster and how to reach its members.
type Config struct {
	Name       string                  // of the cluster, for messages
	ClientPort int                     // port on which the members listen for clients
	TLS        *engine.TLS             // nil: the members use no TLS
	Metrics    *engine.MetricsListener // nil: the members serve their metrics on the client port
	Managed    bool                    // holdfast adds and removes the members
	Unit       string                  // systemd unit of etcd on the hosts; "": not known

	// NewestCredentials is true if holdfast issues the credentials. The newest are used then, because a host without a member may have
	// credentials from a CA that was replaced.
	NewestCredentials bool

	Peers   []Peer        // every inventory host of the cluster, reachable or not
	Timeout time.Duration // for one gather; 0: 5 s, and more for far hosts
	Poll    time.Duration // between two gathers while waiting; 0: 1 s
}

// A gather has two phases, each with two fifths of its time. A phase takes up
// to 12 round trips, one after the other: an SSH login, two addresses to try,
// TLS, HTTP/2, and the requests themselves.
const (
	defaultTimeout = 5 * time.Second // without the time for the round trips
	roundTrips     = 30              // round trips for which the default timeout adds time
	maxTimeout     = time.Minute     // upper bound of the default
	defaultPoll    = time.Second
)

// gatherTimeout depends on the farthest host, so that a healthy cluster is healthy at any distance.
func (cfg Config) gatherTimeout() time.Duration {
	if cfg.Timeout > 0 {
		return cfg.Timeout
	}
	var farthest time.Duration
	for _, p := range cfg.Peers {
		if p.RoundTrip != nil {
			farthest = max(farthest, p.RoundTrip())
		}
	}
	return min(defaultTimeout+roundTrips*farthest, maxTimeout)
}

// Cluster is an etcd cluster. Its methods may be called concurrently.
type Cluster struct {
	cfg     Config
	clients listener // where the members listen for clients
	*scraper

	versions []*http.Client // for the version of the cluster, by peer

	mu    sync.Mutex
	hosts map[uint64]string // hosts of members, from their last answers
	shown presentedCertificates
}

// Open prepares a cluster. With TLS it reads the client credentials from the hosts and keeps them only in memory.
// Without TLS it contacts no host. Open ignores members that do not answer; Gather reports them.
func Open(ctx context.Context, cfg Config) (*Cluster, error) {
	if cfg.Poll <= 0 {
		cfg.Poll = defaultPoll
	}
	c := &Cluster{cfg: cfg, clients: listener{port: cfg.ClientPort}, hosts: map[uint64]string{}, shown: newPresentedCertificates()}
	if cfg.TLS != nil {
		credentials, err := readCredentials(ctx, cfg, *cfg.TLS)
		if err != nil {
			return nil, cfg.stepError("read the client credentials", err)
		}
		c.clients.tls, c.clients.note = credentials, c.noteServer
	}
	c.scraper = newScraper(cfg, c.clients)
	for _, p := range cfg.Peers {
		c.versions = append(c.versions, cfg.newHTTPClient(p, c.listenForClients))
	}
	return c, nil
}

func (cfg Config) peerIndex(host string) int {
	for i, p := range cfg.Peers {
		if p.Host == host {
			return i
		}
	}
	return -1
}

func (cfg Config) stepError(step string, err error) error {
	return &opError{cluster: cfg.Name, step: step, err: err}
}

const loopback = "127.0.0.1"

func memberAddresses(p Peer, at listener) []string {
	port := strconv.Itoa(at.port)
	targets := []string{net.JoinHostPort(loopback, port)}
	if hasOtherAddress(p) {
		targets = append(targets, net.JoinHostPort(p.Address, port))
	}
	if at.tls == nil && p.RunScript == nil { // an answer at the loopback address proves nothing
		slices.Reverse(targets)
	}
	return targets
}

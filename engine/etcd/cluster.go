package etcd

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"holdfast/engine"
)

// Peer is the host of one member, as this package needs it.
type Peer struct {
	Host    string // its name in the inventory
	Address string // its address there

	// Dial connects from the host itself, and gives up when the context ends.
	// For a host that cannot be reached it says why, so that a member that is
	// away is still named.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// ReadFile reads a file of the host as root.
	ReadFile func(ctx context.Context, path string) ([]byte, error)

	// RoundTrip returns how long a question to the host and its answer were
	// last under way, 0 if that is not known. Nil: never known.
	RoundTrip func() time.Duration
}

// Config says which cluster to talk to and how.
type Config struct {
	Name       string        // of the cluster, for messages
	ClientPort int           // the members listen there for clients
	TLS        *engine.TLS   // nil: the members speak without TLS
	Peers      []Peer        // every inventory host of the cluster, reachable or not
	Timeout    time.Duration // of one observation; 0: 5 s and more for far hosts
	Poll       time.Duration // from one observation to the next while waiting; 0: 1 s
}

// One observation takes up to 12 questions and answers, one after the other, in
// each of two phases of two fifths of its time: a new SSH login, two addresses
// to try, TLS, HTTP/2, and the questions themselves.
const (
	defaultTimeout = 5 * time.Second // where the way to the hosts takes no time
	roundTrips     = 30              // for which the default timeout has time besides
	maxTimeout     = time.Minute     // the default is never more
	defaultPoll    = time.Second
)

// gatherTimeout returns the time of one observation. It follows the farthest host,
// so that a healthy cluster is healthy however far away it is.
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

// Cluster is an etcd cluster that can be talked to. Its methods may be used
// side by side.
type Cluster struct {
	cfg     Config
	tls     *tls.Config // nil: no TLS
	scrapes []*http.Client

	mu    sync.Mutex
	hosts map[uint64]string // hosts by the members that answered there
}

// Open makes a cluster ready to be talked to. With TLS it reads the client
// credentials from the first peer that has them all and keeps them in memory
// only; without TLS it touches no host. That a member does not answer is for
// Gather to say.
func Open(ctx context.Context, cfg Config) (*Cluster, error) {
	if cfg.Poll <= 0 {
		cfg.Poll = defaultPoll
	}
	c := &Cluster{cfg: cfg, hosts: map[uint64]string{}}
	if cfg.TLS != nil {
		credentials, err := readCredentials(ctx, cfg)
		if err != nil {
			return nil, c.stepError("read the client credentials", err)
		}
		c.tls = credentials
	}
	for _, p := range cfg.Peers {
		c.scrapes = append(c.scrapes, c.newScrapeClient(p))
	}
	return c, nil
}

// Close ends the connections that are kept between scrapes. The cluster may
// still be used.
func (c *Cluster) Close() {
	for _, s := range c.scrapes {
		s.CloseIdleConnections()
	}
}

// peerIndex returns the index of the peer on host, or -1.
func (c *Cluster) peerIndex(host string) int {
	for i, p := range c.cfg.Peers {
		if p.Host == host {
			return i
		}
	}
	return -1
}

// stepError names the cluster and the step an error came from.
func (c *Cluster) stepError(step string, err error) error {
	return &opError{cluster: c.cfg.Name, step: step, err: err}
}

// clientAddresses are where a member may listen, as seen from its own host.
func (c *Cluster) clientAddresses(p Peer) []string {
	port := strconv.Itoa(c.cfg.ClientPort)
	targets := []string{net.JoinHostPort("127.0.0.1", port)}
	if p.Address != "" && p.Address != "127.0.0.1" && p.Address != "localhost" {
		targets = append(targets, net.JoinHostPort(p.Address, port))
	}
	return targets
}

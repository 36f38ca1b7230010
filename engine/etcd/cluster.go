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
}

// Config says which cluster to talk to and how.
type Config struct {
	Name       string        // of the cluster, for messages
	ClientPort int           // the members listen there for clients
	TLS        *engine.TLS   // nil: the members speak without TLS
	Peers      []Peer        // every inventory host of the cluster, reachable or not
	Timeout    time.Duration // of one observation; 0: 5 s
	Poll       time.Duration // from one observation to the next while waiting; 0: 1 s
}

const (
	defaultTimeout = 5 * time.Second
	defaultPoll    = time.Second
)

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
// Observe to say.
func Open(ctx context.Context, cfg Config) (*Cluster, error) {
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Poll <= 0 {
		cfg.Poll = defaultPoll
	}
	c := &Cluster{cfg: cfg, hosts: map[uint64]string{}}
	if cfg.TLS != nil {
		credentials, err := readCredentials(ctx, cfg)
		if err != nil {
			return nil, c.wrap("read the client credentials", err)
		}
		c.tls = credentials
	}
	for _, p := range cfg.Peers {
		c.scrapes = append(c.scrapes, c.scraper(p))
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

// peer returns the index of the peer on host, or -1.
func (c *Cluster) peer(host string) int {
	for i, p := range c.cfg.Peers {
		if p.Host == host {
			return i
		}
	}
	return -1
}

// wrap names the cluster and the step an error came from.
func (c *Cluster) wrap(step string, err error) error {
	return &opError{cluster: c.cfg.Name, step: step, err: err}
}

// targets are where a member may listen, as seen from its own host.
func (c *Cluster) targets(p Peer) []string {
	port := strconv.Itoa(c.cfg.ClientPort)
	targets := []string{net.JoinHostPort("127.0.0.1", port)}
	if p.Address != "" && p.Address != "127.0.0.1" && p.Address != "localhost" {
		targets = append(targets, net.JoinHostPort(p.Address, port))
	}
	return targets
}

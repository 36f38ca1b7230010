package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"holdfast/engine/etcd/certificate"
	"holdfast/engine/etcdfacts"
)

// After a peer port has presented a certificate, no request goes to the port for a while: etcd logs each connection to
// its peer port that ends without a request, and some versions log a warning.
const (
	peerInterval    = 10 * time.Minute
	peerRetry       = time.Minute // after a certificate that is not valid, or no certificate
	defaultPeerPort = 2380
	maxPeerURLs     = 3 // of a member that are asked
)

// presentedCertificates holds the last certificates that members have presented, by host.
type presentedCertificates struct {
	server map[string][]*x509.Certificate
	peer   map[string]peerLook
}

type peerLook struct {
	chain []*x509.Certificate
	next  time.Time // time of the next request
}

func newPresentedCertificates() presentedCertificates {
	return presentedCertificates{server: map[string][]*x509.Certificate{}, peer: map[string]peerLook{}}
}

func (c *Cluster) noteServer(host string, presented []*x509.Certificate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown.server[host] = presented
}

// lookAtPeer asks the peer port of the member on p for its certificate, unless the last request was a short while ago.
// A port that does not answer is not a problem here, because other requests check the health.
func (c *Cluster) lookAtPeer(ctx context.Context, p Peer, v clusterView) {
	targets := listPeerTargets(p, v.peerURLsOf(p.Host))
	c.mu.Lock()
	if len(v.members) == 0 && len(c.shown.server[p.Host]) > 0 {
		targets = guessPeerTargets(p, defaultPeerPort) // the host uses TLS for clients, but no member list names the peer port
	}
	look := c.shown.peer[p.Host]
	c.mu.Unlock()
	if len(targets) == 0 || time.Now().Before(look.next) {
		return
	}
	look.next = time.Now().Add(peerRetry)
	if chain := c.cfg.presentedAt(ctx, p, targets); chain != nil {
		look.chain = chain
		if !certificate.Describe(chain[0], etcdfacts.PeerCertificate, p.Host, "").ProblemKind(time.Now()).Fails() {
			look.next = time.Now().Add(peerInterval)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown.peer[p.Host] = look
}

// peerURLsOf returns the URLs at which the member on a host tells the others to reach it.
func (v clusterView) peerURLsOf(host string) []string {
	i := slices.IndexFunc(v.members, func(m *pb.Member) bool { return v.hosts[m.ID] == host })
	if i < 0 {
		return nil
	}
	return v.members[i].PeerURLs
}

// peerTarget is an address at which a member may listen for the others.
type peerTarget struct {
	address string
	port    int
	guessed bool // the member does not advertise it
}

// listPeerTargets returns the addresses that the peer URLs with TLS name, then other addresses of the host with the port of the first
// URL. Without a URL with TLS, it returns none.
//
// etcd listens at the addresses that it advertises, so no other account of the host can. Usually it does not listen at the loopback.
func listPeerTargets(p Peer, urls []string) []peerTarget {
	var targets []peerTarget
	for _, text := range urls {
		u, ok := parseMemberURL(text)
		port, err := strconv.Atoi(u.port)
		if ip := net.ParseIP(u.host); !ok || err != nil || u.scheme != "https" || ip != nil && ip.IsUnspecified() || len(targets) == maxPeerURLs {
			continue
		}
		targets = append(targets, peerTarget{net.JoinHostPort(u.host, u.port), port, false})
	}
	if len(targets) == 0 {
		return nil
	}
	for _, t := range guessPeerTargets(p, targets[0].port) {
		if !slices.ContainsFunc(targets, func(other peerTarget) bool { return other.address == t.address }) {
			t.guessed = true
			targets = append(targets, t)
		}
	}
	return targets
}

// guessPeerTargets returns the address of the host and its loopback, with a port.
func guessPeerTargets(p Peer, port int) []peerTarget {
	var targets []peerTarget
	if hasOtherAddress(p) {
		targets = append(targets, peerTarget{net.JoinHostPort(p.Address, strconv.Itoa(port)), port, false})
	}
	return append(targets, peerTarget{net.JoinHostPort(loopback, strconv.Itoa(port)), port, len(targets) > 0})
}

// presentedAt returns the certificates that the member on p presents at the first target that answers, or nil. Each target gets its
// share of the time. A guessed target is asked only if nothing listens at the targets before it, and its answer does not count if root on
// the host sees a process there that cannot be etcd.
func (cfg Config) presentedAt(ctx context.Context, p Peer, targets []peerTarget) []*x509.Certificate {
	listens := false
	for i, t := range targets {
		if t.guessed && listens {
			return nil
		}
		limited, cancel := shareTime(ctx, len(targets)-i)
		chain, connected := readPresented(limited, p, t.address)
		listens = listens || connected || limited.Err() != nil
		cancel()
		if chain != nil && !(t.guessed && cfg.isForeign(ctx, p, t)) {
			return chain
		}
	}
	return nil
}

// shareTime returns a context that ends after the n-th part of the time that is left.
func shareTime(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	deadline, limited := ctx.Deadline()
	if !limited {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(n))
}

// isForeign reports whether root on the host sees that the process at a target cannot be etcd.
func (cfg Config) isForeign(ctx context.Context, p Peer, t peerTarget) bool {
	if p.RunScript == nil {
		return false
	}
	found, err := cfg.readSockets(ctx, p, t.port)
	return err == nil && found.read && !found.isForwarded() &&
		found.checkListeners(t.port, strings.HasPrefix(t.address, loopback+":")) != nil
}

var errCertificateSeen = errors.New("the certificate was seen")

// readPresented returns the certificates that a server presents, or nil, and whether anything listens there. A server presents them before it
// requests the client's certificate, so readPresented needs no credentials. It then closes the connection without a TLS alert.
func readPresented(ctx context.Context, p Peer, address string) (presented []*x509.Certificate, connected bool) {
	conn, err := p.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, false
	}
	quiet := &quietConn{Conn: conn}
	secured := tls.Client(quiet, &tls.Config{
		MinVersion: tls.VersionTLS12,
		// A certificate that is not valid must be seen, too, and holdfast does not know the CA of the peer certificates. So the certificate
		// proves nothing about the server: only the address does.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			presented, quiet.ended = state.PeerCertificates, true
			return errCertificateSeen
		},
	})
	_ = secured.HandshakeContext(ctx) // ends with errCertificateSeen, or without a certificate
	_ = conn.Close()
	return presented, true
}

// quietConn sends no more data once ended is set.
type quietConn struct {
	net.Conn
	ended bool
}

func (c *quietConn) Write(b []byte) (int, error) {
	if c.ended {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

func (c *Cluster) listCertificates() ([]etcdfacts.Certificate, []etcdfacts.CertificateProblem) {
	var servers, peers, client, trusted []etcdfacts.Certificate
	c.mu.Lock()
	for _, p := range c.cfg.Peers {
		servers = append(servers, certificate.DescribeChain(c.shown.server[p.Host], etcdfacts.ServerCertificate, p.Host)...)
		peers = append(peers, certificate.DescribeChain(c.shown.peer[p.Host].chain, etcdfacts.PeerCertificate, p.Host)...)
	}
	c.mu.Unlock()
	if known := c.clients.tls; known != nil {
		client, trusted = []etcdfacts.Certificate{known.client}, known.authorities.Describe()
	}
	list := certificate.Join(servers, peers, client, trusted)
	now := time.Now()
	problems := certificate.FindProblems(list, trusted, c.cfg.Name, now)
	if c.cfg.NewestCredentials {
		for i, p := range problems {
			problems[i] = p.Issued(now)
		}
	}
	return list, problems
}

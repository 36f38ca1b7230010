package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
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
	port := v.securePeerPort(p.Host)
	c.mu.Lock()
	if len(v.members) == 0 && len(c.shown.server[p.Host]) > 0 {
		port = defaultPeerPort // the host uses TLS for clients, but no member list names the peer port
	}
	look := c.shown.peer[p.Host]
	c.mu.Unlock()
	if port == 0 || time.Now().Before(look.next) {
		return
	}
	look.next = time.Now().Add(peerRetry)
	if chain := presentedAt(ctx, p, port); chain != nil {
		look.chain = chain
		if !certificate.Describe(chain[0], etcdfacts.PeerCertificate, p.Host, "").ProblemKind(time.Now()).Fails() {
			look.next = time.Now().Add(peerInterval)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown.peer[p.Host] = look
}

func (v clusterView) securePeerPort(host string) int {
	i := slices.IndexFunc(v.members, func(m *pb.Member) bool { return v.hosts[m.ID] == host })
	if i < 0 {
		return 0
	}
	for _, text := range v.members[i].PeerURLs {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" {
			continue
		}
		if port, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
			return int(port)
		}
	}
	return 0
}

var errCertificateSeen = errors.New("the certificate was seen")

// presentedAt returns the certificates that the peer port of the member on p presents, or nil. A server presents them
// before it requests the client's certificate, so presentedAt needs no credentials. presentedAt then closes the
// connection without a TLS alert.
func presentedAt(ctx context.Context, p Peer, port int) []*x509.Certificate {
	var presented []*x509.Certificate
	for _, target := range memberAddresses(p, listener{port: port}) {
		conn, err := p.Dial(ctx, "tcp", target)
		if err != nil {
			continue
		}
		quiet := &quietConn{Conn: conn}
		secured := tls.Client(quiet, &tls.Config{
			MinVersion:         tls.VersionTLS12,
			InsecureSkipVerify: true, // only the dates and names of the certificate are shown
			VerifyConnection: func(state tls.ConnectionState) error {
				presented, quiet.ended = state.PeerCertificates, true
				return errCertificateSeen
			},
		})
		_ = secured.HandshakeContext(ctx) // ends with errCertificateSeen, or without a certificate
		_ = conn.Close()
		if presented != nil {
			break
		}
	}
	return presented
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

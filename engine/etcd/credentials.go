package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/etcd/certificate"
	"holdfast/engine/etcdfacts"
)

// credentials are the client credentials for a cluster, with the CAs of its
// members.
type credentials struct {
	pair        tls.Certificate
	client      etcdfacts.Certificate
	authorities certificate.Authorities
}

// readCredentials reads client credentials from the first peer that has all three files and a valid certificate.
// Without such a peer, it returns the first credentials that it has read. The credentials on any member's host are
// good, because all are from the CA of the cluster.
func readCredentials(ctx context.Context, cfg Config, paths engine.TLS) (*credentials, error) {
	if len(cfg.Peers) == 0 {
		return nil, errors.New("the cluster has no hosts")
	}
	if cfg.NewestCredentials {
		return readNewest(ctx, cfg, paths)
	}
	var causes []error
	var first *credentials
	for _, p := range cfg.Peers {
		found, err := credentialsOf(ctx, p, paths, cfg)
		switch {
		case err != nil:
			causes = append(causes, fmt.Errorf("%s: %w", p.Host, err))
		case !found.client.ProblemKind(time.Now()).Fails():
			return found, nil
		case first == nil:
			first = found
		}
		if ctx.Err() != nil {
			break
		}
	}
	if first != nil {
		return first, nil
	}
	return nil, joinDistinct(causes...)
}

// readNewest reads the client credentials of all peers, and returns the newest valid ones. Without valid credentials, it
// returns the newest. If all hosts answer and lack them, the error advises to make the cluster. All members trust their
// CA, because a new CA issues certificates only after all members trust it.
func readNewest(ctx context.Context, cfg Config, paths engine.TLS) (*credentials, error) {
	list, causes := make([]*credentials, len(cfg.Peers)), make([]error, len(cfg.Peers))
	var wg conc.WaitGroup
	for i, p := range cfg.Peers {
		wg.Go(func() {
			var err error
			if list[i], err = credentialsOf(ctx, p, paths, cfg); err != nil {
				causes[i] = fmt.Errorf("%s: %w", p.Host, err)
			}
		})
	}
	wg.Wait()
	var best *credentials
	fails := func(c *credentials) bool { return c.client.ProblemKind(time.Now()).Fails() }
	for _, c := range list {
		switch {
		case c == nil:
		case best == nil, fails(best) && !fails(c), fails(best) == fails(c) && c.client.NotBefore.After(best.client.NotBefore):
			best = c
		}
	}
	if best != nil {
		return best, nil
	}
	err := joinDistinct(causes...)
	if !slices.ContainsFunc(causes, func(cause error) bool { return !errors.Is(cause, fs.ErrNotExist) }) {
		err = fmt.Errorf("no host has those that holdfast issues (%s); %s", oneLine(err), adviseFirst(cfg.Name))
	}
	return nil, err
}

// credentialsOf returns errors that name paths and never contain contents, because one of the files is the key.
func credentialsOf(ctx context.Context, p Peer, paths engine.TLS, cfg Config) (*credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.gatherTimeout())
	defer cancel()
	files, err := p.ReadFiles(ctx, paths.CA, paths.Cert, paths.Key)
	if err != nil {
		return nil, err
	}
	ca, cert, key := files[0], files[1], files[2]
	authorities := certificate.ParsePEM(ca)
	if len(authorities) == 0 {
		return nil, fmt.Errorf("read %s: no PEM certificate in it", paths.CA)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("pair %s with %s: %w", paths.Cert, paths.Key, err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", paths.Cert, err)
	}
	return &credentials{
		pair:        pair,
		client:      certificate.Describe(leaf, etcdfacts.ClientCertificate, p.Host, paths.Cert),
		authorities: certificate.Authorities{Host: p.Host, Path: paths.CA, List: authorities, Managed: cfg.issuedCluster()},
	}, nil
}

// issuedCluster returns the name of the cluster if holdfast issues its certificates.
func (cfg Config) issuedCluster() certificate.Managed {
	if cfg.NewestCredentials {
		return certificate.Managed(cfg.Name)
	}
	return ""
}

// tlsFor returns the TLS configuration for one peer. note gets the certificates that the peer presents.
//
// The server's certificate must come from the cluster's CA and be valid for a name of the peer: its address, its host
// name or a loopback name. One fixed name is not enough, because certificates differ in their names. Several names are
// no weaker here: the tunnel runs over an SSH connection that was authenticated to exactly this host, so the name only
// guards against an inventory that mixes up addresses. crypto/tls checks only one name, so certificate.Verify does the
// check.
func (c *credentials) tlsFor(p Peer, note func([]*x509.Certificate), protocol string) *tls.Config {
	names := []string{"127.0.0.1", "::1", "localhost", p.Address, p.Host}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		Certificates:       []tls.Certificate{c.pair},
		NextProtos:         []string{protocol},
		InsecureSkipVerify: true, // VerifyConnection verifies instead, see above
		VerifyConnection: func(state tls.ConnectionState) error {
			note(state.PeerCertificates)
			return certificate.Verify(state.PeerCertificates, p.Host, c.authorities, names)
		},
	}
}

// explainEnd returns the reason why the member on a host has ended a connection, if the client certificate is the
// reason, else err.
func (c *credentials) explainEnd(host string, err, ended error) error {
	if why := certificate.Refused(c.client, host, c.authorities.Managed, ended); why != nil {
		return why
	}
	return err
}

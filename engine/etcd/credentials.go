package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/engine"
)

// readCredentials reads client credentials from the first peer that has all three files. Those of any member are good:
// they belong to the cluster's CA.
func readCredentials(ctx context.Context, cfg Config, paths engine.TLS) (*tls.Config, error) {
	if len(cfg.Peers) == 0 {
		return nil, errors.New("the cluster has no hosts")
	}
	var causes []error
	for _, p := range cfg.Peers {
		credentials, err := credentialsOf(ctx, p, paths, cfg.gatherTimeout())
		if err == nil {
			return credentials, nil
		}
		causes = append(causes, fmt.Errorf("%s: %w", p.Host, err))
		if ctx.Err() != nil {
			break
		}
	}
	return nil, joinDistinct(causes...)
}

// credentialsOf reads the credentials of one host. Its errors name paths, never contents: one of the files is the key.
func credentialsOf(ctx context.Context, p Peer, paths engine.TLS, timeout time.Duration) (*tls.Config, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	files := map[string][]byte{}
	for _, path := range []string{paths.CA, paths.Cert, paths.Key} {
		data, err := p.ReadFile(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		files[path] = data
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(files[paths.CA]) {
		return nil, fmt.Errorf("read %s: no PEM certificate in it", paths.CA)
	}
	pair, err := tls.X509KeyPair(files[paths.Cert], files[paths.Key])
	if err != nil {
		return nil, fmt.Errorf("pair %s with %s: %w", paths.Cert, paths.Key, err)
	}
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// tlsFor returns the TLS configuration for one peer.
//
// The server's certificate must come from the cluster's CA and be valid for a name of the peer: its address, its host
// name or a loopback name. One fixed name would not do, since certificates differ in the names they carry. Several are
// no weaker here: the tunnel runs over an SSH connection that was authenticated to exactly this host, so the name only
// guards against an inventory that mixes up addresses. crypto/tls checks one name only, so verifyServer does it
// instead.
func tlsFor(base *tls.Config, p Peer, protocols ...string) *tls.Config {
	cfg := base.Clone()
	names := []string{"127.0.0.1", "::1", "localhost", p.Address, p.Host}
	roots := cfg.RootCAs
	cfg.InsecureSkipVerify = true // verified by VerifyConnection, see above
	cfg.VerifyConnection = func(state tls.ConnectionState) error {
		return verifyServer(state, roots, names)
	}
	cfg.NextProtos = protocols
	return cfg
}

// verifyServer checks that the server's certificate is currently valid, for a server, from one of the roots, and for
// one of the names.
func verifyServer(state tls.ConnectionState, roots *x509.CertPool, names []string) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the server showed no certificate")
	}
	leaf := state.PeerCertificates[0]
	between := x509.NewCertPool()
	for _, cert := range state.PeerCertificates[1:] {
		between.AddCert(cert)
	}
	options := x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: time.Now()}
	if _, err := leaf.Verify(options); err != nil {
		return err
	}
	for _, name := range names {
		if name != "" && leaf.VerifyHostname(name) == nil {
			return nil
		}
	}
	return fmt.Errorf("the certificate is for %s, not for any of %s: check the host's address",
		strings.Join(certificateNames(leaf), ", "), strings.Join(names, ", "))
}

func certificateNames(cert *x509.Certificate) []string {
	list := append([]string(nil), cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		list = append(list, ip.String())
	}
	if len(list) == 0 {
		return []string{"no name"}
	}
	return list
}

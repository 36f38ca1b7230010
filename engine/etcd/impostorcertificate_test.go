package etcd_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/etcd"
	"holdfast/engine/etcd/etcdtest"
	"holdfast/engine/etcdfacts"
)

// startTLSImpostor presents a certificate that expired yesterday, with an issuer of this name, to everybody who connects. It returns its
// address.
func startTLSImpostor(t *testing.T, issuer string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "impostor"}, NotBefore: time.Now().Add(-90 * day), NotAfter: time.Now().Add(-day)}
	parent := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: issuer}}
	der, err := x509.CreateCertificate(rand.Reader, leaf, parent, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(io.Discard, conn) // the handshake, and all else
				_ = conn.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// redirectTarget makes the connections from a host to one address go to another; "": they are refused.
func redirectTarget(host, target, address string) func(*etcd.Config) {
	return func(c *etcd.Config) {
		p := &c.Peers[slices.IndexFunc(c.Peers, func(p etcd.Peer) bool { return p.Host == host })]
		dial := p.Dial
		p.Dial = func(ctx context.Context, network, to string) (net.Conn, error) {
			switch {
			case to != target:
				return dial(ctx, network, to)
			case address == "":
				return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		}
	}
}

// answerScripts lets root see these sockets on every host.
func answerScripts(sockets string) func(*etcd.Config) {
	return func(c *etcd.Config) {
		for i := range c.Peers {
			c.Peers[i].RunScript = func(context.Context, string) (string, error) { return sockets, nil }
		}
	}
}

const (
	rootListens    = "read\nlistener 0 0100007F - -\n"
	accountListens = "read\nlistener 1000 0100007F - /user.slice/user-1000.slice/session-3.scope\n"
)

// TestForgedPeerCertificate: where etcd does not listen on the loopback of its host, any account can. It cannot make the certificates
// between members look expired there.
func TestForgedPeerCertificate(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 3, etcdtest.Options{TLS: true, PeerTLS: true, AddressOnly: true})
	forged := redirectTarget("etcd-2", "127.0.0.1:2380", startTLSImpostor(t, "foreign CA"))
	facts := gatherHealthy(t, openCluster(t, newConfig(cluster, answerScripts(accountListens), forged)), 3)
	if kinds := problemsOf(facts); kinds["peer etcd-2"] != "" {
		t.Errorf("problems %v", kinds)
	}
	if err := facts.MayLose("etcd-0", nil, false); err != nil {
		t.Error(err)
	}
}

// TestHiddenPeerCertificate: nor can an account hide that the certificate of the member has expired.
func TestHiddenPeerCertificate(t *testing.T) {
	t.Parallel()
	yesterday := etcdtest.Dates{From: -90 * day, To: -day}
	cluster := etcdtest.Start(t, 1, etcdtest.Options{TLS: true, PeerTLS: true, AddressOnly: true, Dates: allDates(map[string]etcdtest.Dates{"peer": yesterday})})
	for name, address := range map[string]string{"self-signed": startTLSImpostor(t, "impostor"), "silent": startSilentServer(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := newConfig(cluster, answerScripts(accountListens), redirectTarget("etcd-0", "127.0.0.1:2380", address))
			if kinds := problemsOf(openCluster(t, cfg).Gather(t.Context())); kinds["peer etcd-0"] != etcdfacts.CertificateExpired {
				t.Errorf("problems %v", kinds)
			}
		})
	}
}

// TestPeerPortElsewhere: the loopback of a host is asked only if nothing listens at the address that the member advertises, and its
// answer counts only if no account listens there.
func TestPeerPortElsewhere(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{TLS: true, PeerTLS: true})
	advertised, silent, forged := cluster.Members[0].Address+":2380", startSilentServer(t), startTLSImpostor(t, "foreign CA")
	for name, c := range map[string]struct {
		advertised, sockets string
		want                etcdfacts.CertificateProblemKind
	}{
		"of root":       {"", rootListens, etcdfacts.CertificateExpired},
		"forwarded":     {"", "read\n", etcdfacts.CertificateExpired},
		"of an account": {"", accountListens, ""},
		"silent":        {silent, rootListens, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := newConfig(cluster, answerScripts(c.sockets), redirectTarget("etcd-0", advertised, c.advertised), redirectTarget("etcd-0", "127.0.0.1:2380", forged))
			if c.advertised == silent {
				cfg.Timeout = 5 * time.Second
			}
			if kinds := problemsOf(openCluster(t, cfg).Gather(t.Context())); kinds["peer etcd-0"] != c.want {
				t.Errorf("problems %v, want %q", kinds, c.want)
			}
		})
	}
}

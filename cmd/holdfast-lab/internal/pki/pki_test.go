package pki

import (
	"crypto/tls"
	"errors"
	"net"
	"testing"

	"github.com/sourcegraph/conc"
)

func TestMutualTLS(t *testing.T) {
	ca, err := NewAuthority("main")
	if err != nil {
		t.Fatal(err)
	}
	server, err := ca.Issue("etcd-0", "10.77.0.11", "127.0.0.1", "localhost")
	if err != nil {
		t.Fatal(err)
	}
	client, err := ca.Issue("probe")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"etcd-0", "10.77.0.11", "127.0.0.1", "localhost"} {
		if err := tryHandshake(t, ca, server, client, name); err != nil {
			t.Errorf("as %s: %v", name, err)
		}
	}
	if err := tryHandshake(t, ca, server, client, "10.77.0.12"); err == nil {
		t.Error("a member is accepted under another member's address")
	}
	other, err := NewAuthority("other")
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := other.Issue("probe")
	if err != nil {
		t.Fatal(err)
	}
	if err := tryHandshake(t, ca, server, stranger, "etcd-0"); err == nil {
		t.Error("a client of another cluster is accepted")
	}
}

func tryHandshake(t *testing.T, ca, server, client Pair, name string) error {
	t.Helper()
	serverConfig, err := Client(Identity{CA: ca.Cert, Pair: server})
	if err != nil {
		t.Fatal(err)
	}
	serverConfig.ClientCAs, serverConfig.ClientAuth = serverConfig.RootCAs, tls.RequireAndVerifyClientCert
	clientConfig, err := Client(Identity{CA: ca.Cert, Pair: client})
	if err != nil {
		t.Fatal(err)
	}
	clientConfig.ServerName = name
	a, b := net.Pipe()
	var serverErr, clientErr error
	var wg conc.WaitGroup
	wg.Go(func() {
		serverErr = tls.Server(a, serverConfig).Handshake()
		_ = a.Close()
	})
	conn := tls.Client(b, clientConfig)
	if clientErr = conn.Handshake(); clientErr == nil {
		_, clientErr = conn.Read(make([]byte, 1)) // a refused certificate causes an error only here
		if serverErr == nil && clientErr != nil {
			clientErr = nil
		}
	}
	_ = b.Close()
	wg.Wait()
	return errors.Join(serverErr, clientErr)
}

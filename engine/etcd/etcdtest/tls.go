package etcdtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast/engine"
)

// authority is a certificate authority for one test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
	pool *x509.CertPool
}

// NewCA returns the PEM certificate of a certificate authority that no member knows.
func NewCA(t testing.TB) []byte {
	t.Helper()
	return newAuthority(t, Dates{}).pem
}

// period begins one hour ago and ends in one hour, unless the dates are set.
func (d Dates) period() (from, to time.Time) {
	if d == (Dates{}) {
		d = Dates{From: -time.Hour, To: time.Hour}
	}
	return time.Now().Add(d.From), time.Now().Add(d.To)
}

func newAuthority(t testing.TB, dates Dates) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	from, to := dates.period()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "etcdtest CA"},
		NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{cert: cert, key: key, pem: pemBlock("CERTIFICATE", der), pool: x509.NewCertPool()}
	a.pool.AddCert(cert)
	return a
}

func (a *authority) issueCertificate(t testing.TB, dates Dates, user string, names ...string) (cert, key []byte) {
	t.Helper()
	from, to := dates.period()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: user},
		NotBefore: from, NotAfter: to, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pemBlock("CERTIFICATE", der), pemBlock("PRIVATE KEY", keyDER)
}

// Issue returns a PEM certificate and key from the cluster's CA, valid for clients and for servers with these names.
func (c *Cluster) Issue(t testing.TB, user string, names ...string) (cert, key []byte) {
	t.Helper()
	return c.ca.issueCertificate(t, Dates{}, user, names...)
}

func pemBlock(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func (c *Cluster) makeCredentials(t testing.TB) {
	t.Helper()
	c.ca = newAuthority(t, c.options.Dates["ca"])
	c.TLS = &engine.TLS{CA: "/etc/etcd/ca.crt", Cert: "/etc/etcd/client.crt", Key: "/etc/etcd/client.key"}
	cert, key := c.ca.issueCertificate(t, c.options.Dates["client"], c.options.User)
	c.files = map[string][]byte{c.TLS.CA: c.ca.pem, c.TLS.Cert: cert, c.TLS.Key: key}
}

func (c *Cluster) memberFiles(t testing.TB, m *Member, role string) (cert, key, ca string) {
	t.Helper()
	names := []string{"127.0.0.1", "localhost", m.Address}
	if c.options.ServerNames != nil {
		names = c.options.ServerNames(m)
	}
	certPEM, keyPEM := c.ca.issueCertificate(t, c.options.Dates[role], m.Name, names...)
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("server.crt", certPEM), write("server.key", keyPEM), write("ca.crt", c.ca.pem)
}

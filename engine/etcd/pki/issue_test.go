package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

// newCA returns a CA that is valid for so long from noon on.
func newCA(t *testing.T, name string, left time.Duration) (a Authority, cert, key []byte) {
	t.Helper()
	private := newKey(t, elliptic.P256())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: noon.Add(-365 * day), NotAfter: noon.Add(left),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	a, err = ParseAuthority(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return a, cert, key
}

func newKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// newRequest returns the request of the host for names.
func newRequest(t *testing.T, key crypto.Signer, names ...string) []byte {
	t.Helper()
	subject := "etcd-0"
	if len(names) == 0 {
		subject = "root"
	}
	return newRequestFor(t, key, x509.CertificateRequest{Subject: pkix.Name{CommonName: subject}}, names...)
}

func newRequestFor(t *testing.T, key crypto.Signer, template x509.CertificateRequest, names ...string) []byte {
	t.Helper()
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	purposes := []int{1, 2}
	if len(names) == 0 {
		purposes = []int{2}
	}
	template.ExtraExtensions = append(template.ExtraExtensions, usageExtension(t, purposes...))
	der, err := x509.CreateCertificateRequest(rand.Reader, &template, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

var (
	host = Subject{engine.Host{Name: "etcd-0", Address: "10.0.0.1"}, []string{"etcd.example.com", "*.example.com", "2001:db8::1", "etcd-0"}}
	peer = NewProfile(host, etcdfacts.PeerCertificate)
	year = Validity{Now: noon, Lifetime: 365 * day}
)

// TestIssue: certificates of each role are accepted by CheckIssued, name the host, and end with the CA at the latest.
func TestIssue(t *testing.T) {
	ca, _, _ := newCA(t, "etcd-ca", 100*day)
	for role, names := range map[etcdfacts.CertificateRole]string{
		etcdfacts.ServerCertificate: "etcd-0,localhost,etcd.example.com,*.example.com,10.0.0.1,127.0.0.1,::1,2001:db8::1",
		etcdfacts.PeerCertificate:   "etcd-0,10.0.0.1",
		etcdfacts.ClientCertificate: "",
	} {
		p := NewProfile(host, role)
		for _, key := range []crypto.Signer{newKey(t, elliptic.P256()), newKey(t, elliptic.P384()), newEd25519(t), newRSA(t, 2048)} {
			request, err := ParseRequest(newRequest(t, key, p.Names...), p)
			if err != nil {
				t.Fatal(err)
			}
			for lifetime, end := range map[time.Duration]time.Time{10 * day: noon.Add(10 * day), 365 * day: ca.Cert.NotAfter} {
				text, err := ca.Issue(rand.Reader, request, p, Validity{Now: noon, Lifetime: lifetime})
				if err != nil {
					t.Fatal(err)
				}
				if err := CheckIssued(text, request, p, Trust{CAs: []*x509.Certificate{ca.Cert}, Now: noon}); err != nil {
					t.Error(err)
				}
				block, _ := pem.Decode(text)
				cert, err := x509.ParseCertificate(block.Bytes)
				if err != nil {
					t.Fatal(err)
				}
				all := cert.DNSNames
				for _, ip := range cert.IPAddresses {
					all = append(all, ip.String())
				}
				if strings.Join(all, ",") != names || !cert.NotAfter.Equal(end) || cert.NotBefore.After(noon) || cert.SerialNumber.BitLen() < 120 {
					t.Errorf("%s: %v, %s to %s, serial number %s", role, all, cert.NotBefore, cert.NotAfter, cert.SerialNumber)
				}
				if want := map[bool]string{true: "root", false: "etcd-0"}[role == etcdfacts.ClientCertificate]; cert.Subject.CommonName != want {
					t.Errorf("%s: issued to %s", role, cert.Subject.CommonName)
				}
			}
		}
	}
}

func newEd25519(t *testing.T) crypto.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newRSA(t *testing.T, bits int) crypto.Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestRefusedRequests: a host gets no certificate for the name of another, for a weak key, or without the key.
func TestRefusedRequests(t *testing.T) {
	key := newKey(t, elliptic.P256())
	good := newRequest(t, key, peer.Names...)
	block, _ := pem.Decode(good)
	block.Bytes[len(block.Bytes)-5] ^= 1
	forged := pem.EncodeToMemory(block)
	for name, text := range map[string][]byte{
		"another host":     newRequest(t, key, "10.0.0.2", "etcd-1"),
		"one name more":    newRequest(t, key, append([]string{"evil.example"}, peer.Names...)...),
		"one name less":    newRequest(t, key, "etcd-0"),
		"no name":          newRequest(t, key),
		"weak curve":       newRequest(t, newKey(t, elliptic.P224()), peer.Names...),
		"forged":           forged,
		"another subject":  newRequestFor(t, key, x509.CertificateRequest{Subject: pkix.Name{CommonName: "root"}}, peer.Names...),
		"a longer subject": newRequestFor(t, key, x509.CertificateRequest{Subject: pkix.Name{CommonName: "etcd-0", Organization: []string{"system:masters"}}}, peer.Names...),
		"to be a CA": newRequestFor(t, key, x509.CertificateRequest{
			Subject: pkix.Name{CommonName: "etcd-0"}, ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: []byte{0x30, 3, 1, 1, 0xff}}},
		}, peer.Names...),
		"a certificate":   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block.Bytes}),
		"nothing":         nil,
		"words of a host": []byte("sh: openssl: not found\n"),
	} {
		if _, err := ParseRequest(text, peer); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := ParseRequest(good, peer); err != nil {
		t.Error(err)
	}
}

// TestRefusedCertificates: what a command has signed goes to no host if it is not what was asked for.
func TestRefusedCertificates(t *testing.T) {
	ca, _, _ := newCA(t, "etcd-ca", 100*day)
	other, _, _ := newCA(t, "etcd-ca", 100*day)
	key := newKey(t, elliptic.P256())
	request, err := ParseRequest(newRequest(t, key, peer.Names...), peer)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := ParseRequest(newRequest(t, newKey(t, elliptic.P256()), peer.Names...), peer)
	if err != nil {
		t.Fatal(err)
	}
	issue := func(a Authority, r *x509.CertificateRequest, p Profile, v Validity) []byte {
		text, err := a.Issue(rand.Reader, r, p, v)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	more, anonymous, client := peer, peer, peer
	more.Names = append([]string{"evil.example"}, peer.Names...)
	anonymous.CommonName = "somebody"
	client.Role = etcdfacts.ClientCertificate
	trust := Trust{CAs: []*x509.Certificate{ca.Cert}, Now: noon}
	for name, x := range map[string]struct {
		text  []byte
		trust Trust
	}{
		"of another CA":     {issue(other, request, peer, year), trust},
		"for another key":   {issue(ca, foreign, peer, year), trust},
		"for more names":    {issue(ca, request, more, year), trust},
		"for somebody else": {issue(ca, request, anonymous, year), trust},
		"for clients only":  {issue(ca, request, client, year), trust},
		"over":              {issue(ca, request, peer, Validity{Now: noon.Add(-9 * day), Lifetime: day}), trust},
		"not yet valid":     {issue(ca, request, peer, Validity{Now: noon.Add(day), Lifetime: day}), trust},
		"the CA itself":     {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Cert.Raw}), trust},
		"ends too soon":     {issue(ca, request, peer, Validity{Now: noon, Lifetime: time.Minute}), trust},
		"nothing":           {nil, trust},
		"no CA is trusted":  {issue(ca, request, peer, year), Trust{Now: noon}},
	} {
		if err := CheckIssued(x.text, request, peer, x.trust); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := CheckIssued(issue(ca, request, peer, year), request, peer, Trust{CAs: []*x509.Certificate{other.Cert, ca.Cert}, Now: noon}); err != nil {
		t.Error(err)
	}
}

// TestAuthority: a CA whose key is another, that may not sign, or that is over, issues nothing, and no error shows a key.
func TestAuthority(t *testing.T) {
	_, cert, key := newCA(t, "a", 100*day)
	_, otherCert, otherKey := newCA(t, "b", 100*day)
	leafKey := newKey(t, elliptic.P256())
	for name, pair := range map[string][2][]byte{
		"another key": {cert, otherKey}, "another certificate": {otherCert, key}, "no key": {cert, cert}, "no certificate": {key, key},
		"a broken key": {cert, []byte("-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n")},
	} {
		_, err := ParseAuthority(pair[0], pair[1])
		if err == nil || strings.Contains(err.Error(), "c2VjcmV0") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	over, _, _ := newCA(t, "over", -day)
	request, err := ParseRequest(newRequest(t, leafKey, peer.Names...), peer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := over.Issue(rand.Reader, request, peer, year); err == nil || !strings.Contains(err.Error(), "the CA over is valid from 2025-11-23 to 2026-11-22 only") {
		t.Error(err)
	}
	good, _, _ := newCA(t, "c", day)
	if _, err := good.Issue(iotestErr{}, request, peer, year); err == nil {
		t.Error("issued without randomness")
	}
}

// iotestErr has no randomness.
type iotestErr struct{}

func (iotestErr) Read([]byte) (int, error) { return 0, errors.New("no randomness") }

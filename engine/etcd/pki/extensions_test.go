package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
)

// encode returns the DER of a value.
func encodeASN1(t *testing.T, value any) []byte {
	t.Helper()
	der, err := asn1.Marshal(value)
	check(t, err)
	return der
}

// usageExtension returns an extKeyUsage with the last number of each purpose: 1 is for servers, 2 for clients, 3 for code,
// 9 for answers of OCSP, 0 for anything.
func usageExtension(t *testing.T, purposes ...int) pkix.Extension {
	t.Helper()
	var list []asn1.ObjectIdentifier
	for _, last := range purposes {
		id := asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, last}
		if last == 0 {
			id = asn1.ObjectIdentifier{2, 5, 29, 37, 0}
		}
		list = append(list, id)
	}
	return pkix.Extension{Id: oidUsages, Value: encodeASN1(t, list)}
}

// peerNames are the names of the profile peer, as in subjectAltName.
func peerNames(more ...asn1.RawValue) []asn1.RawValue {
	return append([]asn1.RawValue{
		{Class: asn1.ClassContextSpecific, Tag: 7, Bytes: []byte{10, 0, 0, 1}},
		{Class: asn1.ClassContextSpecific, Tag: 2, Bytes: []byte("etcd-0")},
	}, more...)
}

func nameExtension(t *testing.T, names []asn1.RawValue) pkix.Extension {
	t.Helper()
	return pkix.Extension{Id: oidNames, Value: encodeASN1(t, names)}
}

// otherKinds are names that Go's parser ignores.
func otherKinds(t *testing.T) map[string]asn1.RawValue {
	directory := encodeASN1(t, pkix.Name{CommonName: "admin"}.ToRDNSequence())
	return map[string]asn1.RawValue{
		"otherName":                   {Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: append(encodeASN1(t, asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 311, 20, 2, 3}), 0xa0, 4, 0x0c, 2, 'a', '@')},
		"directoryName":               {Class: asn1.ClassContextSpecific, Tag: 4, IsCompound: true, Bytes: directory},
		"registeredID":                {Class: asn1.ClassContextSpecific, Tag: 8, Bytes: []byte{0x2a, 3}},
		"an address of another class": {Class: asn1.ClassApplication, Tag: 7, Bytes: []byte{10, 0, 0, 1}},
	}
}

// request is a certificate request whose attributes are made by hand.
type request struct {
	Version    int
	Subject    asn1.RawValue
	PublicKey  asn1.RawValue
	Attributes []asn1.RawValue `asn1:"tag:0,set"`
}

type attribute struct {
	ID     asn1.ObjectIdentifier
	Values []any `asn1:"set"`
}

// signRequest returns a request for etcd-0 with attributes, in PEM.
func signRequest(t *testing.T, key *ecdsa.PrivateKey, attributes ...any) []byte {
	t.Helper()
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	check(t, err)
	r := request{Subject: asn1.RawValue{FullBytes: encodeASN1(t, pkix.Name{CommonName: "etcd-0"}.ToRDNSequence())}, PublicKey: asn1.RawValue{FullBytes: public}}
	for _, a := range attributes {
		r.Attributes = append(r.Attributes, asn1.RawValue{FullBytes: encodeASN1(t, a)})
	}
	body := encodeASN1(t, r)
	sum := sha256.Sum256(body)
	signature, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	check(t, err)
	der := encodeASN1(t, struct {
		Body      asn1.RawValue
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}{asn1.RawValue{FullBytes: body}, pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}}, asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}})
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// TestRequestAsksForNothingElse: a host cannot ask for uses, for kinds of names or in attributes that holdfast does not look at,
// but a command that signs may.
func TestRequestAsksForNothingElse(t *testing.T) {
	key := newKey(t, elliptic.P256())
	names, usages := nameExtension(t, peerNames()), usageExtension(t, 1, 2)
	extensions := asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 14}
	ask := func(list ...pkix.Extension) []byte {
		return signRequest(t, key, attribute{extensions, []any{list}})
	}
	bad := map[string][]byte{
		"to sign code":           ask(names, usageExtension(t, 1, 2, 3)),
		"to answer OCSP":         ask(names, usageExtension(t, 1, 2, 9)),
		"for anything":           ask(names, usageExtension(t, 1, 2, 0)),
		"for servers only":       ask(names, usageExtension(t, 1)),
		"the same use twice":     ask(names, usageExtension(t, 1, 2, 2)),
		"no use":                 ask(names),
		"no uses, but an end":    ask(names, pkix.Extension{Id: oidUsages, Value: append(bytes.Clone(usages.Value), 5, 0)}),
		"names with an end":      ask(pkix.Extension{Id: oidNames, Value: append(bytes.Clone(names.Value), 5, 0)}, usages),
		"uses twice":             ask(names, usages, usageExtension(t, 3)),
		"names twice":            ask(names, usages, nameExtension(t, peerNames(otherKinds(t)["otherName"]))),
		"a password":             signRequest(t, key, attribute{extensions, []any{[]pkix.Extension{names, usages}}}, attribute{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 7}, []any{"secret"}}),
		"other extensions, too":  signRequest(t, key, attribute{extensions, []any{[]pkix.Extension{names, usages}, []pkix.Extension{usageExtension(t, 3)}}}),
		"extensions of Windows":  signRequest(t, key, attribute{extensions, []any{[]pkix.Extension{names, usages}}}, attribute{asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 311, 2, 1, 14}, []any{[]pkix.Extension{usageExtension(t, 3)}}}),
		"extensions twice":       signRequest(t, key, attribute{extensions, []any{[]pkix.Extension{names, usages}}}, attribute{extensions, []any{[]pkix.Extension{usageExtension(t, 3)}}}),
		"attributes of no shape": signRequest(t, key, attribute{extensions, []any{[]pkix.Extension{names, usages}}}, extensions),
	}
	for kind, name := range otherKinds(t) {
		bad[kind] = ask(nameExtension(t, peerNames(name)), usages)
	}
	for name, text := range bad {
		if _, err := ParseRequest(text, peer); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for name, text := range map[string][]byte{"names first": ask(names, usages), "uses first": ask(usageExtension(t, 2, 1), names)} {
		if _, err := ParseRequest(text, peer); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestIssuedCertificateMayNothingElse tests that a certificate with other uses or names, or with the power of a CA, is refused.
// A command that signs may return one.
func TestIssuedCertificateMayNothingElse(t *testing.T) {
	ca, _, _ := newCA(t, "etcd-ca", 100*day)
	key := newKey(t, elliptic.P256())
	request, err := ParseRequest(newRequest(t, key, peer.Names...), peer)
	check(t, err)
	issue := func(change func(*x509.Certificate)) error {
		cert := &x509.Certificate{
			SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: peer.CommonName}, NotBefore: noon.Add(-day), NotAfter: noon.Add(90 * day),
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: peer.usages(), DNSNames: peer.dnsNames(), IPAddresses: peer.addresses(),
		}
		change(cert)
		der, err := x509.CreateCertificate(rand.Reader, cert, ca.Cert, key.Public(), ca.Key)
		check(t, err)
		return CheckIssued(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), request, peer, Trust{CAs: []*x509.Certificate{ca.Cert}, Now: noon})
	}
	add := func(extension pkix.Extension) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.ExtraExtensions = append(c.ExtraExtensions, extension) }
	}
	bad := map[string]func(*x509.Certificate){
		"to sign code":      func(c *x509.Certificate) { c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageCodeSigning) },
		"to answer OCSP":    func(c *x509.Certificate) { c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageOCSPSigning) },
		"for anything":      func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageAny} },
		"for anything, too": func(c *x509.Certificate) { c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageAny) },
		"for an unknown use": func(c *x509.Certificate) {
			c.UnknownExtKeyUsage = []asn1.ObjectIdentifier{{1, 3, 6, 1, 4, 1, 311, 20, 2, 2}}
		},
		"without uses":         func(c *x509.Certificate) { c.ExtKeyUsage = nil },
		"for a mail address":   func(c *x509.Certificate) { c.EmailAddresses = []string{"a@example"} },
		"to sign certificates": func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageCertSign },
		"to sign revocations":  func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageCRLSign },
		"as a proxy":           add(pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 14}, Value: []byte{0x30, 0}}),
		"with two common names": func(c *x509.Certificate) {
			c.Subject.ExtraNames = []pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "root"}, {Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "etcd-0"}}
		},
		"with a critical unknown": add(pkix.Extension{Id: asn1.ObjectIdentifier{1, 2, 3}, Critical: true, Value: []byte{5, 0}}),
	}
	for kind, name := range otherKinds(t) {
		bad[kind] = add(nameExtension(t, peerNames(name)))
	}
	for name, change := range bad {
		if err := issue(change); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for name, change := range map[string]func(*x509.Certificate){
		"the profile":     func(*x509.Certificate) {},
		"an organization": func(c *x509.Certificate) { c.Subject.Organization = []string{"etcd"} },
		"like Vault": func(c *x509.Certificate) {
			c.KeyUsage |= x509.KeyUsageKeyEncipherment | x509.KeyUsageKeyAgreement
			c.CRLDistributionPoints, c.IssuingCertificateURL = []string{"http://ca/crl"}, []string{"http://ca/pem"}
		},
		"names of a command": add(nameExtension(t, peerNames())),
		"a note":             add(pkix.Extension{Id: asn1.ObjectIdentifier{2, 16, 840, 1, 113730, 1, 13}, Value: []byte{0x16, 1, 'x'}}),
	} {
		if err := issue(change); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	err = issue(bad["to sign code"])
	if err == nil || !strings.Contains(err.Error(), "uses") {
		t.Error(err)
	}
}

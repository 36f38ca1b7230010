package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"time"

	"holdfast/engine/etcd/certificate"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/textutil"
)

// Authority is a CA with its key.
type Authority struct {
	Cert *x509.Certificate
	Key  crypto.Signer
}

// ParseAuthority reads a CA from the PEM of its certificate and its private key.
func ParseAuthority(cert, key []byte) (Authority, error) {
	certBlock, keyBlock := findBlock(cert, "CERTIFICATE"), findBlock(key, "PRIVATE KEY")
	if certBlock == nil || keyBlock == nil {
		return Authority{}, errors.New("a CA is a PEM certificate and a PEM private key without a passphrase")
	}
	parsed, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return Authority{}, fmt.Errorf("certificate of the CA: %w", err)
	}
	signer, err := parseKey(keyBlock)
	if err != nil {
		return Authority{}, errors.New("key of the CA: it is neither PKCS #8, nor PKCS #1, nor SEC 1") // err might show a part of it
	}
	if !parsed.IsCA || parsed.KeyUsage != 0 && parsed.KeyUsage&x509.KeyUsageCertSign == 0 {
		return Authority{}, errors.New("the certificate of the CA may not sign certificates")
	}
	if !isSameKey(parsed.PublicKey, signer.Public()) {
		return Authority{}, errors.New("the key of the CA does not belong to its certificate")
	}
	return Authority{Cert: parsed, Key: signer}, nil
}

func findBlock(text []byte, kind string) *pem.Block {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == kind || kind == "PRIVATE KEY" && strings.HasSuffix(block.Type, " PRIVATE KEY") && block.Type != "ENCRYPTED PRIVATE KEY" {
			return block
		}
	}
	return nil
}

func parseKey(block *pem.Block) (crypto.Signer, error) {
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	return x509.ParsePKCS1PrivateKey(block.Bytes)
}

func isSameKey(a, b crypto.PublicKey) bool {
	x, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && x.Equal(b)
}

// ParseRequest reads the certificate request that a host has made. It must be signed by its key, for the names and uses of
// the profile and no other. It may ask for nothing else, because a command that signs requests may copy all of it.
func ParseRequest(text []byte, want Profile) (*x509.CertificateRequest, error) {
	block := findBlock(text, "CERTIFICATE REQUEST")
	if block == nil {
		return nil, errors.New("the host printed no certificate request")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("certificate request: %w", err)
	}
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("certificate request: %w", err)
	}
	if err := checkKey(request.PublicKey); err != nil {
		return nil, err
	}
	if !want.hasNames(request.DNSNames, request.IPAddresses) || len(request.EmailAddresses)+len(request.URIs) > 0 {
		return nil, fmt.Errorf("the host asks for a certificate for other names than %s", strings.Join(want.Names, ", "))
	}
	if name := request.Subject; name.CommonName != want.CommonName || len(name.Names) != 1 {
		return nil, fmt.Errorf("the host asks for a certificate for %s, not for %s", textutil.Printable(name.String()), want.CommonName)
	}
	for _, extension := range request.Extensions {
		if !extension.Id.Equal(oidNames) && !extension.Id.Equal(oidUsages) {
			return nil, fmt.Errorf("the host asks for a certificate with the extension %s", extension.Id)
		}
	}
	if err := want.checkExtensions(request.Extensions); err != nil {
		return nil, fmt.Errorf("the host asks for a certificate %w", err)
	}
	return request, checkAttributes(request)
}

// minRSA is the smallest RSA key, in bits.
const minRSA = 2048

func checkKey(key crypto.PublicKey) error {
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		if key.Curve.Params().BitSize >= 256 {
			return nil
		}
	case *rsa.PublicKey:
		if key.N.BitLen() >= minRSA {
			return nil
		}
	case ed25519.PublicKey:
		return nil
	}
	return fmt.Errorf("the key of the host is too weak: use ECDSA P-256, Ed25519 or RSA with %d bits", minRSA)
}

// StartEarly is how long before now a certificate begins, because clocks differ.
const StartEarly = 5 * time.Minute

// Issue signs a certificate for the key of a request. It takes only the key from the request, and everything else from the
// profile. The certificate expires with the CA at the latest.
func (a Authority) Issue(random io.Reader, request *x509.CertificateRequest, p Profile, validity Validity) ([]byte, error) {
	if err := validity.check(a.Cert); err != nil {
		return nil, err
	}
	serial := make([]byte, 16)
	if _, err := io.ReadFull(random, serial); err != nil {
		return nil, fmt.Errorf("serial number: %w", err)
	}
	serial[0] = serial[0]&0x7f | 0x40 // positive, and of full length
	template := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial), Subject: pkix.Name{CommonName: p.CommonName},
		NotBefore: latestTime(validity.Now.Add(-StartEarly), a.Cert.NotBefore), NotAfter: earliestTime(validity.Now.Add(validity.Lifetime), a.Cert.NotAfter),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: p.usages(), BasicConstraintsValid: true,
		DNSNames: p.dnsNames(), IPAddresses: p.addresses(),
	}
	if _, rsaKey := request.PublicKey.(*rsa.PublicKey); rsaKey {
		template.KeyUsage |= x509.KeyUsageKeyEncipherment
	}
	der, err := x509.CreateCertificate(random, template, a.Cert, request.PublicKey, a.Key)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// Validity has the time and the lifetime of a new certificate.
type Validity struct {
	Now      time.Time
	Lifetime time.Duration
}

func (v Validity) check(ca *x509.Certificate) error {
	switch {
	case v.Lifetime <= 0:
		return errors.New("the lifetime of a certificate must be more than 0")
	case v.Now.Before(ca.NotBefore), !v.Now.Before(ca.NotAfter):
		return fmt.Errorf("the CA %s is valid from %s to %s only: replace it", ca.Subject.CommonName, ca.NotBefore.UTC().Format(time.DateOnly), ca.NotAfter.UTC().Format(time.DateOnly))
	}
	return nil
}

func latestTime(times ...time.Time) time.Time   { return slices.MaxFunc(times, time.Time.Compare) }
func earliestTime(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }

// maxIssued limits a certificate with its chain, in bytes of PEM. The probe of a host reads no more.
const maxIssued = 65536

// CheckIssued checks a certificate before it goes to a host, also if a command has signed it: it must have the key of the
// request, and the names and uses of the profile, and it must be valid now under one of the CAs.
func CheckIssued(text []byte, request *x509.CertificateRequest, p Profile, under Trust) error {
	if len(text) > maxIssued {
		return fmt.Errorf("the issued certificate has %d bytes with its chain, and may have %d", len(text), maxIssued)
	}
	block := findBlock(text, "CERTIFICATE")
	if block == nil {
		return errors.New("no PEM certificate was issued")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return fmt.Errorf("issued certificate: %w", err)
	}
	described := certificate.Describe(cert, p.Role, p.CommonName, "")
	switch {
	case described.ProblemKind(under.Now) == etcdfacts.CertificateExpiring:
		return fmt.Errorf("the issued certificate is to be renewed already: it is valid from %s to %s; let it be issued for longer", dateOf(cert.NotBefore), dateOf(cert.NotAfter))
	case !isSameKey(cert.PublicKey, request.PublicKey):
		return errors.New("the issued certificate is for another key")
	case !p.isNamed(cert.Subject):
		return fmt.Errorf("the issued certificate is for %q, not for %q", cert.Subject.CommonName, p.CommonName)
	case !p.hasNames(cert.DNSNames, cert.IPAddresses) || len(cert.EmailAddresses)+len(cert.URIs) > 0:
		return fmt.Errorf("the issued certificate is for other names than %s", strings.Join(p.Names, ", "))
	}
	if err := p.checkPowers(cert); err != nil {
		return err
	}
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	for _, ca := range under.CAs {
		roots.AddCert(ca)
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if ca, err := x509.ParseCertificate(block.Bytes); err == nil && !bytes.Equal(ca.Raw, cert.Raw) {
			between.AddCert(ca)
		}
	}
	for _, usage := range p.usages() { // Verify accepts any of several
		options := x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: under.Now, KeyUsages: []x509.ExtKeyUsage{usage}}
		if _, err := cert.Verify(options); err != nil {
			return fmt.Errorf("issued certificate: %w", err)
		}
	}
	return nil
}

// CertificatesOnly returns the certificates of a text in PEM, without anything else that a command may have printed.
func CertificatesOnly(text []byte) []byte {
	var out []byte
	for _, cert := range certificate.ParsePEM(text) {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})...)
	}
	return out
}

// Trust has the CAs that members trust, and the time for which validity is checked.
type Trust struct {
	CAs []*x509.Certificate
	Now time.Time
}

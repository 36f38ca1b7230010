package certificate

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"strings"

	"holdfast/engine/etcdfacts"
	"holdfast/engine/textutil"
)

// Describe returns the facts of a certificate. Its texts are safe on a terminal.
func Describe(cert *x509.Certificate, role etcdfacts.CertificateRole, host, path string) etcdfacts.Certificate {
	return etcdfacts.Certificate{
		Role: role, Host: host, Path: path,
		Subject: subjectOf(cert), Issuer: issuerOf(cert),
		NotBefore: cert.NotBefore.UTC(), NotAfter: cert.NotAfter.UTC(),
		SelfSigned: bytes.Equal(cert.RawSubject, cert.RawIssuer),
	}
}

// maxChain bounds how many certificates of a chain are described. Chains have up to four, but crypto/tls accepts hundreds.
const maxChain = 10

// DescribeChain returns the facts of a certificate that a member presents, and of the CAs that it presents with it.
func DescribeChain(chain []*x509.Certificate, role etcdfacts.CertificateRole, host string) []etcdfacts.Certificate {
	var list []etcdfacts.Certificate
	for i, cert := range chain[:min(len(chain), maxChain)] {
		if i > 0 {
			role = etcdfacts.CACertificate
		}
		list = append(list, Describe(cert, role, host, ""))
	}
	return list
}

// maxName bounds a name of a certificate, in bytes.
const maxName = 100

func subjectOf(cert *x509.Certificate) string {
	if cert.Subject.CommonName != "" {
		return safeName(cert.Subject.CommonName)
	}
	if names := namesOf(cert); len(names) > 0 {
		return safeName(names[0])
	}
	return safeName(cert.Subject.String())
}

func issuerOf(cert *x509.Certificate) string {
	if cert.Issuer.CommonName != "" {
		return safeName(cert.Issuer.CommonName)
	}
	return safeName(cert.Issuer.String())
}

func safeName(name string) string {
	if name == "" {
		return "no name"
	}
	if len(name) > maxName {
		name = name[:maxName] + "…"
	}
	return textutil.Printable(strings.Join(strings.Fields(name), " "))
}

func namesOf(cert *x509.Certificate) []string {
	names := append([]string(nil), cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// ParsePEM returns the certificates of a PEM file. It skips everything else, as crypto/x509
// does in files of CAs.
func ParsePEM(text []byte) []*x509.Certificate {
	var list []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			list = append(list, cert)
		}
	}
	return list
}

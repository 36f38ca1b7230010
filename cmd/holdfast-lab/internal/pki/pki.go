// Package pki makes the certificates of an etcd cluster: one authority for the
// cluster, one certificate for each member, and one for clients outside the
// cluster.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// lifetime is far longer than any lab exists.
const lifetime = 10 * 365 * 24 * time.Hour

// Pair is a certificate and its private key in PEM.
type Pair struct {
	Cert []byte `json:"cert"`
	Key  []byte `json:"key"`
}

// NewAuthority makes a certificate authority.
func NewAuthority(name string) (Pair, error) {
	template, err := newTemplate(name)
	if err != nil {
		return Pair{}, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	return signCertificate(template, nil)
}

// Issue makes a certificate for servers and clients. A name that is an IP
// address becomes an IP name of the certificate.
func (ca Pair) Issue(names ...string) (Pair, error) {
	template, err := newTemplate(names[0])
	if err != nil {
		return Pair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	return signCertificate(template, &ca)
}

// Redate returns a certificate for the same key and names with another validity.
func (ca Pair) Redate(cert []byte, from, to time.Time) ([]byte, error) {
	block, _ := pem.Decode(cert)
	if block == nil {
		return nil, errors.New("redate: no certificate")
	}
	template, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("redate: %w", err)
	}
	signed, err := tls.X509KeyPair(ca.Cert, ca.Key)
	if err != nil {
		return nil, fmt.Errorf("read authority: %w", err)
	}
	template.NotBefore, template.NotAfter = from, to
	der, err := x509.CreateCertificate(rand.Reader, template, signed.Leaf, template.PublicKey, signed.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("redate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// Identity is a client certificate, and the authority of the members that accept it.
type Identity struct {
	CA   []byte
	Pair Pair
}

// Client returns the TLS configuration of a client that has several identities, and presents the one that a member
// accepts.
func Client(identities ...Identity) (*tls.Config, error) {
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	for _, i := range identities {
		cert, err := tls.X509KeyPair(i.Pair.Cert, i.Pair.Key)
		if err != nil {
			return nil, fmt.Errorf("read client certificate: %w", err)
		}
		if !config.RootCAs.AppendCertsFromPEM(i.CA) {
			return nil, errors.New("read authority: no certificate")
		}
		config.Certificates = append(config.Certificates, cert)
	}
	return config, nil
}

func newTemplate(name string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(lifetime),
	}, nil
}

// signCertificate signs the certificate with its own new key if ca is nil.
func signCertificate(template *x509.Certificate, ca *Pair) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("make key: %w", err)
	}
	parent, signer := template, key
	if ca != nil {
		signed, err := tls.X509KeyPair(ca.Cert, ca.Key)
		if err != nil {
			return Pair{}, fmt.Errorf("read authority: %w", err)
		}
		caKey, ok := signed.PrivateKey.(*ecdsa.PrivateKey)
		if !ok {
			return Pair{}, errors.New("read authority: its key is not an ECDSA key")
		}
		parent, signer = signed.Leaf, caKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return Pair{}, fmt.Errorf("sign certificate of %s: %w", template.Subject.CommonName, err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, fmt.Errorf("encode key: %w", err)
	}
	return Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}),
	}, nil
}

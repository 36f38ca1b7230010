// Package issuer signs the certificates of an etcd cluster, with the key of its
// CA or by a command that has the key.
package issuer

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/certificate"
	"holdfast/engine/etcd/pki"
)

// Bastion reads the files of a CA and runs its sign_command.
type Bastion interface {
	ReadFile(path string) ([]byte, error)
	Filter(ctx context.Context, words []string, input []byte) ([]byte, error)
}

// Issuer signs for one cluster.
type Issuer struct {
	spec    engine.EtcdCA
	bastion Bastion
	text    []byte // of the certificate
	cert    *x509.Certificate
	also    []*x509.Certificate
}

// Open reads the certificate of a CA. The key is read only to sign.
func Open(spec engine.EtcdCA, b Bastion) (*Issuer, error) {
	i := &Issuer{spec: spec, bastion: b}
	var err error
	if i.text, i.cert, err = readCertificate(spec, b); err != nil {
		return nil, err
	}
	for _, path := range spec.AlsoTrust {
		list, err := readOther(path, b)
		if err != nil {
			return nil, err
		}
		i.also = append(i.also, list...)
	}
	return i, nil
}

func readCertificate(spec engine.EtcdCA, b Bastion) ([]byte, *x509.Certificate, error) {
	text, err := b.ReadFile(spec.Cert)
	if err != nil {
		return nil, nil, fmt.Errorf("certificate of the CA: %w", err)
	}
	list := certificate.ParsePEM(text)
	switch {
	case len(list) != 1:
		return nil, nil, fmt.Errorf("certificate of the CA: %s has %d PEM certificates, and must have one: of the CA that issues", spec.Cert, len(list))
	case !list[0].IsCA:
		return nil, nil, fmt.Errorf("certificate of the CA: %s has a certificate that is of no CA", spec.Cert)
	}
	return text, list[0], nil
}

func readOther(path string, b Bastion) ([]*x509.Certificate, error) {
	text, err := b.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("also_trust: %w", err)
	}
	list := certificate.ParsePEM(text)
	if len(list) == 0 || slices.ContainsFunc(list, func(c *x509.Certificate) bool { return !c.IsCA }) {
		return nil, fmt.Errorf("also_trust: %s must have certificates of CAs, in PEM", path)
	}
	return list, nil
}

// Problem is a file of a CA that cannot be used.
type Problem struct {
	Argument string // that names the file
	Err      error
}

// IsAbsent reports whether the file cannot be read on this machine. It may be there on another one.
func (p Problem) IsAbsent() bool {
	return errors.Is(p.Err, fs.ErrNotExist) || errors.Is(p.Err, fs.ErrPermission)
}

// CheckFiles reads all files of a CA, also its key.
func CheckFiles(spec engine.EtcdCA, b Bastion) []Problem {
	var problems []Problem
	text, _, err := readCertificate(spec, b)
	if err != nil {
		problems = append(problems, Problem{"cert", err})
	}
	if spec.Key != "" {
		key, keyErr := b.ReadFile(spec.Key)
		switch {
		case keyErr != nil:
			problems = append(problems, Problem{"key", fmt.Errorf("key of the CA: %w", keyErr)})
		case err == nil:
			if _, err := pki.ParseAuthority(text, key); err != nil {
				problems = append(problems, Problem{"key", err})
			}
		}
	}
	for _, path := range spec.AlsoTrust {
		if _, err := readOther(path, b); err != nil {
			problems = append(problems, Problem{"also_trust", err})
		}
	}
	return problems
}

// Certificate returns the certificate of the CA.
func (i *Issuer) Certificate() *x509.Certificate { return i.cert }

// Also returns other CAs that members are to trust.
func (i *Issuer) Also() []*x509.Certificate { return i.also }

// Sign returns a certificate for a request in PEM, with any intermediate certificates. The caller must check it, because a
// command may return anything.
func (i *Issuer) Sign(ctx context.Context, request *x509.CertificateRequest, text []byte, p pki.Profile) ([]byte, error) {
	if len(i.spec.SignCommand) > 0 {
		out, err := i.bastion.Filter(ctx, i.spec.SignCommand, text)
		if err != nil {
			return nil, fmt.Errorf("sign_command for the %s certificate: %w", p.Role, err)
		}
		return pki.CertificatesOnly(out), nil
	}
	key, err := i.bastion.ReadFile(i.spec.Key)
	if err != nil {
		return nil, fmt.Errorf("key of the CA: %w", err)
	}
	authority, err := pki.ParseAuthority(i.text, key)
	if err != nil {
		return nil, err
	}
	return authority.Issue(rand.Reader, request, p, pki.Validity{Now: time.Now(), Lifetime: time.Duration(i.spec.Lifetime)})
}

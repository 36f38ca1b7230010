package certificate

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"time"

	"holdfast/engine/etcdfacts"
)

// Authorities are the CAs in one file of a host.
type Authorities struct {
	Host, Path string
	List       []*x509.Certificate
	Managed    Managed
}

// Managed is the name of the cluster whose certificates holdfast issues; "": others issue them.
type Managed string

// problemText returns the problem of a certificate that TLS refuses, with the next step.
func (m Managed) problemText(c etcdfacts.Certificate) (etcdfacts.CertificateProblemKind, string) {
	now := time.Now()
	p, has := c.Problem(string(m), now)
	if !has || !p.Kind.Fails() {
		return "", ""
	}
	if m != "" {
		p = p.Issued(now)
	}
	return p.Kind, p.Text
}

// adviseIssue returns the next step for a certificate of a CA that is not trusted.
func (m Managed) adviseIssue(advice string) string {
	if m == "" {
		return advice
	}
	return "see the next step: holdfast etcd members plan " + string(m)
}

// Describe returns the facts of the CAs.
func (a Authorities) Describe() []etcdfacts.Certificate {
	var list []etcdfacts.Certificate
	for _, ca := range a.List {
		list = append(list, Describe(ca, etcdfacts.CACertificate, a.Host, a.Path))
	}
	return list
}

func (a Authorities) certPool() *x509.CertPool {
	roots := x509.NewCertPool()
	for _, ca := range a.List {
		roots.AddCert(ca)
	}
	return roots
}

// Error is the error for a certificate that TLS refuses.
type Error struct {
	Kind        etcdfacts.CertificateProblemKind // "": the reason is not its validity
	Certificate etcdfacts.Certificate
	text        string
	cause       error // nil: none
}

func (e *Error) Error() string { return e.text }

func (e *Error) Unwrap() error { return e.cause }

// Verify checks the certificate that a member presents: it must be valid now, for a server, for one of the names, and
// signed by one of the CAs. If the member presents a certificate, the error is an *Error.
func Verify(chain []*x509.Certificate, host string, trusted Authorities, names []string) error {
	if len(chain) == 0 {
		return errors.New("the member presents no certificate")
	}
	leaf := chain[0]
	between := x509.NewCertPool()
	for _, cert := range chain[1:] {
		between.AddCert(cert)
	}
	options := x509.VerifyOptions{Roots: trusted.certPool(), Intermediates: between, CurrentTime: time.Now()}
	if _, err := leaf.Verify(options); err != nil {
		return explainRefusal(err, chain, host, trusted)
	}
	for _, name := range names {
		if name != "" && leaf.VerifyHostname(name) == nil {
			return nil
		}
	}
	server := Describe(leaf, etcdfacts.ServerCertificate, host, "")
	return &Error{Certificate: server, text: fmt.Sprintf("%s is for %s, not for any of %s: check the host's address",
		server, namesText(leaf), strings.Join(names, ", "))}
}

// explainRefusal returns an error that names the certificate that crypto/x509 refuses, and the next step of the operator.
func explainRefusal(err error, chain []*x509.Certificate, host string, trusted Authorities) error {
	described := DescribeChain(chain, etcdfacts.ServerCertificate, host)
	for _, ca := range trusted.List {
		if slices.ContainsFunc(chain, func(c *x509.Certificate) bool { return bytes.Equal(c.RawIssuer, ca.RawSubject) }) {
			described = append(described, Describe(ca, etcdfacts.CACertificate, trusted.Host, trusted.Path))
		}
	}
	for _, c := range described {
		if kind, text := trusted.Managed.problemText(c); kind != "" {
			return &Error{Kind: kind, Certificate: c, text: text, cause: err}
		}
	}
	server := described[0]
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		return &Error{Certificate: server, cause: err, text: fmt.Sprintf("%s is not from a CA in %s of %s, which has %s: %s",
			server, trusted.Path, trusted.Host, trusted.namesText(),
			trusted.Managed.adviseIssue("add the CA that issued it to that file, or issue the certificate by a CA in it"))}
	}
	return &Error{Certificate: server, cause: err, text: fmt.Sprintf("%s is refused: %v", server, err)}
}

func (a Authorities) namesText() string {
	var names []string
	for _, ca := range a.List {
		names = append(names, subjectOf(ca))
	}
	return strings.Join(names, ", ")
}

func namesText(cert *x509.Certificate) string {
	if names := namesOf(cert); len(names) > 0 {
		return strings.Join(names, ", ")
	}
	return "no name"
}

// The alerts of TLS by which a member says why it refuses a client certificate (RFC 8446, section 6).
const (
	alertBadCertificate     = 42
	alertCertificateExpired = 45
	alertCertificateUnknown = 46
	alertUnknownCA          = 48
)

// Refused returns the error of a connection that a member has ended because of the client certificate, or nil if it had
// another reason. A member checks that certificate after the handshake has ended for the client, and its alert can get
// lost. So a client certificate that is not valid now is the reason, too.
func Refused(client etcdfacts.Certificate, host string, m Managed, ended error) error {
	if kind, text := m.problemText(client); kind != "" {
		return &Error{Kind: kind, Certificate: client, text: text, cause: ended}
	}
	text := ""
	switch alertIn(ended) {
	case alertCertificateExpired:
		text = fmt.Sprintf("etcd on %s says that %s is not valid at this time, and by the bastion's clock it is: set the clock that is wrong", host, client)
	case alertBadCertificate, alertCertificateUnknown, alertUnknownCA:
		text = fmt.Sprintf("etcd on %s does not accept %s: %s", host, client, m.adviseIssue("its --trusted-ca-file must have the CA that issued it"))
	default:
		return nil
	}
	return &Error{Certificate: client, text: text, cause: ended}
}

// HasAlert reports whether an error is an alert of TLS that the other side has sent.
func HasAlert(err error) bool { return alertIn(err) != 0 }

// alertIn returns the alert of TLS that the other side has sent, or 0. The type of an alert of crypto/tls is not
// exported, but it is a number.
func alertIn(err error) uint64 {
	var remote *net.OpError
	if !errors.As(err, &remote) || remote.Err == nil {
		return 0
	}
	if v := reflect.ValueOf(remote.Err); v.Kind() == reflect.Uint8 {
		return v.Uint()
	}
	return 0
}

package etcdfacts

import (
	"fmt"
	"slices"
	"time"
)

// Certificate is an X.509 certificate that an etcd cluster, or holdfast as its client,
// depends on.
type Certificate struct {
	Role      CertificateRole `json:"role"`           // its use
	Host      string          `json:"host"`           // host that presents it, or that its file was read from
	Path      string          `json:"path,omitempty"` // path of its file on the host; "": a TLS handshake showed it
	Subject   string          `json:"subject"`        // its common name; without one, its first other name
	Issuer    string          `json:"issuer"`         // common name of its issuer
	NotBefore time.Time       `json:"not_before"`     // begin of its validity
	NotAfter  time.Time       `json:"not_after"`      // end of its validity

	SelfSigned bool `json:"self_signed,omitempty"` // it was issued by itself
}

// CertificateRole is the use of a certificate.
type CertificateRole string

// The roles of certificates.
const (
	ServerCertificate CertificateRole = "server" // of a member, for its clients
	PeerCertificate   CertificateRole = "peer"   // of a member, for the other members
	ClientCertificate CertificateRole = "client" // of holdfast, for the members
	CACertificate     CertificateRole = "ca"     // of a CA that has issued others
)

// DaysLeft returns the whole days until the certificate expires. They are negative once
// it has expired.
func (c Certificate) DaysLeft(now time.Time) int {
	const day = 24 * time.Hour
	if left := c.NotAfter.Sub(now); left >= 0 {
		return int(left / day)
	}
	return -1 - int(now.Sub(c.NotAfter)/day)
}

// CertificateProblem is a problem with one certificate: TLS refuses it, or it
// expires soon.
type CertificateProblem struct {
	Kind        CertificateProblemKind `json:"kind"`        // expiring, or the reason why TLS refuses it
	Cluster     string                 `json:"cluster"`     // etcd cluster that depends on it
	Days        int                    `json:"days"`        // whole days until it expires; negative once it has expired
	Certificate Certificate            `json:"certificate"` // the certificate
	Text        string                 `json:"text"`        // the problem and the next step, as a sentence

	issued bool // holdfast issues the certificate
}

// CertificateProblemKind is the kind of a problem with a certificate.
type CertificateProblemKind string

// The kinds of problems with certificates.
const (
	CertificateExpiring    CertificateProblemKind = "expiring"      // valid, but to be renewed
	CertificateExpired     CertificateProblemKind = "expired"       // no longer valid
	CertificateNotYetValid CertificateProblemKind = "not-yet-valid" // not valid yet, or a clock is wrong
)

// Fails reports whether TLS refuses the certificate already.
func (k CertificateProblemKind) Fails() bool {
	return k == CertificateExpired || k == CertificateNotYetValid
}

// Problem returns the problem that a certificate of a cluster has at a time,
// and false if the certificate has no problem.
func (c Certificate) Problem(cluster string, now time.Time) (CertificateProblem, bool) {
	kind := c.ProblemKind(now)
	if kind == "" {
		return CertificateProblem{}, false
	}
	p := CertificateProblem{Kind: kind, Cluster: cluster, Days: c.DaysLeft(now), Certificate: c}
	p.Text = p.describe(now)
	return p, true
}

func (p CertificateProblem) describe(now time.Time) string {
	c := p.Certificate
	switch p.Kind {
	case CertificateExpired:
		return fmt.Sprintf("%s expired %s, on %s: %s", c, daysAgo(p.Days), certificateTime(c.NotAfter), p.describeRenewal())
	case CertificateNotYetValid:
		return fmt.Sprintf("%s is not valid before %s, and the bastion's clock says %s: set the clock that is wrong, or %s",
			c, certificateTime(c.NotBefore), certificateTime(now), p.describeRenewal())
	case CertificateExpiring:
	}
	return fmt.Sprintf("%s expires %s, on %s: %s", c, daysAhead(p.Days), certificateTime(c.NotAfter), p.describeRenewal())
}

func daysAgo(days int) string {
	switch n := -1 - days; n {
	case 0:
		return "less than a day ago"
	case 1:
		return "1 day ago"
	default:
		return fmt.Sprintf("%d days ago", n)
	}
}

func daysAhead(days int) string {
	switch days {
	case 0:
		return "in less than a day"
	case 1:
		return "in 1 day"
	}
	return fmt.Sprintf("in %d days", days)
}

func certificateTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// Issued returns the problem of a certificate that holdfast issues: the next step is a command of holdfast.
func (p CertificateProblem) Issued(now time.Time) CertificateProblem {
	p.issued = true
	p.Text = p.describe(now)
	return p
}

// describeRenewal returns the next step. etcd reads its certificate files again for
// each connection. It reads its CA files only when it starts.
func (p CertificateProblem) describeRenewal() string {
	host, apply := p.Certificate.Host, "holdfast etcd members apply "+p.Cluster
	switch role := p.Certificate.Role; {
	case p.issued && role == CACertificate:
		return "make a new CA, name it in the block ca, and run: " + apply
	case p.issued:
		return "renew it: " + apply
	case role == ServerCertificate, role == PeerCertificate:
		return "renew it on " + host + "; etcd uses the new file without a restart"
	case role == ClientCertificate:
		return "renew it on " + host
	}
	return "make a new CA, let members and clients trust both, and issue all certificates anew"
}

// String names the certificate.
func (c Certificate) String() string {
	names := fmt.Sprintf("%s, issued by %s", c.Subject, c.Issuer)
	switch c.Role {
	case ServerCertificate, PeerCertificate:
		return fmt.Sprintf("the %s certificate of %s (%s)", c.Role, c.Host, names)
	case ClientCertificate:
		return fmt.Sprintf("the client certificate %s on %s (%s)", c.Path, c.Host, names)
	case CACertificate:
	}
	if c.Path == "" {
		return fmt.Sprintf("the CA %s that %s presents", c.Subject, c.Host)
	}
	return fmt.Sprintf("the CA %s in %s on %s", c.Subject, c.Path, c.Host)
}

// failedPeerCertificate returns the problem of a host's peer certificate if the
// other members refuse that certificate. Open connections between members stay
// open, so such a cluster may be healthy until a member restarts.
func (c ClusterFacts) failedPeerCertificate(host string) (CertificateProblem, bool) {
	i := slices.IndexFunc(c.CertificateProblems, func(p CertificateProblem) bool {
		return p.FailsBetweenMembers() && p.Certificate.Host == host
	})
	if i < 0 {
		return CertificateProblem{}, false
	}
	return c.CertificateProblems[i], true
}

// FailsBetweenMembers reports whether members refuse each other's connections
// because of the certificate. Such a certificate makes the cluster unhealthy,
// even while old connections last.
func (p CertificateProblem) FailsBetweenMembers() bool {
	return p.Kind.Fails() && p.Certificate.Role == PeerCertificate
}

package etcdfacts

import "time"

// maxRenewal bounds how long before its end a certificate is to be renewed.
const maxRenewal = 30 * 24 * time.Hour

// renewalTime returns the time from which the certificate is to be renewed: 30
// days before its end, or when a third of its lifetime is left if that time is
// later. The second limit keeps a certificate that is issued for one week from
// being reported all the time.
func (c Certificate) renewalTime() time.Time {
	return c.NotAfter.Add(-min(maxRenewal, c.NotAfter.Sub(c.NotBefore)/3))
}

// ProblemKind returns the kind of the problem that the certificate has at a
// time, or "". A self-signed peer certificate has no problem: with
// --peer-auto-tls, members do not check each other's certificates.
func (c Certificate) ProblemKind(now time.Time) CertificateProblemKind {
	switch {
	case c.Role == PeerCertificate && c.SelfSigned:
		return ""
	case now.After(c.NotAfter):
		return CertificateExpired
	case now.Before(c.NotBefore):
		return CertificateNotYetValid
	case !now.Before(c.renewalTime()):
		return CertificateExpiring
	}
	return ""
}

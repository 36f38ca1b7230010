package certificate

import (
	"slices"
	"time"

	"holdfast/engine/etcdfacts"
)

// Join joins lists of certificates. A CA that several members present is in the result once.
func Join(lists ...[]etcdfacts.Certificate) []etcdfacts.Certificate {
	var joined []etcdfacts.Certificate
	for _, cert := range slices.Concat(lists...) {
		if !slices.ContainsFunc(joined, func(other etcdfacts.Certificate) bool { return isSameCA(cert, other) }) {
			joined = append(joined, cert)
		}
	}
	return joined
}

// FindProblems returns the problems that the certificates of a cluster have at a time. Among them are the CAs that
// holdfast trusts.
func FindProblems(list, trusted []etcdfacts.Certificate, cluster string, now time.Time) []etcdfacts.CertificateProblem {
	var problems []etcdfacts.CertificateProblem
	for _, cert := range list {
		if p, has := cert.Problem(cluster, now); has && !isLeftover(cert, list, trusted, now) {
			problems = append(problems, p)
		}
	}
	return problems
}

// isLeftover reports whether nothing depends on a CA any more: it has issued none of the certificates, or has been
// renewed. Only a trusted CA can succeed a trusted one: members can present anything.
func isLeftover(ca etcdfacts.Certificate, list, trusted []etcdfacts.Certificate, now time.Time) bool {
	if ca.Role != etcdfacts.CACertificate {
		return false
	}
	if !slices.ContainsFunc(list, func(c etcdfacts.Certificate) bool { return c.Role != etcdfacts.CACertificate && c.Issuer == ca.Subject }) {
		return true
	}
	successors := list
	if slices.ContainsFunc(trusted, func(other etcdfacts.Certificate) bool { return isSameCA(ca, other) }) {
		successors = trusted
	}
	return slices.ContainsFunc(successors, func(other etcdfacts.Certificate) bool {
		return other.Role == etcdfacts.CACertificate && other.Subject == ca.Subject && other.NotAfter.After(ca.NotAfter) && other.ProblemKind(now) == ""
	})
}

func isSameCA(a, b etcdfacts.Certificate) bool {
	return a.Role == etcdfacts.CACertificate && b.Role == etcdfacts.CACertificate &&
		a.Subject == b.Subject && a.Issuer == b.Issuer && a.NotBefore.Equal(b.NotBefore) && a.NotAfter.Equal(b.NotAfter)
}

package change

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"testing"
	"time"

	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/pki"
)

// lateSigner issues certificates that begin when they are issued, as openssl does: the first in the next second.
type lateSigner struct {
	signer
	issued bool
}

func (s *lateSigner) Sign(_ context.Context, request *x509.CertificateRequest, _ []byte, p pki.Profile) ([]byte, error) {
	begin := time.Now().Truncate(time.Second)
	if !s.issued {
		begin = begin.Add(time.Second)
		time.Sleep(time.Until(begin))
	}
	s.issued = true
	return s.Issue(rand.Reader, request, p, pki.Validity{Now: begin.Add(5 * time.Minute), Lifetime: 1000 * time.Hour})
}

// TestCertificatesThatBeginNow: a command may take its time, and issue certificates that begin at its end.
func TestCertificatesThatBeginNow(t *testing.T) {
	t.Parallel()
	s := &lateSigner{signer: newSigner(t)}
	r, _ := newCertificatesRun(t, s.signer)
	r.Certificates.Issuer = s
	_, err := r.Observe(t.Context())
	check(t, err)
	if _, err = (actions{r}).issueCertificates(t.Context(), membership.MemberStep{Action: membership.Issue, Host: "etcd-0"}); err != nil {
		t.Error(err)
	}
}

package certificate_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcd/certificate"
)

// TestLongChain: a member that presents hundreds of certificates does not flood the facts.
func TestLongChain(t *testing.T) {
	var chain []*x509.Certificate
	for range 500 {
		chain = append(chain, &x509.Certificate{Subject: pkix.Name{CommonName: "etcd-0"}})
	}
	list := certificate.DescribeChain(chain, engine.ServerCertificate, "etcd-0")
	if len(list) < 4 || len(list) > 20 || list[0].Role != engine.ServerCertificate || list[1].Role != engine.CACertificate {
		t.Errorf("%d certificates", len(list))
	}
}

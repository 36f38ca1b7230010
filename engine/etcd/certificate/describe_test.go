package certificate_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"

	"holdfast/engine/etcd/certificate"
	"holdfast/engine/etcdfacts"
)

// TestLongChain: a member that presents hundreds of certificates does not flood the facts.
func TestLongChain(t *testing.T) {
	var chain []*x509.Certificate
	for range 500 {
		chain = append(chain, &x509.Certificate{Subject: pkix.Name{CommonName: "etcd-0"}})
	}
	list := certificate.DescribeChain(chain, etcdfacts.ServerCertificate, "etcd-0")
	if len(list) < 4 || len(list) > 20 || list[0].Role != etcdfacts.ServerCertificate || list[1].Role != etcdfacts.CACertificate {
		t.Errorf("%d certificates", len(list))
	}
}

package certificate_test

import (
	"testing"
	"time"

	"holdfast/engine/etcd/certificate"
	"holdfast/engine/etcdfacts"
)

const day = 24 * time.Hour

// TestRenewedCA: the end of a CA is no problem once its successor is trusted, and still is one if a member only presents
// the successor.
func TestRenewedCA(t *testing.T) {
	now := time.Now()
	ca := func(path string, ends time.Duration) etcdfacts.Certificate {
		return etcdfacts.Certificate{
			Role: etcdfacts.CACertificate, Host: "etcd-0", Path: path, Subject: "CA", Issuer: "CA",
			NotBefore: now.Add(-90 * day), NotAfter: now.Add(ends),
		}
	}
	const file = "/etc/etcd/ca.crt"
	server := etcdfacts.Certificate{Role: etcdfacts.ServerCertificate, Host: "etcd-0", Subject: "etcd-0", Issuer: "CA", NotBefore: now.Add(-day), NotAfter: now.Add(90 * day)}
	for name, c := range map[string]struct {
		presented, trusted []etcdfacts.Certificate
		problems           int
	}{
		"not renewed":                       {nil, []etcdfacts.Certificate{ca(file, 5*day)}, 1},
		"renewed in the file":               {nil, []etcdfacts.Certificate{ca(file, 5*day), ca(file, 300*day)}, 0},
		"renewed in the file and presented": {[]etcdfacts.Certificate{ca("", 300*day)}, []etcdfacts.Certificate{ca(file, 5*day), ca(file, 300*day)}, 0},
		"the old one is presented, too":     {[]etcdfacts.Certificate{ca("", 5*day)}, []etcdfacts.Certificate{ca(file, 5*day), ca(file, 300*day)}, 0},
		"only presented":                    {[]etcdfacts.Certificate{ca("", 300*day)}, []etcdfacts.Certificate{ca(file, 5*day)}, 1},
		"only presented, and ends":          {[]etcdfacts.Certificate{ca("", 5*day), ca("", 300*day)}, nil, 0},
	} {
		list := certificate.Join([]etcdfacts.Certificate{server}, c.presented, c.trusted)
		if problems := certificate.FindProblems(list, c.trusted, "main", now); len(problems) != c.problems {
			t.Errorf("%s: problems %+v", name, problems)
		}
	}
}

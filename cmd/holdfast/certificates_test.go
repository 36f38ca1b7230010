package main

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine/etcd/etcdtest"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/longtest"
)

// TestCertificatesThatEndSoon checks that status, plan and etcd status warn of a certificate that
// expires in ten days, with unchanged exit codes. They name a certificate that has expired.
func TestCertificatesThatEndSoon(t *testing.T) {
	t.Parallel()
	longtest.SkipSlow(t)
	const day = 24 * time.Hour
	months := etcdtest.Dates{From: -day, To: 90 * day}
	for name, x := range map[string]struct {
		server etcdtest.Dates
		code   int // exit code of etcd status
		text   string
		kind   etcdfacts.CertificateProblemKind
	}{
		"expiring": {etcdtest.Dates{From: -80 * day, To: 10*day + time.Hour}, 0, "the server certificate of etcd-0 (etcd-0, issued by etcdtest CA) expires in 10 days, on ", etcdfacts.CertificateExpiring},
		"expired":  {etcdtest.Dates{From: -80 * day, To: -time.Hour}, 3, "the server certificate of etcd-0 (etcd-0, issued by etcdtest CA) expired less than a day ago, on ", etcdfacts.CertificateExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := etcdtest.Start(t, 1, etcdtest.Options{
				TLS: true, Dates: map[string]etcdtest.Dates{"ca": months, "client": months, "server": x.server},
			})
			site := etcdSite(t, cluster)
			c := readEtcdStatus(t, x.code, site, "--window", "0")
			if len(c.CertificateProblems) != 1 || c.CertificateProblems[0].Kind != x.kind || len(c.Certificates) != 3 {
				t.Errorf("certificates %+v; problems %+v", c.Certificates, c.CertificateProblems)
			}
			for _, command := range [][]string{{"status"}, {"plan"}, {"etcd", "status", "--window", "0"}} {
				p := startProgram(t, append(command, "-i", site)...)
				_ = p.Wait() // the exit code depends on the machine, which is the host here
				if !strings.Contains(p.text(), x.text) {
					t.Errorf("%s: %s", strings.Join(command, " "), p.text())
				}
			}
		})
	}
}

package etcdfacts_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine/etcdfacts"
)

const day = 24 * time.Hour

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// TestIssuedCertificate: the next step of a certificate that holdfast issues is a command.
func TestIssuedCertificate(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for role, want := range map[etcdfacts.CertificateRole]string{
		etcdfacts.PeerCertificate: "expired less than a day ago, on 2026-03-01 11:00 UTC: renew it: holdfast etcd members apply main",
		etcdfacts.CACertificate:   "name it in the block ca, and run: holdfast etcd members apply main",
	} {
		c := etcdfacts.Certificate{Role: role, Host: "etcd-3", NotBefore: now.Add(-time.Hour * 24 * 90), NotAfter: now.Add(-time.Hour)}
		if p, has := c.Problem("main", now); !has || !strings.HasSuffix(p.Issued(now).Text, want) {
			t.Errorf("%s: %q", role, p.Issued(now).Text)
		}
	}
}

// A certificate is reported 30 days before its end, or when a third of its
// lifetime is left if that time is later.
func TestCertificateProblems(t *testing.T) {
	for _, x := range []struct {
		from, to time.Duration // from noon
		kind     etcdfacts.CertificateProblemKind
		days     int
	}{
		{-300 * day, 65 * day, "", 65},
		{-335 * day, 30*day + time.Second, "", 30},
		{-335 * day, 30 * day, etcdfacts.CertificateExpiring, 30},
		{-355 * day, 10*day + time.Hour, etcdfacts.CertificateExpiring, 10},
		{-4 * day, 3 * day, "", 3},
		{-5 * day, 2 * day, etcdfacts.CertificateExpiring, 2},
		{-day, time.Hour, etcdfacts.CertificateExpiring, 0},
		{-day, 0, etcdfacts.CertificateExpiring, 0},
		{-day, -time.Second, etcdfacts.CertificateExpired, -1},
		{-3 * day, -day - time.Hour, etcdfacts.CertificateExpired, -2},
		{time.Second, 90 * day, etcdfacts.CertificateNotYetValid, 90},
	} {
		c := etcdfacts.Certificate{Role: etcdfacts.ServerCertificate, Host: "etcd-0", Subject: "etcd-0", Issuer: "ca", NotBefore: noon.Add(x.from), NotAfter: noon.Add(x.to)}
		p, has := c.Problem("main", noon)
		if p.Kind != x.kind || has != (x.kind != "") || c.DaysLeft(noon) != x.days || has && (p.Days != x.days || p.Cluster != "main" || p.Certificate != c) {
			t.Errorf("from %s to %s: %+v, %d days left; want %q, %d", x.from, x.to, p, c.DaysLeft(noon), x.kind, x.days)
		}
	}
}

// Members with self-signed peer certificates do not check each other's
// certificates.
func TestSelfSignedPeersHaveNoProblem(t *testing.T) {
	for role, want := range map[etcdfacts.CertificateRole]bool{etcdfacts.PeerCertificate: false, etcdfacts.ServerCertificate: true, etcdfacts.CACertificate: true} {
		c := etcdfacts.Certificate{Role: role, Host: "etcd-0", SelfSigned: true, NotBefore: noon.Add(-300 * day), NotAfter: noon.Add(-3 * day)}
		if _, has := c.Problem("main", noon); has != want {
			t.Errorf("%s: a problem %v, want %v", role, has, want)
		}
	}
}

// The text names the certificate, the time and the next step, for each role.
func TestCertificateTexts(t *testing.T) {
	for role, want := range map[etcdfacts.CertificateRole]string{
		etcdfacts.ServerCertificate: "the server certificate of etcd-0 (x, issued by y) expired 3 days ago, on 2026-11-20 12:00 UTC: renew it on etcd-0; etcd uses the new file without a restart",
		etcdfacts.PeerCertificate:   "the peer certificate of etcd-0 (x, issued by y) expired 3 days ago, on 2026-11-20 12:00 UTC: renew it on etcd-0; etcd uses the new file without a restart",
		etcdfacts.ClientCertificate: "the client certificate /c on etcd-0 (x, issued by y) expired 3 days ago, on 2026-11-20 12:00 UTC: renew it on etcd-0",
		etcdfacts.CACertificate:     "the CA x in /c on etcd-0 expired 3 days ago, on 2026-11-20 12:00 UTC: make a new CA, let members and clients trust both, and issue all certificates anew",
	} {
		c := etcdfacts.Certificate{Role: role, Host: "etcd-0", Path: "/c", Subject: "x", Issuer: "y", NotBefore: noon.Add(-300 * day), NotAfter: noon.Add(-3 * day)}
		if p, _ := c.Problem("main", noon); p.Text != want {
			t.Errorf("%s: %s", role, p.Text)
		}
	}
	later := etcdfacts.Certificate{Role: etcdfacts.CACertificate, Host: "etcd-0", Subject: "x", NotBefore: noon.Add(day), NotAfter: noon.Add(99 * day)}
	if p, _ := later.Problem("main", noon); !strings.HasPrefix(p.Text, "the CA x that etcd-0 presents is not valid before 2026-11-24 12:00 UTC, and the bastion's clock says 2026-11-23 12:00 UTC: set the clock that is wrong, or ") {
		t.Error(p.Text)
	}
}

// While the other members refuse the peer certificate of one member, no voter
// may go down: that member could not join again, and no other voter that
// restarts could connect to it. Only a voter that is down already may be
// repaired. A cluster of one voter has no peers.
func TestMayLoseWithFailedPeerCertificates(t *testing.T) {
	for n := 1; n <= 5; n++ {
		for failed := range 1 << n {
			for down := range n + 1 { // down == n: no member is down
				c := cluster(n, 1<<n-1)
				if down < n {
					c.Members[down].Healthy = false
				}
				for i := range n {
					kind := etcdfacts.CertificateExpiring
					if failed>>i&1 == 1 {
						kind = etcdfacts.CertificateExpired
					}
					c.CertificateProblems = append(c.CertificateProblems,
						etcdfacts.CertificateProblem{Kind: kind, Certificate: etcdfacts.Certificate{Role: etcdfacts.PeerCertificate, Host: host(i)}},
						etcdfacts.CertificateProblem{Kind: etcdfacts.CertificateExpired, Certificate: etcdfacts.Certificate{Role: etcdfacts.ServerCertificate, Host: host(i)}})
				}
				for i := range n {
					without := c
					without.CertificateProblems = nil
					want := without.MayLose(host(i), nil, true) == nil
					if n > 1 && failed&^(1<<i) != 0 || n > 1 && failed>>i&1 == 1 && down != i {
						want = false
					}
					if got := c.MayLose(host(i), nil, true) == nil; got != want {
						t.Fatalf("%d voters, failed %05b, %d down, lose %d: allowed %v, want %v", n, failed, down, i, got, want)
					}
				}
				if _, unhealthy := c.FindUnhealthy(func(string) bool { return true }); unhealthy != (failed != 0) {
					t.Fatalf("%d voters, failed %05b: unhealthy %v", n, failed, unhealthy)
				}
			}
		}
	}
}

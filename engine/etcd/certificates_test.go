package etcd_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/engine/etcd"
	"holdfast/engine/etcd/certificate"
	"holdfast/engine/etcd/etcdtest"
	"holdfast/engine/etcdfacts"
)

const day = 24 * time.Hour

// inMonths are the dates of a certificate that needs no renewal yet.
var inMonths = etcdtest.Dates{From: -day, To: 90 * day}

func allDates(change map[string]etcdtest.Dates) map[string]etcdtest.Dates {
	dates := map[string]etcdtest.Dates{"ca": inMonths, "server": inMonths, "peer": inMonths, "client": inMonths}
	for role, d := range change {
		dates[role] = d
	}
	return dates
}

// problemsOf returns the kinds of the certificate problems, by role and host.
func problemsOf(facts etcdfacts.ClusterFacts) map[string]etcdfacts.CertificateProblemKind {
	kinds := map[string]etcdfacts.CertificateProblemKind{}
	for _, p := range facts.CertificateProblems {
		kinds[string(p.Certificate.Role)+" "+p.Certificate.Host] = p.Kind
	}
	return kinds
}

// TestCertificatesAreFacts checks the dates of all certificates in the facts: those that members present to clients and
// to each other, the client certificate and the CA. A certificate that ends soon is a problem, but the cluster is
// healthy.
func TestCertificatesAreFacts(t *testing.T) {
	t.Parallel()
	soon := etcdtest.Dates{From: -80 * day, To: 10*day + time.Hour}
	cluster := etcdtest.Start(t, 3, etcdtest.Options{TLS: true, PeerTLS: true, Dates: allDates(map[string]etcdtest.Dates{"server": soon, "client": soon})})
	facts := gatherHealthy(t, openCluster(t, newConfig(cluster)), 3)
	var got []string
	for _, c := range facts.Certificates {
		got = append(got, string(c.Role)+" "+c.Host+" "+c.Subject+" "+c.Issuer+" "+c.Path)
		days := 89
		if c.Role == etcdfacts.ServerCertificate || c.Role == etcdfacts.ClientCertificate {
			days = 10
		}
		if left := c.DaysLeft(time.Now()); left != days {
			t.Errorf("%s: %d days left, want %d", c, left, days)
		}
	}
	want := "server etcd-0 etcd-0 etcdtest CA |server etcd-1 etcd-1 etcdtest CA |server etcd-2 etcd-2 etcdtest CA " +
		"|peer etcd-0 etcd-0 etcdtest CA |peer etcd-1 etcd-1 etcdtest CA |peer etcd-2 etcd-2 etcdtest CA " +
		"|client etcd-0 root etcdtest CA /etc/etcd/client.crt|ca etcd-0 etcdtest CA etcdtest CA /etc/etcd/ca.crt"
	if text := strings.Join(got, "|"); text != want {
		t.Errorf("certificates\n%s, want\n%s", text, want)
	}
	kinds := problemsOf(facts)
	if len(kinds) != 4 || kinds["server etcd-2"] != etcdfacts.CertificateExpiring || kinds["client etcd-0"] != etcdfacts.CertificateExpiring {
		t.Errorf("problems %v", kinds)
	}
	checkText(t, facts.CertificateProblems[0].Text, "the server certificate of etcd-0 (etcd-0, issued by etcdtest CA) expires in 10 days, on ", ": renew it on etcd-0")
	if err := facts.MayLose("etcd-0", nil, false); err != nil {
		t.Errorf("certificates that end soon stop a disruption: %v", err)
	}
}

// TestInvalidCertificates checks that the problem names a certificate that TLS refuses, with its dates and the next
// step.
func TestInvalidCertificates(t *testing.T) {
	t.Parallel()
	yesterday := etcdtest.Dates{From: -90 * day, To: -day - time.Hour}
	tomorrow := etcdtest.Dates{From: day, To: 90 * day}
	for name, x := range map[string]struct {
		dates   map[string]etcdtest.Dates
		kind    etcdfacts.CertificateProblemKind
		subject string
		text    []string
	}{
		"server expired":       {map[string]etcdtest.Dates{"server": yesterday}, etcdfacts.CertificateExpired, "server etcd-0", []string{"the server certificate of etcd-0 (etcd-0, issued by etcdtest CA) expired 1 day ago, on ", "renew it on etcd-0"}},
		"server not yet valid": {map[string]etcdtest.Dates{"server": tomorrow}, etcdfacts.CertificateNotYetValid, "server etcd-0", []string{"the server certificate of etcd-0", " is not valid before ", "set the clock that is wrong"}},
		"client expired":       {map[string]etcdtest.Dates{"client": yesterday}, etcdfacts.CertificateExpired, "client etcd-0", []string{"the client certificate /etc/etcd/client.crt on etcd-0 (root, issued by etcdtest CA) expired 1 day ago", "renew it on etcd-0"}},
		"client not yet valid": {map[string]etcdtest.Dates{"client": tomorrow}, etcdfacts.CertificateNotYetValid, "client etcd-0", []string{"the client certificate /etc/etcd/client.crt", " is not valid before "}},
		"CA expired":           {map[string]etcdtest.Dates{"ca": yesterday}, etcdfacts.CertificateExpired, "ca etcd-0", []string{"the CA etcdtest CA in /etc/etcd/ca.crt on etcd-0 expired 1 day ago", "let members and clients trust both"}},
		"all expired": {
			map[string]etcdtest.Dates{"ca": yesterday, "server": yesterday, "client": yesterday, "peer": yesterday},
			etcdfacts.CertificateExpired, "peer etcd-0",
			[]string{"the server certificate of etcd-0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := etcdtest.Start(t, 1, etcdtest.Options{TLS: true, PeerTLS: true, Dates: allDates(x.dates)})
			facts := openCluster(t, newConfig(cluster)).Gather(t.Context())
			checkText(t, facts.Problem, append(x.text, "no member answers: etcd-0: ")...)
			if strings.Contains(facts.Problem, "tls:") || strings.Contains(facts.Problem, "x509") {
				t.Errorf("a riddle of TLS: %s", facts.Problem)
			}
			issued := newConfig(cluster)
			issued.NewestCredentials = true
			problem, next := openCluster(t, issued).Gather(t.Context()).Problem, ": holdfast etcd members apply "+issued.Name
			if !strings.Contains(problem, next) || strings.Contains(problem, "renew it on") {
				t.Errorf("%s, want %q", problem, next)
			}
			if kinds := problemsOf(facts); kinds[x.subject] != x.kind {
				t.Errorf("problems %v, want %s of %s", kinds, x.kind, x.subject)
			}
		})
	}
}

// TestForeignCA checks that the problem names the CA of the server certificate and the CA of the inventory, if they
// differ.
func TestForeignCA(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{TLS: true})
	other := etcdtest.NewCA(t)
	facts := openCluster(t, newConfig(cluster, replaceFile("/etc/etcd/ca.crt", other))).Gather(t.Context())
	checkText(t, facts.Problem, "the server certificate of etcd-0 (etcd-0, issued by etcdtest CA) is not from a CA in /etc/etcd/ca.crt of etcd-0, which has etcdtest CA: ")
}

// TestForeignClient checks that the problem names a client certificate that the members refuse because another CA has
// issued it.
func TestForeignClient(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{TLS: true})
	other := etcdtest.Start(t, 1, etcdtest.Options{TLS: true})
	cert, key := other.Issue(t, "root")
	facts := openCluster(t, newConfig(cluster, replaceFile(cluster.TLS.Cert, cert), replaceFile(cluster.TLS.Key, key))).Gather(t.Context())
	checkText(t, facts.Problem, "etcd on etcd-0 does not accept the client certificate /etc/etcd/client.crt on etcd-0 (root, issued by etcdtest CA): its --trusted-ca-file ")
	issued := newConfig(cluster, replaceFile(cluster.TLS.Cert, cert), replaceFile(cluster.TLS.Key, key))
	issued.NewestCredentials = true
	checkText(t, openCluster(t, issued).Gather(t.Context()).Problem, "see the next step: holdfast etcd members plan "+issued.Name)
}

// TestClientCertificateOfAnotherMember checks that a valid client certificate on one host is enough. During a renewal,
// other hosts may still have an expired one.
func TestClientCertificateOfAnotherMember(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 3, etcdtest.Options{TLS: true, Dates: map[string]etcdtest.Dates{"client": {From: -2 * day, To: -day}}})
	cert, key := cluster.Issue(t, "root")
	cfg := newConfig(cluster)
	read := cluster.Members[1].ReadFile
	cfg.Peers[1].ReadFiles = etcdtest.OneByOne(func(ctx context.Context, path string) ([]byte, error) {
		switch path {
		case cluster.TLS.Cert:
			return cert, nil
		case cluster.TLS.Key:
			return key, nil
		}
		return read(ctx, path)
	})
	facts := gatherHealthy(t, openCluster(t, cfg), 3)
	if kinds := problemsOf(facts); len(kinds) > 0 {
		t.Errorf("problems %v", kinds)
	}
}

// TestNewestClientCertificate: a host whose member was removed keeps its certificates, which may be of a CA that was replaced since. Where
// holdfast issues them, the newest are used.
func TestNewestClientCertificate(t *testing.T) {
	t.Parallel()
	period := etcdtest.Dates{From: -time.Minute, To: time.Hour}
	cluster := etcdtest.Start(t, 2, etcdtest.Options{TLS: true, Dates: map[string]etcdtest.Dates{"client": period}})
	replaced := etcdtest.Start(t, 1, etcdtest.Options{TLS: true})
	cfg := newConfig(cluster)
	cfg.NewestCredentials = true
	cfg.Peers[0].ReadFiles = replaced.Members[0].ReadFiles
	gatherHealthy(t, openCluster(t, cfg), 2)
}

// TestCertificateErrorIsTyped checks that an operation that fails because of a certificate returns a
// *certificate.Error.
func TestCertificateErrorIsTyped(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{TLS: true, Dates: map[string]etcdtest.Dates{"server": {From: -2 * day, To: -day}}})
	_, err := openCluster(t, newConfig(cluster)).Scrape(t.Context(), "etcd-0")
	var refused *certificate.Error
	if !errors.As(err, &refused) || refused.Kind != etcdfacts.CertificateExpired || refused.Certificate.Role != etcdfacts.ServerCertificate {
		t.Errorf("error %v", err)
	}
}

// replaceFile replaces the contents of a file on every host.
func replaceFile(path string, data []byte) func(*etcd.Config) {
	return func(c *etcd.Config) {
		for i, p := range c.Peers {
			c.Peers[i].ReadFiles = etcdtest.OneByOne(func(ctx context.Context, name string) ([]byte, error) {
				if name == path {
					return data, nil
				}
				files, err := p.ReadFiles(ctx, name)
				if err != nil {
					return nil, err
				}
				return files[0], nil
			})
		}
	}
}

// TestOldCA checks that an expired CA in a file is no problem if the file also
// has the new CA.
func TestOldCA(t *testing.T) {
	t.Parallel()
	old := etcdtest.Start(t, 1, etcdtest.Options{TLS: true, Dates: map[string]etcdtest.Dates{"ca": {From: -90 * day, To: -day}}})
	cluster := etcdtest.Start(t, 1, etcdtest.Options{TLS: true, Dates: allDates(nil)})
	var both []byte
	for _, c := range []*etcdtest.Cluster{old, cluster} {
		data, err := c.Members[0].ReadFile(t.Context(), c.TLS.CA)
		if err != nil {
			t.Fatal(err)
		}
		both = append(both, data...)
	}
	facts := gatherHealthy(t, openCluster(t, newConfig(cluster, replaceFile(cluster.TLS.CA, both))), 1)
	if kinds := problemsOf(facts); len(kinds) > 0 || len(facts.Certificates) != 4 {
		t.Errorf("problems %v of %+v", kinds, facts.Certificates)
	}
}

// TestAutoTLS checks that the facts contain the certificates that members have
// made for themselves.
func TestAutoTLS(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{PeerAutoTLS: true})
	facts := gatherHealthy(t, openCluster(t, newConfig(cluster)), 1)
	if len(facts.Certificates) != 1 || facts.Certificates[0].Role != etcdfacts.PeerCertificate || !facts.Certificates[0].SelfSigned {
		t.Errorf("certificates %+v", facts.Certificates)
	}
}

package change

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/pki"
)

// boxes are the hosts of a run.
type boxes map[string]*box

// Run runs a script in the box of a host.
func (b boxes) Run(_ context.Context, host engine.Host, script string) (engine.Output, error) {
	if b[host.Name] == nil {
		return engine.Output{}, errors.New("no route to host")
	}
	code, out := b[host.Name].run(strings.ReplaceAll(script, "root=''\n", "root="+b[host.Name].root+"\n"))
	return engine.Output{Stdout: out, Stderr: out, Code: code}, nil
}

// noEtcd is a cluster of which no member answers.
type noEtcd struct{ Etcd }

// Members returns no members.
func (noEtcd) Members(context.Context, ...string) etcd.MemberList { return etcd.MemberList{} }

// signer is a CA of a test.
type signer struct {
	pki.Authority
	sign func(text []byte) ([]byte, error) // after the CA
}

func newSigner(t *testing.T) signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "etcd-ca"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(9999 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), crypto.Signer(key))
	check(t, err)
	cert, err := x509.ParseCertificate(der)
	check(t, err)
	return signer{pki.Authority{Cert: cert, Key: key}, func(text []byte) ([]byte, error) { return text, nil }}
}

func (s signer) Certificate() *x509.Certificate { return s.Cert }

func (s signer) Also() []*x509.Certificate { return nil }

func (s signer) Sign(_ context.Context, request *x509.CertificateRequest, _ []byte, p pki.Profile) ([]byte, error) {
	text, err := s.Issue(rand.Reader, request, p, pki.Validity{Now: time.Now(), Lifetime: 1000 * time.Hour})
	if err != nil {
		return nil, err
	}
	return s.sign(text)
}

func newCertificatesRun(t *testing.T, s signer) (*Run, *box) {
	t.Helper()
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("this machine has no openssl")
	}
	b := newBox(t)
	check(t, errors.Join(os.Symlink(openssl, b.root+"/bin/openssl"), os.Chmod(b.root, 0o755), os.Remove(b.root+"/var/lib/holdfast/etcd-member")))
	managed := b.members
	managed.CA = &engine.EtcdCA{Folder: "/etc/etcd/pki"}
	r := &Run{
		Cluster: engine.Cluster{Name: "main", Managed: &managed, TLS: &engine.TLS{}}, Members: []engine.Host{{Name: "etcd-0", Address: "10.0.0.1"}},
		Owner: testOwner, Etcd: noEtcd{}, Hosts: boxes{"etcd-0": b}, Emit: func(engine.Event) error { return nil },
	}
	r.Certificates = &Certificates{Issuer: s, Reconnect: func() {}}
	r.Prepare()
	return r, b
}

// TestCertificatesBeforeTheFirstMember: a host gets its certificates before etcd starts there, and not again.
func TestCertificatesBeforeTheFirstMember(t *testing.T) {
	t.Parallel()
	r, b := newCertificatesRun(t, newSigner(t))
	var done []membership.MemberAction
	for range 2 {
		s, err := r.Observe(t.Context())
		check(t, err)
		s.Hosts[0].Checked = true
		step, err := membership.Next(s)
		check(t, err)
		done = append(done, step.Action)
		if step.Action == membership.Issue {
			message, err := r.issueCertificates(t.Context(), step)
			if err != nil || !strings.HasPrefix(message, "until 20") {
				t.Fatal(message, err)
			}
		}
	}
	if len(done) != 2 || done[0] != membership.Issue || done[1] != membership.Create {
		t.Errorf("%v", done)
	}
	settings := settingsText{name: "etcd-0", ca: r.Cluster.Managed.CA}.String()
	b.write("var/lib/holdfast/etcd-member.env", settings)
	for _, line := range []string{"ETCD_CLIENT_CERT_AUTH=true", "ETCD_CERT_FILE=/etc/etcd/pki/server.crt", "ETCD_PEER_KEY_FILE=/etc/etcd/pki/peer.key", "ETCD_PEER_TRUSTED_CA_FILE=/etc/etcd/pki/ca.crt"} {
		if !strings.Contains(settings, line+"\n") {
			t.Errorf("no %s in %s", line, settings)
		}
	}
	b.write("etcd/default/member/wal/0.wal", "")
	if s, err := r.Observe(t.Context()); err != nil || s.Hosts[0].Certificates.Foreign || !s.Hosts[0].HasData {
		t.Errorf("%+v, %v", s.Hosts[0], err)
	}
	b.write("var/lib/holdfast/etcd-member.env", "ETCD_NAME=etcd-0\n")
	if s, err := r.Observe(t.Context()); err != nil || !s.Hosts[0].Certificates.Foreign {
		t.Errorf("%+v, %v", s.Hosts[0], err)
	}
}

// TestCertificatesThatAreRefused: what an issuer returns is checked, and without a certificate nothing on the host changes.
func TestCertificatesThatAreRefused(t *testing.T) {
	t.Parallel()
	other := newSigner(t)
	for name, x := range map[string]struct {
		sign func([]byte) ([]byte, error)
		want string
	}{
		"fails":         {func([]byte) ([]byte, error) { return nil, errors.New("the vault is sealed") }, "the vault is sealed"},
		"nothing":       {func([]byte) ([]byte, error) { return nil, nil }, "no PEM certificate was issued"},
		"something":     {func([]byte) ([]byte, error) { return []byte("hello"), nil }, "no PEM certificate was issued"},
		"of another CA": {func([]byte) ([]byte, error) { return nil, nil }, ""},
	} {
		s := newSigner(t)
		s.sign = x.sign
		if name == "of another CA" {
			s.Key, s.sign, x.want = other.Key, func(text []byte) ([]byte, error) { return text, nil }, "x509"
		}
		r, b := newCertificatesRun(t, s)
		_, err := r.Observe(t.Context())
		check(t, err)
		if _, err = r.issueCertificates(t.Context(), membership.MemberStep{Action: membership.Issue, Host: "etcd-0"}); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", name, err)
		}
		if names := b.list("etc/etcd/pki"); len(names) != 1 || names[0] != "next" {
			t.Errorf("%s: %v", name, names)
		}
	}
}

// TestCertificatesUnderTheHold: without the hold of the run, no key is made and etcd is not restarted.
func TestCertificatesUnderTheHold(t *testing.T) {
	t.Parallel()
	r, b := newCertificatesRun(t, newSigner(t))
	b.write("var/lib/holdfast/hold.json", "{\n\"kind\":\"person\",\n\"holder\":\"somebody\"\n}\n")
	b.addTool("systemctl", `echo "$*" >>`+b.root+`/calls`)
	_, err := r.Observe(t.Context())
	check(t, err)
	check(t, os.RemoveAll(b.root+"/calls"))
	step := membership.MemberStep{Action: membership.Issue, Host: "etcd-0"}
	_, issueErr := r.issueCertificates(t.Context(), step)
	for _, err := range []error{issueErr, r.trustCAs(t.Context(), step)} {
		var f *engine.Failure
		if !errors.As(err, &f) || f.Kind != engine.HeldFailure {
			t.Error(err)
		}
	}
	if _, err := os.Stat(b.root + "/calls"); err == nil {
		t.Error("systemctl was called")
	}
	if _, err := os.Stat(b.root + "/etc/etcd"); err == nil {
		t.Error("a key was made")
	}
}

package change

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd"
	"holdfast/engine/etcd/carotation"
	"holdfast/engine/etcd/database"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/pki"
	"holdfast/engine/etcd/restore"
	"holdfast/engine/event"
	"holdfast/engine/longtest"
)

// boxes are the hosts of a run.
type boxes map[string]*box

// Run runs a script in the box of a host.
func (b boxes) Run(_ context.Context, host engine.Host, script Script) (engine.Output, error) {
	if b[host.Name] == nil {
		return engine.Output{}, errors.New("no route to host")
	}
	script.Text = strings.ReplaceAll(script.Text, "root=''\n", "root="+b[host.Name].root+"\n")
	code, out := b[host.Name].run(script)
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

	asked *[][]byte // the requests that it was to sign
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
	return signer{pki.Authority{Cert: cert, Key: key}, func(text []byte) ([]byte, error) { return text, nil }, new([][]byte)}
}

func (s signer) Certificate() *x509.Certificate { return s.Cert }

func (s signer) Also() []*x509.Certificate { return nil }

func (s signer) Sign(_ context.Context, request *x509.CertificateRequest, text []byte, p pki.Profile) ([]byte, error) {
	*s.asked = append(*s.asked, text)
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
		Owner: testOwner, Etcd: noEtcd{}, Hosts: &clockBoxes{boxes: boxes{"etcd-0": b}}, Emit: func(event.Event) error { return nil },
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
			message, err := actions{r}.issueCertificates(t.Context(), step)
			if err != nil || !strings.HasPrefix(message, "until 20") {
				t.Fatal(message, err)
			}
		}
	}
	if len(done) != 2 || done[0] != membership.Issue || done[1] != membership.Create {
		t.Errorf("%v", done)
	}
	settings := settingsText{name: "etcd-0", managed: *r.Cluster.Managed}.String()
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

// TestCertificatesThatAreRefused checks that a bad answer of an issuer ends the step with an error, and that no certificate is
// put in place on the host then.
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
		if _, err = (actions{r}).issueCertificates(t.Context(), membership.MemberStep{Action: membership.Issue, Host: "etcd-0"}); err == nil || !strings.Contains(err.Error(), x.want) {
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
	b.write("var/lib/holdfast/hold.json", "{\n\"schema\":1,\n\"kind\":\"person\",\n\"holder\":\"somebody\"\n}\n")
	b.addTool("systemctl", `echo "$*" >>`+b.root+`/calls`)
	_, err := r.Observe(t.Context())
	check(t, err)
	check(t, os.RemoveAll(b.root+"/calls"))
	step := membership.MemberStep{Action: membership.Issue, Host: "etcd-0"}
	_, issueErr := actions{r}.issueCertificates(t.Context(), step)
	for _, err := range []error{issueErr, (actions{r}).trustCAs(t.Context(), step)} {
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

// TestRequestAlone: the issuer sees the request that was checked, and nothing else that a host has printed.
func TestRequestAlone(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	r, b := newCertificatesRun(t, s)
	openssl, err := os.Readlink(b.root + "/bin/openssl")
	check(t, errors.Join(err, os.Remove(b.root+"/bin/openssl")))
	b.addTool("openssl", `[ "$1" != req ] || printf -- '-----BEGIN NEW CERTIFICATE REQUEST-----\nAAAA\n-----END NEW CERTIFICATE REQUEST-----\nhello\n'
exec `+openssl+` "$@"`)
	_, err = r.Observe(t.Context())
	check(t, err)
	_, err = actions{r}.issueCertificates(t.Context(), membership.MemberStep{Action: membership.Issue, Host: "etcd-0"})
	check(t, err)
	for _, text := range *s.asked {
		if block, rest := pem.Decode(text); !strings.HasPrefix(string(text), "-----BEGIN CERTIFICATE REQUEST-----") || block == nil || len(rest) > 0 {
			t.Errorf("%s", text)
		}
	}
	if len(*s.asked) != 3 {
		t.Errorf("%d requests", len(*s.asked))
	}
}

// TestCertificatesOfARestore: a host that has none gets them before the new cluster starts there, with those of the inventory alone as
// trusted CAs; those that can be used stay. The new cluster uses them.
func TestCertificatesOfARestore(t *testing.T) {
	t.Parallel()
	run, b := newCertificatesRun(t, newSigner(t))
	run.Members = append(run.Members, engine.Host{Name: "gone", Address: "10.0.0.2"})
	r := &Restore{Run: run, Lost: []string{"gone"}, Snapshot: &SnapshotFile{SHA256: "00", Contents: database.Contents{
		Revision: 7, Members: []database.Member{{ID: "1", Name: "etcd-0", PeerURLs: []string{"https://10.0.0.1:2380"}}, {ID: "2", Name: "gone"}},
	}}}
	r.Prepare()
	r.checked["etcd-0"] = true
	var done []restore.Action
	for range 2 {
		s, err := r.Observe(t.Context())
		check(t, err)
		step, err := restore.Next(s)
		check(t, err)
		done = append(done, step.Action)
		if step.Action == restore.Issue {
			_, err := r.carryOut(t.Context(), s, step)
			check(t, err)
		}
	}
	if !slices.Equal(done, []restore.Action{restore.Issue, restore.Build}) || !strings.HasPrefix(b.read("etc/etcd/pki/current/cas"), string(pki.ID(run.Certificates.Issuer.Certificate()))) {
		t.Errorf("%v", done)
	}
	if text := r.newSettings("etcd-0", restore.Source{}).String(); !strings.Contains(text, "\nETCD_CERT_FILE=/etc/etcd/pki/server.crt\n") || !strings.Contains(text, "=https://10.0.0.1:") {
		t.Error(text)
	}
}

// TestCertificateStepsEnd: a step that does not help is not done again and again.
func TestCertificateStepsEnd(t *testing.T) {
	t.Parallel()
	r := &Run{}
	r.Prepare()
	for _, a := range []membership.MemberAction{membership.Issue, membership.TrustCA, membership.DropCA} {
		step := membership.MemberStep{Action: a, Host: "etcd-0", Member: "1", Reason: "it has none"}
		other := step
		other.Host = "etcd-1"
		var f *engine.Failure
		if err := errors.Join(r.countStep(step), r.countStep(step), r.countStep(other)); err != nil {
			t.Error(err)
		}
		if err := r.countStep(step); !errors.As(err, &f) || f.Host != "etcd-0" || !strings.Contains(err.Error(), "it has none") {
			t.Error(err)
		}
	}
	await := membership.MemberStep{Action: membership.Await, Host: "etcd-0"}
	if err := errors.Join(r.countStep(await), r.countStep(await), r.countStep(await)); err != nil {
		t.Error(err)
	}
}

// TestFounderTrustsOldCA: if the certificates of a cluster without a quorum have expired, those of the new cluster do not cut off the
// clients of a CA that was replaced.
func TestFounderTrustsOldCA(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	goal, old := pki.ID(s.Cert), carotation.CA("old")
	r := &Run{Certificates: &Certificates{Issuer: s, known: pki.KnownCAs{Goal: goal, ByID: map[carotation.CA]*x509.Certificate{goal: s.Cert, old: s.Cert}}}}
	expired := membership.Certificates{Problem: "they have expired", File: []carotation.CA{goal, old}}
	hosts := []probedHost{{host: membership.Host{Name: "a", HasData: true, Certificates: expired}}, {host: membership.Host{Name: "b", HasData: true, Certificates: expired}}}
	if why := (observer{r}).judgeFounder(hosts)(hosts[0].host); why != expired.Problem {
		t.Error(why)
	}
	if got := r.Certificates.state.CAsAfter(membership.MemberStep{Action: membership.Issue, Host: "a"}); !slices.Contains(got, old) || len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// clockBoxes are boxes whose clocks are ahead of this machine's, and which count how often certificates are put in place.
type clockBoxes struct {
	boxes
	ahead  time.Duration
	placed int
}

func (b *clockBoxes) Run(ctx context.Context, host engine.Host, script Script) (engine.Output, error) {
	if script.Purpose == PlaceCertificates {
		b.placed++
	}
	reply, err := b.boxes.Run(ctx, host, script)
	lines := strings.SplitAfter(reply.Stdout, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "clock ") {
			lines[i] = fmt.Sprintf("clock %d\n", time.Now().Add(b.ahead).Unix())
		}
	}
	reply.Stdout = strings.Join(lines, "")
	return reply, err
}

// TestCertificatesByWrongClock: if the bastion's clock is far ahead or behind, the plan replaces no certificate that is valid by the clock
// of its host, and no certificate is put in place that a host would not accept now.
func TestCertificatesByWrongClock(t *testing.T) {
	const year = 400 * 24 * time.Hour
	for _, x := range []struct {
		ahead   time.Duration
		refused bool
	}{{0, false}, {-year, true}, {year, true}, {-time.Minute, false}} {
		if (x.ahead == 0 || x.ahead == year) && !longtest.Slow() {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			s := newSigner(t)
			r, b := newCertificatesRun(t, s)
			hosts := &clockBoxes{boxes: boxes{"etcd-0": b}}
			r.Hosts = hosts
			issue := membership.MemberStep{Action: membership.Issue, Host: "etcd-0"}
			_, err := r.Observe(t.Context())
			check(t, err)
			_, err = actions{r}.issueCertificates(t.Context(), issue)
			check(t, err)
			b.write("var/lib/holdfast/etcd-member.env", settingsText{name: "etcd-0", managed: *r.Cluster.Managed}.String())
			b.write("etcd/default/member/wal/0.wal", "")
			if x.ahead <= 0 {
				time.Sleep(year)
			}
			hosts.ahead, hosts.placed = x.ahead, 0
			state, err := r.Observe(t.Context())
			check(t, err)
			if disputed := state.Hosts[0].Certificates.Disputed; (disputed != "") != x.refused {
				t.Errorf("%s: %q, %+v", x.ahead, disputed, state.Hosts[0].Certificates)
			}
			step, err := membership.Next(state)
			var refusal *membership.Refusal
			if isIssued := step.Action == membership.Issue; isIssued == x.refused || x.refused && x.ahead < 0 && (!errors.As(err, &refusal) || !strings.Contains(err.Error(), "the clock of the host shows 20")) {
				t.Errorf("%s: %+v, %v", x.ahead, step, err)
			}
			_, err = actions{r}.issueCertificates(t.Context(), issue)
			if (err != nil) != x.refused || (hosts.placed > 0) == x.refused || err != nil && !strings.Contains(err.Error(), "the clock of host etcd-0 shows 20") {
				t.Errorf("%s: placed %d times, %v", x.ahead, hosts.placed, err)
			}
		})
	}
}

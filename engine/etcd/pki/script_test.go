package pki

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/carotation"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/longtest"
	"holdfast/engine/pathtest"
	"holdfast/engine/shelltest"
)

// box is a host as the scripts see it.
type box struct {
	t     *testing.T
	root  string
	place Place
	path  string
}

func newBox(t *testing.T) *box {
	t.Helper()
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("this machine has no openssl")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	check(t, os.Chmod(root, 0o755))
	b := &box{t: t, root: root, place: Place{Folder: "/etc/etcd/pki", Unit: "etcd.service", Settings: root + "/settings", root: root}}
	check(t, os.Mkdir(root+"/bin", 0o755))
	check(t, os.Symlink(openssl, root+"/bin/openssl"))
	b.tool("systemctl", "exit 0")
	b.path = root + "/bin:" + pathtest.Tools()
	return b
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *box) tool(name, body string) {
	check(b.t, os.WriteFile(filepath.Join(b.root, "bin", name), []byte("#!/bin/sh\n"+body+"\n"), 0o755))
}

// run runs a script with descriptor 9, as after a claim.
func (b *box) run(script string) (string, error) {
	cmd := exec.Command(pathtest.Shell(), "-c", "exec 9>/dev/null\n"+script)
	cmd.Env = []string{"PATH=" + b.path}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = errors.New(strings.TrimSpace(stderr.String()))
	}
	return string(out), err
}

func (b *box) mustRun(script string) string {
	b.t.Helper()
	out, err := b.run(script)
	check(b.t, err)
	return out
}

func (b *box) file(name string) string { return filepath.Join(b.root, "etc/etcd/pki", name) }

func (b *box) probe() Facts {
	b.t.Helper()
	return ReadFacts(b.mustRun(b.place.ProbeScript()))
}

// request lets the host make keys, and signs certificates for them.
func (b *box) request(ca Authority) map[etcdfacts.CertificateRole][]byte {
	b.t.Helper()
	script, err := b.place.RequestScript(host)
	check(b.t, err)
	out := b.mustRun(script)
	if strings.Contains(out, "PRIVATE") {
		b.t.Error("a key leaves the host")
	}
	requests, err := ReadRequests(out)
	check(b.t, err)
	issued := map[etcdfacts.CertificateRole][]byte{}
	for _, role := range Roles {
		p := NewProfile(host, role)
		request, err := ParseRequest(requests[role], p)
		check(b.t, err)
		issued[role], err = ca.Issue(rand.Reader, request, p, year)
		check(b.t, err)
		check(b.t, CheckIssued(issued[role], request, p, Trust{CAs: []*x509.Certificate{ca.Cert}, Now: noon}))
	}
	return issued
}

func knownOf(goal Authority, cas ...Authority) KnownCAs {
	k := KnownCAs{Goal: ID(goal.Cert), ByID: map[carotation.CA]*x509.Certificate{}}
	for _, ca := range append(cas, goal) {
		k.ByID[ID(ca.Cert)] = ca.Cert
	}
	return k
}

func (b *box) placeCertificates(ca Authority) {
	b.t.Helper()
	bundle, err := knownOf(ca).Bundle([]carotation.CA{ID(ca.Cert)})
	check(b.t, err)
	b.mustRun(b.place.PlaceScript(b.request(ca), bundle))
}

// TestScripts checks that the scripts make new keys on the host each time, put them in place together with their
// certificates, and keep the earlier sets. It judges the facts that the probe finds.
func TestScripts(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	ca, _, _ := newCA(t, "etcd-ca", 400*day)
	if f := b.probe(); f.Judge(host, knownOf(ca), noon).Problem != "it has none" || f.Uses {
		t.Errorf("%+v", f)
	}
	check(t, os.WriteFile(b.place.Settings, []byte("ETCD_NAME=etcd-0\nETCD_CERT_FILE=/etc/etcd/pki/server.crt\n"), 0o600))
	keys := map[string]bool{}
	for range 5 {
		b.request(ca) // of a run that was cut short
		b.placeCertificates(ca)
		key, err := os.ReadFile(b.file("peer.key"))
		check(t, err)
		keys[string(key)] = true
		f := b.probe()
		if j := f.Judge(host, knownOf(ca), noon); j.Problem != "" || j.Due != "" || len(j.Issuers) != 1 || j.Issuers[0] != ID(ca.Cert) || !f.Uses || !f.Whole {
			t.Errorf("%+v, %+v", j, f)
		}
	}
	if len(keys) != 5 {
		t.Errorf("%d keys", len(keys))
	}
	for name, mode := range map[string]os.FileMode{"server.key": 0o600, "peer.key": 0o600, "client.key": 0o600, "server.crt": 0o644, "ca.crt": 0o644, "current/.": 0o755, ".": 0o755} {
		if info, err := os.Stat(b.file(name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	sets, err := filepath.Glob(b.file("set-*"))
	check(t, err)
	entries, err := os.ReadDir(b.file("."))
	check(t, err)
	if len(sets) != 4 || len(entries) != 4+1+7 {
		t.Errorf("%d sets in %v", len(sets), entries)
	}
	f := b.probe()
	for name, x := range map[string]struct {
		host Subject
		now  time.Time
		want Judgement
	}{
		"ends soon":       {host, noon.Add(340 * day), Judgement{Due: "its server certificate expires on 2027-11-23"}},
		"is over":         {host, noon.Add(366 * day), Judgement{Problem: "its server certificate is valid from 2026-11-23 to 2027-11-23 only"}},
		"another address": {Subject{engine.Host{Name: "etcd-0", Address: "10.0.0.9"}, host.ServerNames}, noon, Judgement{Due: "its server certificate is for other names"}},
		"another name":    {Subject{host.Host, []string{"etcd.example.com"}}, noon, Judgement{Due: "its server certificate is for other names"}},
	} {
		if j := f.Judge(x.host, knownOf(ca), x.now); j.Due != x.want.Due || j.Problem != x.want.Problem {
			t.Errorf("%s: %+v", name, j)
		}
	}
	other, _, _ := newCA(t, "etcd-ca", 400*day)
	if j := f.Judge(host, knownOf(other), noon); !strings.Contains(j.Problem, "is of a CA that is in no file") {
		t.Errorf("%+v", j)
	}
	check(t, os.WriteFile(b.file("server.key"), []byte("damaged"), 0o600))
	if j := b.probe().Judge(host, knownOf(ca), noon); j.Problem != "a file is missing or damaged" {
		t.Errorf("%+v", j)
	}
}

// TestLoaded: which CAs an etcd has read follows from the time of its start, and is not known rather than wrong.
func TestLoaded(t *testing.T) {
	t.Parallel()
	old, both := "trusted b1 1000 aa\n", "trusted b1 2000 aa,bb\n"
	for text, want := range map[string]string{
		"boot b1\n" + old + both:                                "",
		"boot b1\nstarted 900\n" + old + both:                   "",
		"boot b1\nstarted 1000\n" + old + both:                  "",
		"boot b1\nstarted 1001\n" + old + both:                  "aa",
		"boot b1\nstarted 2000\n" + old + both:                  "aa",
		"boot b1\nstarted 2001\n" + old + both:                  "aa bb",
		"boot b2\nstarted 5\n" + old + both:                     "aa bb",
		"boot b2\nstarted 5\n" + old + both + "trusted b2 7 bb": "aa bb",
		"boot b2\nstarted 8\n" + old + both + "trusted b2 7 bb": "bb",
		"boot b1\nstarted 3000\n" + old + "trusted b1 x aa,bb":  "aa",
	} {
		var got []string
		for _, ca := range ReadFacts(text).Loaded() {
			got = append(got, string(ca))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestTrustScript: the file of CAs changes, the keys do not, and etcd restarts after it. The history tells since when.
func TestTrustScript(t *testing.T) {
	t.Parallel()
	longtest.SkipSlow(t)
	b := newBox(t)
	old, _, _ := newCA(t, "old", 400*day)
	next, _, _ := newCA(t, "next", 400*day)
	b.placeCertificates(old)
	key, err := os.ReadFile(b.file("server.key"))
	check(t, err)
	b.tool("systemctl", `[ "$1" != restart ] || grep -c BEGIN `+b.file("ca.crt")+` >>`+b.root+`/restarts`)
	known := knownOf(next, old)
	both, err := known.Bundle(carotation.NeededCAs(carotation.Wanted{Issuer: ID(next.Cert)}, []carotation.HostTrust{{Issuers: []carotation.CA{ID(old.Cert)}}}))
	check(t, err)
	for range 2 { // the second only restarts
		b.mustRun(b.place.TrustScript(both))
	}
	f := b.probe()
	after, err := os.ReadFile(b.file("server.key"))
	check(t, err)
	restarts, err := os.ReadFile(b.root + "/restarts")
	check(t, err)
	sets, err := filepath.Glob(b.file("set-*"))
	check(t, err)
	if !f.Whole || len(f.File()) != 2 || !bytes.Equal(key, after) || string(restarts) != "2\n2\n" || len(sets) != 2 {
		t.Errorf("%v, restarts %q, sets %v", f.File(), restarts, sets)
	}
	if j := f.Judge(host, known, noon); j.Problem != "" || j.Issuers[0] != ID(old.Cert) {
		t.Errorf("%+v", j)
	}
	if len(f.history) != 2 || len(f.history[0].cas) != 1 || len(f.history[1].cas) != 2 || f.history[0].time > f.history[1].time {
		t.Errorf("%+v", f.history)
	}
	b.placeCertificates(next) // a renewal that changes the CAs adds to the history, and one that does not leaves it
	b.placeCertificates(next)
	if f := b.probe(); len(f.history) != 3 || len(f.history[2].cas) != 1 {
		t.Errorf("%+v", f.history)
	}
}

// TestFolderOfOthers: nothing is written where anybody else could swap it, or where something else is already.
func TestFolderOfOthers(t *testing.T) {
	t.Parallel()
	longtest.SkipSlow(t)
	ca, _, _ := newCA(t, "etcd-ca", 400*day)
	for name, x := range map[string]struct {
		spoil func(b *box) error
		want  string
	}{
		"writable by others":  {func(b *box) error { return os.Chmod(b.root+"/etc/etcd", 0o757) }, "/etc/etcd can be changed by others than root"},
		"writable by a group": {func(b *box) error { return os.Chmod(b.root+"/etc", 0o775) }, "/etc can be changed by others than root"},
		"a link above": {func(b *box) error {
			return errors.Join(os.Rename(b.root+"/etc", b.root+"/elsewhere"), os.Symlink("elsewhere", b.root+"/etc"))
		}, "/etc is a link"},
		"shared by a list": {func(b *box) error {
			pathtest.Share(t, b.file("."), pathtest.DefaultList)
			return nil
		}, "/etc/etcd/pki has an access control list"},
		"a file of somebody": {func(b *box) error { return os.WriteFile(b.file("peer.crt"), nil, 0o600) }, "peer.crt was not made by holdfast"},
		"a link of somebody": {func(b *box) error {
			return errors.Join(os.Remove(b.file("peer.key")), os.Symlink("/etc/passwd", b.file("peer.key")))
		}, "peer.key was not made by holdfast"},
		"a file as the folder": {func(b *box) error {
			return errors.Join(os.RemoveAll(b.file(".")), os.WriteFile(b.root+"/etc/etcd/pki", nil, 0o600))
		}, "is not a folder"},
	} {
		b := newBox(t)
		b.placeCertificates(ca)
		if name == "a file of somebody" {
			check(t, os.Remove(b.file("peer.crt")))
		}
		check(t, x.spoil(b))
		request, err := b.place.RequestScript(host)
		check(t, err)
		for kind, script := range map[string]string{"probe": b.place.ProbeScript(), "request": request, "place": b.place.PlaceScript(nil, Bundle{}), "trust": b.place.TrustScript(Bundle{})} {
			if out, err := b.run(script); err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%s, %s: %q, %v", name, kind, out, err)
			}
		}
	}
}

// TestPlaceChecksKeys: certificates for other keys are not put in place, nor without the keys.
func TestPlaceChecksKeys(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	ca, _, _ := newCA(t, "etcd-ca", 400*day)
	b.placeCertificates(ca)
	before, err := os.Readlink(b.file("current"))
	check(t, err)
	late := b.request(ca)
	b.request(ca)
	bundle, err := knownOf(ca).Bundle([]carotation.CA{ID(ca.Cert)})
	check(t, err)
	if _, err := b.run(b.place.PlaceScript(late, bundle)); err == nil || !strings.Contains(err.Error(), "is for another key") {
		t.Error(err)
	}
	check(t, os.RemoveAll(b.file("next")))
	if _, err := b.run(b.place.PlaceScript(late, bundle)); err == nil || !strings.Contains(err.Error(), "the new keys are gone") {
		t.Error(err)
	}
	if after, err := os.Readlink(b.file("current")); err != nil || after != before {
		t.Errorf("%s, %s, %v", before, after, err)
	}
}

// TestRequestScript refuses names that openssl would read as something else, and a host without openssl.
func TestRequestScript(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for _, bad := range []string{"a,DNS:evil.example", "a\nsubjectAltName=DNS:evil.example", "$ENV::HOME", ""} {
		if _, err := b.place.RequestScript(Subject{Host: engine.Host{Name: bad, Address: "10.0.0.1"}}); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
	check(t, os.Remove(b.root+"/bin/openssl"))
	b.path = b.root + "/bin:" + pathtest.Tools()
	script, err := b.place.RequestScript(host)
	check(t, err)
	cmd := exec.Command(pathtest.Shell(), "-c", script)
	cmd.Env = []string{"PATH=" + b.path}
	out, _ := cmd.CombinedOutput() // the exit status is checked
	if cmd.ProcessState.ExitCode() != 79 || !strings.Contains(string(out), "this host has no openssl") {
		t.Errorf("exit status %d: %s", cmd.ProcessState.ExitCode(), out)
	}
}

func TestShellcheck(t *testing.T) {
	p := Place{Folder: "/etc/etcd/pki", Unit: "etcd.service", Settings: "/var/lib/holdfast/etcd-member.env"}
	request, err := p.RequestScript(host)
	check(t, err)
	for name, script := range map[string]string{"request": request, "place": p.PlaceScript(nil, Bundle{}), "trust": p.TrustScript(Bundle{}), "own": p.OwnScript(), "probe": p.ProbeScript()} {
		shelltest.Check(t, name, script)
	}
}

// TestPlaceCutShort: a run may be killed between two commands that put files in place. A missing file is noticed; of a set whose time
// was not noted, nobody relies on what etcd has read, and the next run notes it.
func TestPlaceCutShort(t *testing.T) {
	t.Parallel()
	longtest.SkipSlow(t)
	b := newBox(t)
	old, _, _ := newCA(t, "old", 400*day)
	next, _, _ := newCA(t, "next", 400*day)
	b.placeCertificates(old)
	check(t, os.Remove(b.file("peer.key")))
	if j := b.probe().Judge(host, knownOf(old), noon); j.Problem != "a file is missing or damaged" {
		t.Errorf("%+v", j)
	}
	b.placeCertificates(old)
	if j := b.probe().Judge(host, knownOf(old), noon); j.Problem != "" || j.Due != "" {
		t.Errorf("%+v", j)
	}
	known := knownOf(next, old)
	both, err := known.Bundle([]carotation.CA{ID(old.Cert), ID(next.Cert)})
	check(t, err)
	b.mustRun(b.place.TrustScript(both))
	check(t, os.Remove(b.file("current/placed")))
	if f := b.probe(); len(f.history) != 1 || !f.Whole || f.Judge(host, known, noon).Due == "" {
		t.Errorf("%+v", f)
	}
	b.mustRun(b.place.TrustScript(both))
	if f := b.probe(); len(f.history) != 2 || len(f.history[1].cas) != 2 || f.Judge(host, known, noon).Due != "" {
		t.Errorf("%+v", f)
	}
}

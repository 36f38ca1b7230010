package issuer

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/pki"
	"holdfast/engine/etcdfacts"
)

// fakeBastion has files, and a command that prints its words and its input before the certificate.
type fakeBastion struct {
	files map[string][]byte
	read  []string
	err   error
}

// ReadFile returns a file.
func (b *fakeBastion) ReadFile(path string) ([]byte, error) {
	b.read = append(b.read, path)
	if text, there := b.files[path]; there {
		return text, nil
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

// Filter returns its words, its input and a certificate.
func (b *fakeBastion) Filter(_ context.Context, words []string, input []byte) ([]byte, error) {
	return slices.Concat([]byte(strings.Join(words, " ")+"\n"), input, b.files["ca.crt"]), b.err
}

func newBastion(t *testing.T) *fakeBastion {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	ca, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	template.IsCA = false
	leaf, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	forClients := pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Value: []byte{0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 2}}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "root"}, ExtraExtensions: []pkix.Extension{forClients}}, key)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	return &fakeBastion{files: map[string][]byte{
		"ca.crt": block("CERTIFICATE", ca), "ca.key": block("PRIVATE KEY", der), "leaf.crt": block("CERTIFICATE", leaf),
		"two.crt": slices.Concat(block("CERTIFICATE", ca), block("CERTIFICATE", ca)), "request": block("CERTIFICATE REQUEST", request), "empty": nil,
	}}
}

// TestOpen: files that are no CA are refused, and no key is read to open.
func TestOpen(t *testing.T) {
	b := newBastion(t)
	for _, spec := range []engine.EtcdCA{
		{Cert: "missing"},
		{Cert: "empty"},
		{Cert: "ca.key"},
		{Cert: "leaf.crt"},
		{Cert: "two.crt"},
		{Cert: "ca.crt", AlsoTrust: []string{"missing"}},
		{Cert: "ca.crt", AlsoTrust: []string{"empty"}},
		{Cert: "ca.crt", AlsoTrust: []string{"leaf.crt"}},
	} {
		if _, err := Open(spec, b); err == nil {
			t.Errorf("%+v: opened", spec)
		}
	}
	b.read = nil
	i, err := Open(engine.EtcdCA{Cert: "ca.crt", Key: "ca.key", AlsoTrust: []string{"two.crt"}}, b)
	if err != nil || i.Certificate().Subject.CommonName != "ca" || len(i.Also()) != 2 || slices.Contains(b.read, "ca.key") {
		t.Errorf("%+v, %v, read %v", i, err, b.read)
	}
}

// TestSign: the key or the command signs. Of the output of a command only certificates are left.
func TestSign(t *testing.T) {
	b := newBastion(t)
	p := pki.NewProfile(pki.Subject{Host: engine.Host{Name: "etcd-0"}}, etcdfacts.ClientCertificate)
	request, err := pki.ParseRequest(b.files["request"], p)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(spec engine.EtcdCA) ([]byte, error) {
		i, err := Open(spec, b)
		if err != nil {
			t.Fatal(err)
		}
		return i.Sign(t.Context(), request, b.files["request"], p)
	}
	text, err := sign(engine.EtcdCA{Cert: "ca.crt", Key: "ca.key", Lifetime: engine.Duration(time.Hour)})
	if err != nil || !strings.HasPrefix(string(text), "-----BEGIN CERTIFICATE-----") {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := sign(engine.EtcdCA{Cert: "ca.crt", Key: "missing"}); err == nil || !strings.Contains(err.Error(), "key of the CA: open missing") {
		t.Error(err)
	}
	command := engine.EtcdCA{Cert: "ca.crt", SignCommand: []string{"vault", "sign"}}
	if text, err := sign(command); err != nil || string(text) != string(b.files["ca.crt"]) {
		t.Errorf("%s, %v", text, err)
	}
	b.err = errors.New("exit status 3: sealed")
	if _, err := sign(command); err == nil || err.Error() != "sign_command for the client certificate: exit status 3: sealed" {
		t.Error(err)
	}
}

// TestCheckFiles: each file of a CA that cannot be used is named by its argument. Those that are only absent may be on another machine.
func TestCheckFiles(t *testing.T) {
	b := newBastion(t)
	other := newBastion(t)
	b.files["other.key"] = other.files["ca.key"]
	for _, c := range []struct {
		spec         engine.EtcdCA
		wrong, apart string // arguments of files that are wrong, and that are absent
	}{
		{engine.EtcdCA{Cert: "ca.crt", Key: "ca.key", AlsoTrust: []string{"two.crt"}}, "", ""},
		{engine.EtcdCA{Cert: "ca.crt", SignCommand: []string{"sign"}}, "", ""},
		{engine.EtcdCA{Cert: "missing", Key: "missing", AlsoTrust: []string{"missing", "ca.crt"}}, "", "cert key also_trust"},
		{engine.EtcdCA{Cert: "leaf.crt", Key: "ca.key"}, "cert", ""},
		{engine.EtcdCA{Cert: "ca.crt", Key: "empty"}, "key", ""},
		{engine.EtcdCA{Cert: "ca.crt", Key: "other.key", AlsoTrust: []string{"leaf.crt"}}, "key also_trust", ""},
	} {
		var wrong, absent []string
		for _, p := range CheckFiles(c.spec, b) {
			if p.IsAbsent() {
				absent = append(absent, p.Argument)
			} else {
				wrong = append(wrong, p.Argument)
			}
		}
		if strings.Join(wrong, " ") != c.wrong || strings.Join(absent, " ") != c.apart {
			t.Errorf("%+v: wrong %q, absent %q", c.spec, wrong, absent)
		}
	}
}

package hostkeys

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/remote/sshconfig"

	"golang.org/x/crypto/ssh"
)

// TestPlainKeyIsNoAuthority checks that a certificate counts only if a line with @cert-authority has its signer: the key of
// a host must not vouch for other hosts. An authority is no host key, either.
func TestPlainKeyIsNoAuthority(t *testing.T) {
	signer, host := newSigner(t), newSigner(t)
	cert := &ssh.Certificate{Key: host.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{"web1"}, ValidBefore: ssh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, signer); err != nil {
		t.Fatal(err)
	}
	line := "web1 " + string(ssh.MarshalAuthorizedKey(signer.PublicKey()))
	if err := checkKey(t, line, cert); err == nil || !strings.Contains(err.Error(), "is not valid here") {
		t.Errorf("a certificate that a plain key has signed: %v", err)
	}
	if err := checkKey(t, "@cert-authority "+line, cert); err != nil {
		t.Errorf("a certificate of the authority: %v", err)
	}
	if err := checkKey(t, "@cert-authority "+line, signer.PublicKey()); err == nil {
		t.Error("the authority is accepted as the key of the host")
	}
	if err := checkKey(t, line, signer.PublicKey()); err != nil {
		t.Errorf("the key of the host: %v", err)
	}
}

// TestCertificatesNeedAnAllowedSignature checks that neither a certificate without a signature nor one with an algorithm that
// is not allowed is accepted, although its authority is known.
func TestCertificatesNeedAnAllowedSignature(t *testing.T) {
	signer, host := newSigner(t), newSigner(t)
	line := "@cert-authority web1 " + string(ssh.MarshalAuthorizedKey(signer.PublicKey()))
	for name, x := range map[string]struct {
		spoil func(*ssh.Certificate)
		want  string
	}{
		"no signature":      {func(c *ssh.Certificate) { c.Signature = nil }, "CASignatureAlgorithms does not allow"},
		"another algorithm": {func(c *ssh.Certificate) { c.Signature.Format = ssh.KeyAlgoRSASHA256 }, "CASignatureAlgorithms does not allow"},
		"another signature": {func(c *ssh.Certificate) { c.Signature.Blob[0] ^= 1 }, "is not valid here"},
		"of a user":         {func(c *ssh.Certificate) { c.CertType = ssh.UserCert }, "is not valid here"},
	} {
		cert := &ssh.Certificate{Key: host.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{"web1"}, ValidBefore: ssh.CertTimeInfinity}
		if err := cert.SignCert(rand.Reader, signer); err != nil {
			t.Fatal(err)
		}
		x.spoil(cert)
		if err := checkKey(t, line, cert); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHashedNames checks that a hashed name is of one host, with a salt of any length.
func TestHashedNames(t *testing.T) {
	key := newSigner(t).PublicKey()
	for _, salt := range []string{"", "salt", strings.Repeat("s", 64), strings.Repeat("s", 65)} {
		line := func(name string) string {
			sum := hmac.New(sha1.New, []byte(salt))
			sum.Write([]byte(name))
			encode := base64.StdEncoding.EncodeToString
			return "|1|" + encode([]byte(salt)) + "|" + encode(sum.Sum(nil)) + " " + string(ssh.MarshalAuthorizedKey(key))
		}
		if err := checkKey(t, line("web1"), key); err != nil {
			t.Errorf("its name, with a salt of %d bytes: %v", len(salt), err)
		}
		if err := checkKey(t, line("web2"), key); err == nil {
			t.Errorf("another name, with a salt of %d bytes, is accepted", len(salt))
		}
	}
}

// TestUnknownKeysAreDescribed checks that a host without an entry, a host with another key and a host with only an authority
// get different advice.
func TestUnknownKeysAreDescribed(t *testing.T) {
	own, other := newSigner(t).PublicKey(), newSigner(t).PublicKey()
	entry := string(ssh.MarshalAuthorizedKey(other))
	for line, want := range map[string]string{
		"web2 " + entry:                 "no entry in ",
		"@cert-authority web1 " + entry: "known_hosts has an authority for it, but it shows no certificate",
		"web1 " + entry:                 "but known_hosts has",
	} {
		err := checkKey(t, line, own)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
		if refused := (*Refusal)(nil); !errors.As(err, &refused) || refused.Unknown != (want != "but known_hosts has") {
			t.Errorf("%s: %+v", line, refused)
		}
	}
}

func newSigner(t *testing.T) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func checkKey(t *testing.T, knownHosts string, key ssh.PublicKey) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(path, []byte(knownHosts), 0o600); err != nil {
		t.Fatal(err)
	}
	known, err := new(KnownHostsCache).Read([]string{path}, sshconfig.NewReader(nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	keys := known.Find("web1:22", false)
	keys.Restrictions.Authorities = []string{ssh.KeyAlgoED25519}
	if refused := keys.Check(key); refused != nil {
		return refused
	}
	return nil
}

package remote_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"holdfast/engine/remote"
	"holdfast/engine/remote/sshtest"
)

// entry returns a line of known_hosts for a pattern.
func entry(marker, pattern string, k ssh.PublicKey) string {
	return strings.TrimSpace(marker+" "+pattern+" "+strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k)))) + "\n"
}

func TestHostKey(t *testing.T) {
	t.Parallel()
	keys := hostKeysOfAllTypes(t)
	ed, ec, rsa := keys[0].PublicKey(), keys[1].PublicKey(), keys[2].PublicKey()
	signer, _ := key(t)
	other := signer.PublicKey()
	s := sshtest.Start(t, sshtest.Config{HostKeys: keys})
	name := knownhosts.Normalize(s.Addr())
	const unknown, mismatch = remote.HostKeyUnknown, remote.HostKeyMismatch

	for _, c := range []struct {
		name, text string
		kind       remote.Kind // 0: the connection is accepted
		words      []string
	}{
		{"plain", entry("", name, ed), 0, nil},
		{"hashed", entry("", knownhosts.HashHostname(name), ed), 0, nil},
		{"only ecdsa known", entry("", name, ec), 0, nil},
		{"only rsa known", entry("", name, rsa), 0, nil},
		{"hashed rsa", entry("", knownhosts.HashHostname(name), rsa), 0, nil},
		{"two types", entry("", name, rsa) + entry("", name, ed), 0, nil},
		{"old and new key", entry("", name, other) + entry("", name, ed), 0, nil},
		{"wildcard", entry("", "127.0.0.*", ec), 0, nil},
		{"comments", "# hosts\n\n" + entry("", "elsewhere", other) + entry("", name, ed), 0, nil},

		{"empty", "", unknown, []string{"no entry in", "SHA256:", "add it: [127.0.0.1]:"}},
		{"other host", entry("", "elsewhere", ed), unknown, []string{"no entry in"}},
		{"other port", entry("", "127.0.0.1", ed), unknown, []string{"no entry in"}},
		{"excluded", entry("", "!"+name+","+name, ed), unknown, nil},
		{"authority without certificate", entry("@cert-authority", "127.0.0.*", other), unknown, []string{"no certificate"}},
		{"authority's own key", entry("@cert-authority", name, ed), unknown, []string{"no certificate"}},

		{
			"other key", "# one\n" + entry("", name, other), mismatch,
			[]string{ssh.FingerprintSHA256(other), ssh.FingerprintSHA256(ed), "known_hosts:2", "reinstalled"},
		},
		{"hashed other key", entry("", knownhosts.HashHostname(name), other), mismatch, []string{"known_hosts:1"}},
		{"revoked", entry("", name, ed) + entry("@revoked", "*", ed), mismatch, []string{"revoked", "known_hosts:2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := targetOf(s)
			to.KnownHosts = []string{write(t, "known_hosts", c.text)}
			if c.kind == 0 {
				dialTarget(t, dialer(t, remote.Options{}), to)
				return
			}
			text := dialRefused(t, dialer(t, remote.Options{}), to, c.kind, append(c.words, "h1: ")...)
			if strings.Contains(text, "StrictHostKeyChecking") {
				t.Errorf("%v advises to switch the check off", text)
			}
		})
	}
}

// TestHostKeyOtherType checks a host whose only key has another type than its key in known_hosts. The error must be a
// wrong host key, not a failed negotiation.
func TestHostKeyOtherType(t *testing.T) {
	t.Parallel()
	keys := hostKeysOfAllTypes(t)
	s := sshtest.Start(t, sshtest.Config{HostKeys: keys[:1]})
	to := targetOf(s)
	to.KnownHosts = []string{write(t, "known_hosts", entry("", knownhosts.Normalize(s.Addr()), keys[2].PublicKey()))}
	dialRefused(t, dialer(t, remote.Options{}), to, remote.HostKeyMismatch,
		ssh.FingerprintSHA256(keys[0].PublicKey()), ssh.FingerprintSHA256(keys[2].PublicKey()), "known_hosts:1")
}

// TestHostKeySignsOneWay checks a host with two keys of which known_hosts has the RSA key. The client must ask for the
// RSA key, with either signature algorithm.
func TestHostKeySignsOneWay(t *testing.T) {
	t.Parallel()
	keys := hostKeysOfAllTypes(t)
	for _, algorithm := range []string{ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512} {
		t.Run(algorithm, func(t *testing.T) {
			signer, err := ssh.NewSignerWithAlgorithms(keys[2].(ssh.AlgorithmSigner), []string{algorithm})
			if err != nil {
				t.Fatal(err)
			}
			s := sshtest.Start(t, sshtest.Config{HostKeys: []ssh.Signer{keys[0], signer}})
			to := targetOf(s)
			to.KnownHosts = []string{write(t, "known_hosts", entry("", knownhosts.Normalize(s.Addr()), keys[2].PublicKey()))}
			dialTarget(t, dialer(t, remote.Options{}), to)
		})
	}
}

func TestHostCertificate(t *testing.T) {
	t.Parallel()
	keys := hostKeysOfAllTypes(t)
	stranger, _ := key(t)
	for n, hostKey := range keys {
		for m, authority := range hostKeysOfAllTypes(t) { // an authority may have another key type than the host
			t.Run(fmt.Sprintf("%s by %s", hostKey.PublicKey().Type(), authority.PublicKey().Type()), func(t *testing.T) {
				c, err := ssh.NewCertSigner(certificate(t, authority, ssh.HostCert, hostKey.PublicKey(), "127.0.0.1"), hostKey)
				if err != nil {
					t.Fatal(err)
				}
				s := sshtest.Start(t, sshtest.Config{HostKeys: []ssh.Signer{c, hostKey}})
				to := targetOf(s)
				to.KnownHosts = []string{write(t, "known_hosts", entry("@cert-authority", "127.0.0.*", authority.PublicKey()))}
				dialTarget(t, dialer(t, remote.Options{}), to)
				if n+m > 0 {
					return
				}
				name := knownhosts.Normalize(s.Addr())
				to.KnownHosts = []string{write(t, "known_hosts", entry("", name, hostKey.PublicKey()))}
				dialTarget(t, dialer(t, remote.Options{}), to) // without an authority in known_hosts, the key itself counts
				to.KnownHosts = []string{write(t, "known_hosts", entry("@cert-authority", name, stranger.PublicKey()))}
				dialRefused(t, dialer(t, remote.Options{}), to, remote.HostKeyMismatch, "certificate", "not valid")
				to.KnownHosts = []string{write(t, "known_hosts", entry("@cert-authority", "127.0.0.*", authority.PublicKey())+
					entry("@revoked", "*", hostKey.PublicKey()))}
				dialRefused(t, dialer(t, remote.Options{}), to, remote.HostKeyMismatch)
			})
		}
	}
	t.Run("for another name", func(t *testing.T) {
		authority, _ := key(t)
		c, err := ssh.NewCertSigner(certificate(t, authority, ssh.HostCert, keys[0].PublicKey(), "elsewhere"), keys[0])
		if err != nil {
			t.Fatal(err)
		}
		s := sshtest.Start(t, sshtest.Config{HostKeys: []ssh.Signer{c}})
		to := targetOf(s)
		to.KnownHosts = []string{write(t, "known_hosts", entry("@cert-authority", "*", authority.PublicKey()))}
		dialRefused(t, dialer(t, remote.Options{}), to, remote.HostKeyMismatch, "elsewhere")
	})
}

func TestHostKeyAlias(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	to := targetOf(s)
	key := hostKeyOf(t, s)
	to.KnownHosts = []string{write(t, "known_hosts", entry("", "alias", key))}
	dialRefused(t, dialer(t, remote.Options{}), to, remote.HostKeyUnknown)
	to.Config = write(t, "config", "Host 127.0.0.1\n HostKeyAlias alias\n")
	dialTarget(t, dialer(t, remote.Options{}), to)
}

// hostKeyOf connects to s and returns its host key.
func hostKeyOf(t *testing.T, s *sshtest.Server) ssh.PublicKey {
	t.Helper()
	var seen ssh.PublicKey
	c, err := ssh.Dial("tcp", s.Addr(), &ssh.ClientConfig{
		User: "core", Auth: []ssh.AuthMethod{ssh.PublicKeys(s.Key)},
		HostKeyCallback: func(_ string, _ net.Addr, k ssh.PublicKey) error { seen = k; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	return seen
}

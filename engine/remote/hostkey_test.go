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

// knownHostsLine returns a line of known_hosts for a pattern.
func knownHostsLine(marker, pattern string, k ssh.PublicKey) string {
	return strings.TrimSpace(marker+" "+pattern+" "+strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k)))) + "\n"
}

func TestHostKey(t *testing.T) {
	t.Parallel()
	keys := hostKeysOfAllTypes(t)
	ed, ec, rsa := keys[0].PublicKey(), keys[1].PublicKey(), keys[2].PublicKey()
	signer, _ := newKey(t)
	other := signer.PublicKey()
	s := sshtest.Start(t, sshtest.Config{HostKeys: keys})
	name := knownhosts.Normalize(s.Addr())
	const unknown, mismatch = remote.HostKeyUnknown, remote.HostKeyMismatch

	for _, c := range []struct {
		name, text string
		kind       remote.Kind // 0: the connection is accepted
		words      []string
	}{
		{"plain", knownHostsLine("", name, ed), 0, nil},
		{"hashed", knownHostsLine("", knownhosts.HashHostname(name), ed), 0, nil},
		{"only ecdsa known", knownHostsLine("", name, ec), 0, nil},
		{"only rsa known", knownHostsLine("", name, rsa), 0, nil},
		{"hashed rsa", knownHostsLine("", knownhosts.HashHostname(name), rsa), 0, nil},
		{"two types", knownHostsLine("", name, rsa) + knownHostsLine("", name, ed), 0, nil},
		{"old and new key", knownHostsLine("", name, other) + knownHostsLine("", name, ed), 0, nil},
		{"wildcard", knownHostsLine("", "127.0.0.*", ec), 0, nil},
		{"comments", "# hosts\n\n" + knownHostsLine("", "elsewhere", other) + knownHostsLine("", name, ed), 0, nil},

		{"empty", "", unknown, []string{"no entry in", "SHA256:", "add it: [127.0.0.1]:"}},
		{"other host", knownHostsLine("", "elsewhere", ed), unknown, []string{"no entry in"}},
		{"without the port", knownHostsLine("", "127.0.0.1", ed), 0, nil},
		{"hashed without the port", knownHostsLine("", knownhosts.HashHostname("127.0.0.1"), ed), 0, nil},
		{"other key without the port", knownHostsLine("", "127.0.0.1", other), mismatch, []string{"known_hosts:1"}},
		{"other key of the port", knownHostsLine("", "127.0.0.1", ed) + knownHostsLine("", name, other), mismatch, []string{"known_hosts:2"}},
		{"other port", knownHostsLine("", "[127.0.0.1]:1", ed), unknown, []string{"no entry in"}},
		{"excluded", knownHostsLine("", "!"+name+","+name, ed), unknown, nil},
		{"authority without certificate", knownHostsLine("@cert-authority", "127.0.0.*", other), unknown, []string{"no certificate"}},
		{"authority's own key", knownHostsLine("@cert-authority", name, ed), unknown, []string{"no certificate"}},

		{
			"other key", "# one\n" + knownHostsLine("", name, other), mismatch,
			[]string{ssh.FingerprintSHA256(other), ssh.FingerprintSHA256(ed), "known_hosts:2", "reinstalled"},
		},
		{"hashed other key", knownHostsLine("", knownhosts.HashHostname(name), other), mismatch, []string{"known_hosts:1"}},
		{"revoked", knownHostsLine("", name, ed) + knownHostsLine("@revoked", "*", ed), mismatch, []string{"revoked", "known_hosts:2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := targetOf(s)
			to.KnownHosts = []string{writeFile(t, "known_hosts", c.text)}
			if c.kind == 0 {
				dialTarget(t, newDialer(t, remote.Options{}), to)
				return
			}
			text := dialRefused(t, newDialer(t, remote.Options{}), to, c.kind, append(c.words, "h1: ")...)
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
	to.KnownHosts = []string{writeFile(t, "known_hosts", knownHostsLine("", knownhosts.Normalize(s.Addr()), keys[2].PublicKey()))}
	dialRefused(t, newDialer(t, remote.Options{}), to, remote.HostKeyMismatch,
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
			to.KnownHosts = []string{writeFile(t, "known_hosts", knownHostsLine("", knownhosts.Normalize(s.Addr()), keys[2].PublicKey()))}
			dialTarget(t, newDialer(t, remote.Options{}), to)
		})
	}
}

func TestHostCertificate(t *testing.T) {
	t.Parallel()
	keys := hostKeysOfAllTypes(t)
	stranger, _ := newKey(t)
	for n, hostKey := range keys {
		for m, authority := range hostKeysOfAllTypes(t) { // an authority may have another key type than the host
			t.Run(fmt.Sprintf("%s by %s", hostKey.PublicKey().Type(), authority.PublicKey().Type()), func(t *testing.T) {
				c, err := ssh.NewCertSigner(signCertificate(t, authority, ssh.HostCert, hostKey.PublicKey(), "127.0.0.1"), hostKey)
				if err != nil {
					t.Fatal(err)
				}
				s := sshtest.Start(t, sshtest.Config{HostKeys: []ssh.Signer{c, hostKey}})
				to := targetOf(s)
				to.KnownHosts = []string{writeFile(t, "known_hosts", knownHostsLine("@cert-authority", "127.0.0.*", authority.PublicKey()))}
				dialTarget(t, newDialer(t, remote.Options{}), to)
				if n+m > 0 {
					return
				}
				name := knownhosts.Normalize(s.Addr())
				to.KnownHosts = []string{writeFile(t, "known_hosts", knownHostsLine("", name, hostKey.PublicKey()))}
				dialTarget(t, newDialer(t, remote.Options{}), to) // without an authority in known_hosts, the key itself counts
				to.KnownHosts = []string{writeFile(t, "known_hosts", knownHostsLine("@cert-authority", name, stranger.PublicKey()))}
				dialRefused(t, newDialer(t, remote.Options{}), to, remote.HostKeyMismatch, "certificate", "not valid")
				to.KnownHosts = []string{writeFile(t, "known_hosts", knownHostsLine("@cert-authority", "127.0.0.*", authority.PublicKey())+
					knownHostsLine("@revoked", "*", hostKey.PublicKey()))}
				dialRefused(t, newDialer(t, remote.Options{}), to, remote.HostKeyMismatch)
			})
		}
	}
}

// TestHostCertificateNames checks that a certificate may name hosts by a pattern, and that the plain key counts if the
// certificate is refused, unless a key is revoked.
func TestHostCertificateNames(t *testing.T) {
	t.Parallel()
	authority, _ := newKey(t)
	hostKey, _ := newKey(t)
	ca, plain := authority.PublicKey(), hostKey.PublicKey()
	trusted := knownHostsLine("@cert-authority", "*", ca)
	const mismatch = remote.HostKeyMismatch
	for _, c := range []struct {
		name, principal, known, config string
		kind                           remote.Kind // 0: the connection is accepted
		word                           string
	}{
		{name: "a pattern", principal: "127.0.0.*", known: trusted},
		{name: "a pattern for others", principal: "10.*", known: trusted, kind: mismatch, word: "10.*"},
		{name: "another name", principal: "elsewhere", known: trusted, kind: mismatch, word: "elsewhere"},
		{name: "another name and the plain key", principal: "elsewhere", known: trusted + knownHostsLine("", "127.0.0.*", plain)},
		{name: "another authority and the plain key", principal: "127.0.0.1", known: knownHostsLine("@cert-authority", "*", plain) + knownHostsLine("", "127.0.0.*", plain)},
		{
			name: "a signature that is not allowed", principal: "127.0.0.1", known: trusted + knownHostsLine("", "127.0.0.*", plain),
			config: "CASignatureAlgorithms rsa-sha2-512",
		},
		{
			name: "the plain key is revoked", principal: "elsewhere", known: trusted + knownHostsLine("", "127.0.0.*", plain) + knownHostsLine("@revoked", "*", plain),
			kind: mismatch, word: "revoked",
		},
		{
			name: "the authority is revoked", principal: "127.0.0.1", known: trusted + knownHostsLine("", "127.0.0.*", plain) + knownHostsLine("@revoked", "*", ca),
			kind: mismatch, word: "revoked",
		},
		{
			name: "only certificates", principal: "elsewhere", known: trusted + knownHostsLine("", "127.0.0.*", plain),
			config: "HostKeyAlgorithms *-cert-*", kind: mismatch, word: "elsewhere",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			signer, err := ssh.NewCertSigner(signCertificate(t, authority, ssh.HostCert, plain, c.principal), hostKey)
			if err != nil {
				t.Fatal(err)
			}
			to := targetOf(sshtest.Start(t, sshtest.Config{HostKeys: []ssh.Signer{signer}}))
			to.KnownHosts = []string{writeFile(t, "known_hosts", c.known)}
			to.Config = writeFile(t, "config", "Host *\n"+c.config+"\n")
			if c.kind == 0 {
				dialTarget(t, newDialer(t, remote.Options{}), to)
				return
			}
			dialRefused(t, newDialer(t, remote.Options{}), to, c.kind, c.word)
		})
	}
}

func TestHostKeyAlias(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	to := targetOf(s)
	key := hostKeyOf(t, s)
	for alias, found := range map[string]bool{"alias": true, "fd00::1": true, "[gw]:2201": true, "[fd00::1]:2201": true, "[gw]:2202": false, "gw": false, "fd00::2": false} {
		lines := knownHostsLine("", "alias", key) + knownHostsLine("", "fd00::1", key) + knownHostsLine("", "[gw]:2201,[fd00::1]:2201", key)
		to.KnownHosts, to.Config = []string{writeFile(t, "known_hosts", lines)}, ""
		dialRefused(t, newDialer(t, remote.Options{}), to, remote.HostKeyUnknown)
		to.Config = writeFile(t, "config", "Host 127.0.0.1\n HostKeyAlias "+alias+"\n")
		if found {
			dialTarget(t, newDialer(t, remote.Options{}), to)
		} else {
			dialRefused(t, newDialer(t, remote.Options{}), to, remote.HostKeyUnknown)
		}
	}
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

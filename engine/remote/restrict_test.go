package remote_test

import (
	"crypto/rand"
	"crypto/rsa"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"holdfast/engine/remote"
	"holdfast/engine/remote/sshtest"
)

// publicLine returns a public key as a line of a file of public keys.
func publicLine(k ssh.PublicKey) string { return string(ssh.MarshalAuthorizedKey(k)) }

// TestRevokedHostKeys checks that keys and authorities in files of RevokedHostKeys are refused. If such a file cannot
// be read or parsed, every host is refused, as in ssh.
func TestRevokedHostKeys(t *testing.T) {
	t.Parallel()
	authority, _ := newKey(t)
	hostKey, _ := newKey(t)
	stranger, _ := newKey(t)
	signed, err := ssh.NewCertSigner(signCertificate(t, authority, ssh.HostCert, hostKey.PublicKey(), "127.0.0.1"), hostKey)
	if err != nil {
		t.Fatal(err)
	}
	plain := sshtest.Start(t, sshtest.Config{HostKeys: []ssh.Signer{hostKey}})
	certified := sshtest.Start(t, sshtest.Config{HostKeys: []ssh.Signer{signed}})
	const mismatch, config = remote.HostKeyMismatch, remote.Config
	for _, c := range []struct {
		name, revoked string
		certified     bool
		kind          remote.Kind // 0: the connection is accepted
		words         []string
	}{
		{"another key", publicLine(stranger.PublicKey()), false, 0, nil},
		{"comments", "# none yet\n\n", false, 0, nil},
		{"the key", "# gone\n" + publicLine(hostKey.PublicKey()), false, mismatch, []string{"revoked:2", "revoked"}},
		{"the key in a certificate", publicLine(hostKey.PublicKey()), true, mismatch, []string{"revoked:1", "revoked"}},
		{"the authority", publicLine(stranger.PublicKey()) + publicLine(authority.PublicKey()), true, mismatch, []string{"revoked:2", "revoked"}},
		{"a key revocation list", "SSHKRL\n\x00\x00\x00\x00\x01", false, config, []string{"key revocation list", "one public key per line"}},
		{"no key", "ssh-ed25519 AAAA\n", false, config, []string{"revoked:1"}},
		{"a key of a type that is not known", publicLine(stranger.PublicKey()) + "ssh-future AAAA\n", false, config, []string{"revoked:2", "correct the line or remove it"}},
		{"a tab", strings.Replace(publicLine(hostKey.PublicKey()), " ", "\t", 1), false, mismatch, []string{"revoked:1"}},
		{"line ends of Windows", strings.Replace(publicLine(hostKey.PublicKey()), "\n", "\r\n", 1), false, mismatch, []string{"revoked:1"}},
		{"a byte order mark", "\ufeff" + publicLine(hostKey.PublicKey()), false, config, []string{"revoked:1"}},
		{"options", "no-pty " + publicLine(hostKey.PublicKey()), false, config, []string{"revoked:1"}},
		{"a typing error", strings.Replace(publicLine(hostKey.PublicKey()), "ed25519", "ed2551", 1), false, config, []string{"revoked:1"}},
		{"another type", strings.Replace(publicLine(hostKey.PublicKey()), "ssh-ed25519", "ssh-rsa", 1), false, config, []string{"revoked:1"}},
		{"a line of known_hosts", "* " + publicLine(hostKey.PublicKey()), false, config, []string{"revoked:1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, known := plain, knownHostsLine("", knownhosts.Normalize(plain.Addr()), hostKey.PublicKey())
			if c.certified {
				s, known = certified, knownHostsLine("@cert-authority", "127.0.0.*", authority.PublicKey())
			}
			to := targetOf(s)
			to.KnownHosts = []string{writeFile(t, "known_hosts", known)}
			to.Config = writeFile(t, "config", "Host *\n  RevokedHostKeys "+writeFile(t, "revoked", c.revoked)+"\n")
			if c.kind == 0 {
				dialTarget(t, newDialer(t, remote.Options{}), to)
				return
			}
			dialRefused(t, newDialer(t, remote.Options{}), to, c.kind, c.words...)
		})
	}
	t.Run("a missing file", func(t *testing.T) {
		to := targetOf(plain)
		to.Config = writeFile(t, "config", "Host *\n  RevokedHostKeys "+filepath.Join(t.TempDir(), "none")+"\n")
		dialRefused(t, newDialer(t, remote.Options{}), to, config, "RevokedHostKeys")
	})
	t.Run("two files", func(t *testing.T) {
		to := targetOf(plain)
		to.KnownHosts = []string{writeFile(t, "known_hosts", knownHostsLine("", knownhosts.Normalize(plain.Addr()), hostKey.PublicKey()))}
		to.Config = writeFile(t, "config", "Host *\n  RevokedHostKeys "+writeFile(t, "one", publicLine(stranger.PublicKey()))+" "+
			writeFile(t, "two", publicLine(hostKey.PublicKey()))+"\n")
		dialRefused(t, newDialer(t, remote.Options{}), to, mismatch, "two:1")
	})
}

// TestRevokedAuthority checks that @revoked in known_hosts also revokes the key that signed a certificate.
func TestRevokedAuthority(t *testing.T) {
	t.Parallel()
	authority, _ := newKey(t)
	hostKey, _ := newKey(t)
	signed, err := ssh.NewCertSigner(signCertificate(t, authority, ssh.HostCert, hostKey.PublicKey(), "127.0.0.1"), hostKey)
	if err != nil {
		t.Fatal(err)
	}
	to := targetOf(sshtest.Start(t, sshtest.Config{HostKeys: []ssh.Signer{signed}}))
	trusted := knownHostsLine("@cert-authority", "127.0.0.*", authority.PublicKey())
	to.KnownHosts = []string{writeFile(t, "known_hosts", trusted)}
	dialTarget(t, newDialer(t, remote.Options{}), to)
	to.KnownHosts = []string{writeFile(t, "known_hosts", trusted+knownHostsLine("@revoked", "*", authority.PublicKey()))}
	dialRefused(t, newDialer(t, remote.Options{}), to, remote.HostKeyMismatch, "revoked", "known_hosts:2")
}

// TestKnownHostsLines checks that an invalid line is skipped with a warning. If the line may revoke a key that a host
// can show, every host is refused.
func TestKnownHostsLines(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	good := knownHostsLine("", knownhosts.Normalize(s.Addr()), s.HostKey())
	for _, c := range []struct {
		name, line string
		warns      string // "": the line is refused
		words      string
	}{
		{"unknown type", "elsewhere ssh-future AAAAC3NzaC1mdXR1cmU=\n", "known_hosts:1: skipped", ""},
		{"SSH 1", "elsewhere 2048 65537 1234567890\n", "known_hosts:1: skipped", ""},
		{"broken key", "elsewhere ssh-ed25519 AAAA\n", "known_hosts:1: skipped", ""},
		{"too short", "elsewhere\n", "known_hosts:1: skipped", ""},
		{"hashed name without a hash", "|1|c2FsdA== " + publicLine(s.HostKey()), "known_hosts:1: skipped", ""},
		{"hashed name of another kind", "|2|c2FsdA==|aGFzaA== " + publicLine(s.HostKey()), "known_hosts:1: skipped", ""},
		{"unknown marker", "@future elsewhere " + publicLine(s.HostKey()), "", "known_hosts:1: unknown marker @future: correct the line or remove it"},
		{"misspelt marker", "@revokd * " + publicLine(s.HostKey()), "", "known_hosts:1: "},
		{"marker after a byte order mark", "\ufeff@revoked * " + publicLine(s.HostKey()), "", "known_hosts:1: "},
		{"revoked, unknown type", "@revoked * ssh-future AAAAC3NzaC1mdXR1cmU=\n", "", "known_hosts:1: "},
		{"revoked, broken key", "@revoked * ssh-ed25519 AAAA\n", "", "known_hosts:1: "},
		{"revoked, too short", "@revoked *\n", "", "known_hosts:1: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mu sync.Mutex
			var warnings []string
			d := newDialer(t, remote.Options{Warn: func(text string) {
				mu.Lock()
				defer mu.Unlock()
				warnings = append(warnings, text)
			}})
			to := targetOf(s)
			to.KnownHosts = []string{writeFile(t, "known_hosts", c.line+good)}
			if c.warns == "" {
				dialRefused(t, d, to, remote.Config, c.words)
				return
			}
			dialTarget(t, d, to)
			dialTarget(t, d, to)
			if len(warnings) != 1 || !strings.Contains(warnings[0], c.warns) {
				t.Errorf("warnings %q, want one with %q", warnings, c.warns)
			}
		})
	}
}

// TestKnownHostsCase checks that host names match in any case: in known_hosts, in patterns, hashed, and in
// certificates.
func TestKnownHostsCase(t *testing.T) {
	t.Parallel()
	authority, _ := newKey(t)
	hostKey, _ := newKey(t)
	signed, err := ssh.NewCertSigner(signCertificate(t, authority, ssh.HostCert, hostKey.PublicKey(), "localhost"), hostKey)
	if err != nil {
		t.Fatal(err)
	}
	plain := sshtest.Start(t, sshtest.Config{HostKeys: []ssh.Signer{hostKey}})
	certified := sshtest.Start(t, sshtest.Config{HostKeys: []ssh.Signer{signed}})
	for _, c := range []struct {
		name, address, known string
		server               *sshtest.Server
	}{
		{"address", "LocalHost", knownHostsLine("", "[localhost]:PORT", hostKey.PublicKey()), plain},
		{"line", "localhost", knownHostsLine("", "[LOCALHOST]:PORT", hostKey.PublicKey()), plain},
		{"pattern", "localHOST", knownHostsLine("", "[Local*]:PORT", hostKey.PublicKey()), plain},
		{"hash", "Localhost", "HASHED", plain},
		{"certificate", "LocalHost", knownHostsLine("@cert-authority", "localhost,*.localhost", authority.PublicKey()), certified},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := targetOf(c.server)
			_, port, _ := strings.Cut(c.server.Addr(), ":")
			text := strings.ReplaceAll(c.known, "PORT", port)
			if c.known == "HASHED" {
				text = knownHostsLine("", knownhosts.HashHostname("[localhost]:"+port), hostKey.PublicKey())
			}
			if c.server == certified {
				text = knownHostsLine("@cert-authority", "[localhost]:"+port, authority.PublicKey())
			}
			to.Address, to.KnownHosts = c.address, []string{writeFile(t, "known_hosts", text)}
			dialTarget(t, newDialer(t, remote.Options{}), to)
		})
	}
}

// TestStricterConfig checks that restrictions of ssh_config apply, or that Dial refuses them with a reason, and never
// ignores them.
func TestStricterConfig(t *testing.T) {
	t.Parallel()
	ed := sshtest.Start(t, sshtest.Config{})
	small, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	smallKey, err := ssh.NewSignerFromKey(small)
	if err != nil {
		t.Fatal(err)
	}
	ofRSA := sshtest.Start(t, sshtest.Config{HostKeys: []ssh.Signer{smallKey}})
	hostKey, _ := newKey(t)
	signed, err := ssh.NewCertSigner(signCertificate(t, smallKey, ssh.HostCert, hostKey.PublicKey(), "127.0.0.1"), hostKey)
	if err != nil {
		t.Fatal(err)
	}
	certified := sshtest.Start(t, sshtest.Config{HostKeys: []ssh.Signer{signed}})
	authority := knownHostsLine("@cert-authority", "127.0.0.*", smallKey.PublicKey())
	for _, c := range []struct {
		name, option string
		server       *sshtest.Server
		kind         remote.Kind // 0: the connection is accepted
		words        string
	}{
		{"host key algorithms", "HostKeyAlgorithms ecdsa-sha2-*", ed, remote.Unreachable, "host key"},
		{"host key algorithms without one", "HostKeyAlgorithms -ssh-ed25519", ed, remote.Unreachable, "host key"},
		{"host key algorithms with it", "HostKeyAlgorithms ssh-ed25519,ssh-dss", ed, 0, ""},
		{"host key algorithms and more", "HostKeyAlgorithms +ssh-dss", ed, 0, ""},
		{"host key algorithms in order", "HostKeyAlgorithms ^ssh-ed25519", ed, 0, ""},
		{"host key algorithms that nobody knows", "HostKeyAlgorithms ssh-future", ed, remote.Config, "HostKeyAlgorithms ssh-future"},
		{"login algorithms", "PubkeyAcceptedAlgorithms rsa-sha2-*", ed, remote.Auth, "PubkeyAcceptedAlgorithms"},
		{"login algorithms by their old name", "PubkeyAcceptedKeyTypes rsa-sha2-*", ed, remote.Auth, "PubkeyAcceptedAlgorithms"},
		{"login algorithms with it", "PubkeyAcceptedAlgorithms ssh-ed25519", ed, 0, ""},
		{"login algorithms without one", "PubkeyAcceptedAlgorithms -ssh-ed25519", ed, remote.Auth, "PubkeyAcceptedAlgorithms"},
		{"authorities' algorithms", "CASignatureAlgorithms ssh-ed25519", certified, remote.HostKeyMismatch, "CASignatureAlgorithms"},
		{"authorities' algorithms with it", "CASignatureAlgorithms ssh-ed25519,rsa-sha2-256,rsa-sha2-512", certified, 0, ""},
		{"ciphers", "Ciphers aes192-ctr", ed, 0, ""},
		{"ciphers that nobody knows", "Ciphers future", ed, remote.Config, "Ciphers future"},
		{"MACs", "MACs hmac-sha2-512", ed, 0, ""},
		{"key exchange", "KexAlgorithms ecdh-sha2-nistp384", ed, 0, ""},
		{"key exchange that nobody knows", "KexAlgorithms future", ed, remote.Config, "KexAlgorithms future"},
		{"size of RSA keys", "RequiredRSASize 3072", ofRSA, remote.HostKeyMismatch, "RequiredRSASize"},
		{"size of RSA keys that is reached", "RequiredRSASize 2048", ofRSA, 0, ""},
		{"address family", "AddressFamily inet6", ed, remote.Unreachable, ""},
		{"address family with it", "AddressFamily inet", ed, 0, ""},
		{"no login with keys", "PubkeyAuthentication no", ed, remote.Config, "PubkeyAuthentication no"},
		{"false", "PubkeyAuthentication False", ed, remote.Config, "config:2: PubkeyAuthentication False"},
		{"bound logins", "PubkeyAuthentication host-bound", ed, 0, ""},
		{"no ProxyUseFdpass", "ProxyCommand false\n  ProxyUseFdpass false", ed, remote.Unreachable, "ProxyCommand"},
		{"ProxyUseFdpass", "ProxyCommand false\n  ProxyUseFdpass true", ed, remote.Config, "config:3: ProxyUseFdpass"},
		{"another way to log in", "PreferredAuthentications password,keyboard-interactive", ed, remote.Config, "PreferredAuthentications"},
		{"a way to log in", "PreferredAuthentications publickey,password", ed, 0, ""},
		{"no connection", "RefuseConnection \"in repair\"", ed, remote.Config, "in repair"},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := targetOf(c.server)
			if c.server == certified {
				to.KnownHosts = []string{writeFile(t, "known_hosts", authority)}
			}
			to.Config = writeFile(t, "config", "Host *\n  "+c.option+"\n")
			if c.kind == 0 {
				dialTarget(t, newDialer(t, remote.Options{}), to)
				return
			}
			dialRefused(t, newDialer(t, remote.Options{}), to, c.kind, c.words)
		})
	}
	for _, option := range []string{"CheckHostIP yes", "CheckHostIP true", "CanonicalizeHostname always", "BindAddress 127.0.0.1", "BindInterface lo"} {
		t.Run(option, func(t *testing.T) {
			var warnings []string
			to := targetOf(ed)
			to.Config = writeFile(t, "config", "Host *\n  "+option+"\n")
			dialTarget(t, newDialer(t, remote.Options{Warn: func(text string) { warnings = append(warnings, text) }}), to)
			if len(warnings) != 1 || !strings.Contains(warnings[0], option) {
				t.Errorf("warnings %q, want one about %s", warnings, option)
			}
		})
	}
}

// TestJumpShared checks that hosts share a connection to a jump host only if their settings for the jump host are
// equal.
func TestJumpShared(t *testing.T) {
	t.Parallel()
	jump, a, b := sshtest.Start(t, sshtest.Config{}), sshtest.Start(t, sshtest.Config{}), sshtest.Start(t, sshtest.Config{})
	d := newDialer(t, remote.Options{})
	first := targetBehind(a, jump)
	dialTarget(t, d, first)
	same := first
	same.Name = "h2"
	dialTarget(t, d, same)
	if n := jump.Connections(); n != 1 {
		t.Fatalf("%d connections for two hosts with the same settings, want 1", n)
	}

	t.Run("not with other known_hosts", func(t *testing.T) {
		stranger := targetBehind(b, jump)
		stranger.KnownHosts = stranger.KnownHosts[:1] // only the entry of b
		dialRefused(t, d, stranger, remote.HostKeyUnknown, "jump host")
	})
	t.Run("not with other identities", func(t *testing.T) {
		keyless := first
		keyless.Identities = []string{b.Identity}
		dialRefused(t, d, keyless, remote.Auth, "jump host")
	})
	t.Run("not with another ssh_config", func(t *testing.T) {
		strict := first
		strict.Config = writeFile(t, "config", "Host 127.0.0.1\n  RevokedHostKeys "+writeFile(t, "revoked", publicLine(jump.HostKey()))+"\n")
		dialRefused(t, d, strict, remote.HostKeyMismatch, "jump host")
	})
}

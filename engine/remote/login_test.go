package remote_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/conc"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"holdfast/engine/remote"
	"holdfast/engine/remote/sshconfig"
	"holdfast/engine/remote/sshtest"
)

func TestConnectFails(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	closed := sshtest.Start(t, sshtest.Config{})
	closed.Close()
	silent := sshtest.Start(t, sshtest.Config{Silent: true})
	mute, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and closes them at once
	if err != nil {
		t.Fatal(err)
	}
	var wg conc.WaitGroup
	wg.Go(func() {
		for c, err := mute.Accept(); err == nil; c, err = mute.Accept() {
			_ = c.Close()
		}
	})
	defer wg.Wait()
	defer func() { _ = mute.Close() }()

	for _, c := range []struct {
		name   string
		change func(*sshconfig.Target)
		kind   remote.Kind
		words  []string
	}{
		{"refused", func(t *sshconfig.Target) { t.Port = closed.Port() }, remote.Refused, []string{"h1: connect to 127.0.0.1:", "connection refused"}},
		{"no such name", func(t *sshconfig.Target) { t.Address = "no-such-host.invalid" }, remote.Resolve, []string{"no-such-host.invalid"}},
		{"hangs", func(t *sshconfig.Target) { t.Port, t.ConnectTimeout = silent.Port(), 200*time.Millisecond }, remote.Unreachable, []string{"no SSH greeting within 200ms"}},
		{"closes", func(t *sshconfig.Target) { t.Port = mute.Addr().(*net.TCPAddr).Port }, remote.Unreachable, []string{"closed the connection"}},
		{"wrong user", func(t *sshconfig.Target) { t.User = "nobody" }, remote.Auth, []string{"log in as nobody@127.0.0.1:", "SHA256:", "publickey", "check the user"}},
		{"bad address", func(t *sshconfig.Target) { t.Address = "a b" }, remote.Config, []string{`"a b" is not a host`}},
		{"no address", func(t *sshconfig.Target) { t.Name, t.Address = "", "" }, remote.Config, []string{"no address"}},
		{"bad port", func(t *sshconfig.Target) { t.Port = 70000 }, remote.Config, []string{"70000"}},
		{"bad become", func(t *sshconfig.Target) { t.Become = "doas" }, remote.Config, []string{"doas"}},
		{"key missing", func(t *sshconfig.Target) { t.Identities = []string{"/no/such/key"} }, remote.Config, []string{"/no/such/key"}},
		{"known_hosts missing", func(t *sshconfig.Target) { t.KnownHosts = []string{"/no/such/file"} }, remote.Config, []string{"/no/such/file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := targetOf(s)
			c.change(&to)
			dialRefused(t, newDialer(t, remote.Options{}), to, c.kind, c.words...)
		})
	}
}

// TestDialCanceled checks the kind of the error when a context or a timeout
// ends Dial.
func TestDialCanceled(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{Silent: true})
	ctx, cancel := context.WithCancel(context.Background())
	d := newDialer(t, remote.Options{})
	var wg conc.WaitGroup
	defer wg.Wait()
	wg.Go(func() { s.AwaitConnections(1); cancel() })
	_, err := d.Dial(ctx, targetOf(s))
	if checkError(t, err, remote.Canceled); !errors.Is(err, context.Canceled) {
		t.Error("not context.Canceled")
	}
	timed, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = d.Dial(timed, targetOf(s))
	checkError(t, err, remote.Timeout)
}

func TestPassphrase(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{Authorized: []ssh.PublicKey{readPublicKey(t, "locked"), readPublicKey(t, "locked-pem")}})
	locked := targetOf(s)
	locked.Identities = []string{"testdata/locked"}
	for _, c := range []struct {
		name        string
		passphrases []string
		err         error
		asked       int
		words       string
	}{
		{"right", []string{"open sesame"}, nil, 1, ""},
		{"second try", []string{"typo", "open sesame"}, nil, 2, ""},
		{"wrong from a file", []string{"wrong"}, nil, 2, "wrong passphrase"},
		{"wrong each time", []string{"a", "b", "c", "open sesame"}, nil, 3, "wrong passphrase"},
		{"empty", []string{""}, nil, 1, "no passphrase was given"},
		{"empty after a wrong one", []string{"a", ""}, nil, 2, "wrong passphrase"},
		{"nobody there", nil, errors.New("no terminal"), 1, "no terminal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			asks := newSecrets()
			asks.passphrases, asks.err = c.passphrases, c.err
			d := newDialer(t, remote.Options{Secrets: asks})
			for range 2 { // one question is enough for all hosts
				if c.words == "" {
					dialTarget(t, d, locked)
				} else {
					dialRefused(t, d, locked, remote.Passphrase, c.words, locked.Identities[0], "; load the key into an agent")
				}
			}
			if len(asks.asked) != c.asked {
				t.Errorf("asked %d times, want %d", len(asks.asked), c.asked)
			}
		})
	}
	t.Run("unknown cipher", func(t *testing.T) {
		unknown, asks := locked, newSecrets()
		unknown.Identities, asks.passphrases = []string{withCipher(t, "testdata/locked", "aes256-ctr", "aes128-ctr")}, []string{"open sesame"}
		dialRefused(t, newDialer(t, remote.Options{Secrets: asks}), unknown, remote.Passphrase, `unknown cipher "aes128-ctr"`)
	})
	t.Run("nobody to ask", func(t *testing.T) {
		dialRefused(t, newDialer(t, remote.Options{}), locked, remote.Passphrase, "it has a passphrase")
	})
	t.Run("not asked for a key the host does not take", func(t *testing.T) {
		open := sshtest.Start(t, sshtest.Config{})
		both := targetOf(open)
		both.Identities = []string{"testdata/locked", open.Identity}
		asks := newSecrets()
		dialTarget(t, newDialer(t, remote.Options{Secrets: asks}), both)
		if len(asks.asked) > 0 {
			t.Error("asked")
		}
	})
	t.Run("old format", func(t *testing.T) {
		old := locked
		old.Identities = []string{"testdata/locked-pem"}
		asks := newSecrets()
		asks.passphrases = []string{"open sesame"}
		dialTarget(t, newDialer(t, remote.Options{Secrets: asks}), old)
	})
	t.Run("old format without public half", func(t *testing.T) {
		old := locked
		old.Identities = []string{writeFile(t, "key", readFile(t, "testdata/locked-pem"))}
		dialRefused(t, newDialer(t, remote.Options{Secrets: newSecrets()}), old, remote.Passphrase, "key.pub is missing")
	})
}

// withCipher returns the path of a copy of a locked key file that names another
// cipher.
func withCipher(t *testing.T, path, is, want string) string {
	t.Helper()
	block, _ := pem.Decode([]byte(readFile(t, path)))
	block.Bytes = bytes.Replace(block.Bytes, []byte(is), []byte(want), 1)
	return writeFile(t, "key", string(pem.EncodeToMemory(block)))
}

// readPublicKey returns the public key of a key pair in testdata.
func readPublicKey(t *testing.T, name string) ssh.PublicKey {
	t.Helper()
	k, _, _, _, err := ssh.ParseAuthorizedKey([]byte(readFile(t, "testdata/"+name+".pub")))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// agentWith serves an agent with the keys on a socket and returns the path of
// the socket.
func agentWith(t *testing.T, keys ...any) string {
	t.Helper()
	ring := agent.NewKeyring()
	for _, k := range keys {
		if err := ring.Add(agent.AddedKey{PrivateKey: k}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var wg conc.WaitGroup
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	wg.Go(func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			wg.Go(func() { _ = agent.ServeAgent(ring, c); _ = c.Close() })
		}
	})
	return path
}

func TestAgent(t *testing.T) {
	t.Parallel()
	signer, private := newKey(t)
	_, other := newKey(t)
	s := sshtest.Start(t, sshtest.Config{Authorized: []ssh.PublicKey{signer.PublicKey(), readPublicKey(t, "locked")}})
	without := targetOf(s)
	without.Identities = nil

	t.Run("key of the agent", func(t *testing.T) {
		dialTarget(t, newDialer(t, remote.Options{Agent: agentWith(t, &other, &private)}), without)
	})
	t.Run("IdentityAgent", func(t *testing.T) {
		to := without
		to.Config = writeFile(t, "config", "IdentityAgent "+agentWith(t, &private)+"\n")
		dialTarget(t, newDialer(t, remote.Options{}), to)
	})
	t.Run("unlocked by the agent", func(t *testing.T) {
		to := without
		to.Identities = []string{"testdata/locked"}
		unlocked, err := ssh.ParseRawPrivateKeyWithPassphrase([]byte(readFile(t, "testdata/locked")), []byte("open sesame"))
		if err != nil {
			t.Fatal(err)
		}
		dialTarget(t, newDialer(t, remote.Options{Agent: agentWith(t, unlocked)}), to)
	})
	t.Run("public half only", func(t *testing.T) {
		to := without
		to.Identities = []string{strings.TrimSuffix(writeFile(t, "id.pub", string(ssh.MarshalAuthorizedKey(signer.PublicKey()))), ".pub")}
		to.Config = writeFile(t, "config", "IdentitiesOnly yes\n")
		dialTarget(t, newDialer(t, remote.Options{Agent: agentWith(t, &other, &private)}), to)
	})
	t.Run("IdentitiesOnly", func(t *testing.T) {
		to := without
		to.Identities = []string{keyFile(t, other)}
		to.Config = writeFile(t, "config", "IdentitiesOnly True\n")
		dialRefused(t, newDialer(t, remote.Options{Agent: agentWith(t, &private)}), to, remote.Auth, "no key was accepted")
	})
	t.Run("not the agent's", func(t *testing.T) {
		dialRefused(t, newDialer(t, remote.Options{Agent: agentWith(t, &other)}), without, remote.Auth, "agent SHA256:")
	})
	t.Run("gone", func(t *testing.T) {
		dialRefused(t, newDialer(t, remote.Options{Agent: "/no/such/agent"}), without, remote.Auth, "the agent cannot be used: dial unix", "there was no key to try", "; set identity in the ssh block, or start an agent (SSH_AUTH_SOCK)")
	})
}

// TestMissingFiles checks that the error for a file that the inventory names has the next step.
func TestMissingFiles(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	to := targetOf(s)
	to.KnownHosts = []string{"/nowhere/known_hosts"}
	dialRefused(t, newDialer(t, remote.Options{}), to, remote.Config, "/nowhere/known_hosts", "collect the keys of the hosts with ssh-keyscan and compare them, or correct known_hosts")
	to = targetOf(s)
	to.Identities = []string{"/nowhere/key"}
	dialRefused(t, newDialer(t, remote.Options{}), to, remote.Config, "/nowhere/key", "correct identity in the ssh block")
}

func TestDefaultIdentity(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	home := t.TempDir()
	text, err := os.ReadFile(s.Identity)
	if err == nil {
		err = os.MkdirAll(filepath.Join(home, ".ssh"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(home, ".ssh/id_ed25519"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	to := targetOf(s)
	to.Identities = nil
	dialTarget(t, newDialer(t, remote.Options{Home: home}), to)
}

// TestUserCertificate checks that a certificate beside the key logs in where
// the key alone does not.
func TestUserCertificate(t *testing.T) {
	t.Parallel()
	authority, _ := newKey(t)
	signer, private := newKey(t)
	s := sshtest.Start(t, sshtest.Config{Authorities: []ssh.PublicKey{authority.PublicKey()}})
	path := keyFile(t, private)
	to := targetOf(s)
	to.Identities = []string{path}
	dialRefused(t, newDialer(t, remote.Options{}), to, remote.Auth)
	c := signCertificate(t, authority, ssh.UserCert, signer.PublicKey(), "core")
	if err := os.WriteFile(path+"-cert.pub", ssh.MarshalAuthorizedKey(c), 0o600); err != nil {
		t.Fatal(err)
	}
	dialTarget(t, newDialer(t, remote.Options{}), to)
	withKey := remote.Options{Agent: agentWith(t, &private)}
	if err := os.WriteFile(path, []byte("no private key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".pub", ssh.MarshalAuthorizedKey(signer.PublicKey()), 0o600); err != nil {
		t.Fatal(err)
	}
	dialTarget(t, newDialer(t, withKey), to) // such as a key of a type that only the agent can use
	dialRefused(t, newDialer(t, remote.Options{}), to, remote.Auth, "read key "+path, "no agent has the private key")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	dialTarget(t, newDialer(t, withKey), to)
	to.Identities = []string{path + "-cert.pub"}
	dialTarget(t, newDialer(t, withKey), to)
}

// TestCertificateOfLockedKey checks that nobody is asked for the passphrase of a key whose private half is in the agent.
func TestCertificateOfLockedKey(t *testing.T) {
	t.Parallel()
	authority, _ := newKey(t)
	private, err := ssh.ParseRawPrivateKeyWithPassphrase([]byte(readFile(t, "testdata/locked")), []byte("open sesame"))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	s := sshtest.Start(t, sshtest.Config{Authorities: []ssh.PublicKey{authority.PublicKey()}})
	to := targetOf(s)
	to.Identities = []string{writeFile(t, "locked", readFile(t, "testdata/locked"))}
	c := signCertificate(t, authority, ssh.UserCert, signer.PublicKey(), "core")
	if err := os.WriteFile(to.Identities[0]+"-cert.pub", ssh.MarshalAuthorizedKey(c), 0o600); err != nil {
		t.Fatal(err)
	}
	dialTarget(t, newDialer(t, remote.Options{Agent: agentWith(t, private)}), to)
	dialTarget(t, newDialer(t, remote.Options{Agent: agentWith(t, private), Secrets: refusingSecrets{}}), to)
	dialRefused(t, newDialer(t, remote.Options{}), to, remote.Passphrase, "it has a passphrase")
}

// refusingSecrets knows no secret.
type refusingSecrets struct{}

func (refusingSecrets) Passphrase(context.Context, string) ([]byte, error) {
	return nil, errors.New("nobody is there")
}

func (refusingSecrets) BecomePassword(context.Context, string) ([]byte, error) {
	return nil, errors.New("nobody is there")
}

// signCertificate signs key for a name, for an hour.
func signCertificate(t *testing.T, authority ssh.Signer, kind uint32, key ssh.PublicKey, name string) *ssh.Certificate {
	t.Helper()
	c := &ssh.Certificate{
		Key: key, CertType: kind, KeyId: "test", ValidPrincipals: []string{name},
		ValidAfter: uint64(time.Now().Add(-time.Hour).Unix()), ValidBefore: uint64(time.Now().Add(time.Hour).Unix()),
	}
	if err := c.SignCert(rand.Reader, authority); err != nil {
		t.Fatal(err)
	}
	return c
}

// hostKeysOfAllTypes returns one host key of each usual type: ed25519, ecdsa, rsa.
func hostKeysOfAllTypes(t *testing.T) []ssh.Signer {
	t.Helper()
	ed, _ := newKey(t)
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	out := []ssh.Signer{ed}
	for _, k := range []any{ec, r} {
		s, err := ssh.NewSignerFromKey(k)
		if err != nil {
			t.Fatal(fmt.Errorf("%T: %w", k, err))
		}
		out = append(out, s)
	}
	return out
}

package remote_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"holdfast/engine/remote"
	"holdfast/engine/remote/sshconfig"
	"holdfast/engine/remote/sshtest"
)

// targetOf returns the Target that reaches s, independent of the machine's own ssh_config.
func targetOf(s *sshtest.Server) sshconfig.Target {
	return sshconfig.Target{
		Name: "h1", Address: "127.0.0.1", Port: s.Port(), User: "core", Become: "sudo", Config: "none",
		Identities: []string{s.Identity}, KnownHosts: []string{s.KnownHosts},
	}
}

// newDialer returns a Dialer that ends with the test and uses no settings of the
// machine.
func newDialer(tb testing.TB, o remote.Options) *remote.Dialer {
	tb.Helper()
	if o.Agent == "" {
		o.Agent = "none"
	}
	if o.Home == "" {
		o.Home = tb.TempDir()
	}
	d := remote.NewDialer(o)
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// dialTarget connects and ends the connection with the test.
func dialTarget(tb testing.TB, d *remote.Dialer, t sshconfig.Target) *remote.Host {
	tb.Helper()
	h, err := d.Dial(context.Background(), t)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = h.Close() })
	return h
}

// connect dials s with a new Dialer.
func connect(tb testing.TB, s *sshtest.Server) *remote.Host {
	tb.Helper()
	return dialTarget(tb, newDialer(tb, remote.Options{}), targetOf(s))
}

// dialRefused dials and returns the text of the error, which must have that kind and contain the words.
func dialRefused(tb testing.TB, d *remote.Dialer, t sshconfig.Target, kind remote.Kind, words ...string) string {
	tb.Helper()
	h, err := d.Dial(context.Background(), t)
	if err == nil {
		_ = h.Close()
		tb.Fatalf("connected, want %s", kind)
	}
	return checkError(tb, err, kind, words...)
}

// checkError checks an error's kind and text, and returns the text.
func checkError(tb testing.TB, err error, kind remote.Kind, words ...string) string {
	tb.Helper()
	var e *remote.Error
	if !errors.As(err, &e) {
		tb.Fatalf("%v is %T, want *Error", err, err)
	}
	tb.Log(e)
	if e.Kind != kind {
		tb.Errorf("%v: kind %s, want %s", e, e.Kind, kind)
	}
	for _, w := range words {
		if !strings.Contains(e.Error(), w) {
			tb.Errorf("%v: lacks %q", e, w)
		}
	}
	if strings.Contains(e.Error(), "\n") {
		tb.Errorf("%q has more than one line", e.Error())
	}
	return e.Error()
}

// mustRun runs a script whose error must be nil.
func mustRun(tb testing.TB, h *remote.Host, c remote.Command) remote.Result {
	tb.Helper()
	r, err := h.Run(context.Background(), c)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// newKey returns a new key pair.
func newKey(tb testing.TB) (ssh.Signer, ed25519.PrivateKey) {
	tb.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(private)
	if err != nil {
		tb.Fatal(err)
	}
	return s, private
}

// keyFile writes a private key and returns its path.
func keyFile(tb testing.TB, private ed25519.PrivateKey) string {
	tb.Helper()
	block, err := ssh.MarshalPrivateKey(private, "test")
	if err != nil {
		tb.Fatal(err)
	}
	return writeFile(tb, "key", string(pem.EncodeToMemory(block)))
}

// writeFile writes a file into a new directory and returns its path.
func writeFile(tb testing.TB, name, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// secrets answers from its fields and counts the questions.
type secrets struct {
	passphrases []string // one for each question; the last one repeats
	password    string
	err         error
	asked       chan string
}

func newSecrets() *secrets { return &secrets{asked: make(chan string, 100)} }

func (s *secrets) Passphrase(_ context.Context, file string) ([]byte, error) {
	s.asked <- file
	if s.err != nil {
		return nil, s.err
	}
	p := s.passphrases[0]
	if len(s.passphrases) > 1 {
		s.passphrases = s.passphrases[1:]
	}
	return []byte(p), nil
}

func (s *secrets) BecomePassword(_ context.Context, host string) ([]byte, error) {
	s.asked <- host
	if s.err != nil || s.password == "" {
		return nil, s.err
	}
	return []byte(s.password), nil
}

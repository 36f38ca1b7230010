package hostkeys

import (
	"crypto/ed25519"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/remote/sshconfig"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	"pgregory.net/rapid"
)

// TestKnownHosts checks that, for any file, a key is accepted if and only if the SSH library accepts it.
func TestKnownHosts(t *testing.T) {
	keys := make([]ssh.PublicKey, 3)
	for i := range keys {
		k, err := ssh.NewPublicKey(ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune('a'+i)), 32))).Public())
		if err != nil {
			t.Fatal(err)
		}
		keys[i] = k
	}
	path := filepath.Join(t.TempDir(), "known_hosts")
	// A * of the library matches one or more characters; a * of OpenSSH matches zero or more. No name here shows the
	// difference.
	hosts := rapid.SampledFrom([]string{"cd", "ab", "abc", "b.example", "10.0.0.1", "fe80::1"})
	ports := rapid.SampledFrom([]string{"22", "2222"})
	rapid.Check(t, func(t *rapid.T) {
		address := func(label string) string { return net.JoinHostPort(hosts.Draw(t, label), ports.Draw(t, label+" port")) }
		name := func() string {
			plain := knownhosts.Normalize(address("name"))
			return rapid.SampledFrom([]string{plain, "!" + plain, "*", "a*", "?b", "*.example", "10.0.*", "[a*]:2222"}).Draw(t, "pattern")
		}
		var text strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "lines") {
			marker := rapid.SampledFrom([]string{"", "", "", "@revoked "}).Draw(t, "marker")
			names := knownhosts.HashHostname(knownhosts.Normalize(address("hashed")))
			if rapid.Bool().Draw(t, "readable") {
				names = strings.Join(rapid.SliceOfN(rapid.Custom(func(*rapid.T) string { return name() }), 1, 3).Draw(t, "names"), ",")
			}
			text.WriteString(marker + names + " " + string(ssh.MarshalAuthorizedKey(rapid.SampledFrom(keys).Draw(t, "key"))))
		}
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		oracle, errOracle := knownhosts.New(path)
		known, err := new(KnownHostsCache).Read([]string{path}, sshconfig.NewReader(nil, nil))
		if err != nil || errOracle != nil {
			t.Fatalf("%v, %v\n%s", err, errOracle, text.String())
		}
		to, key := address("to"), rapid.SampledFrom(keys).Draw(t, "shown")
		remote := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 22}
		want := oracle(to, remote, key)
		found := known.Find(to, false)
		host, port, _ := net.SplitHostPort(to)
		if len(known.matchingLines(host, port)) == 0 && len(found.lines) > 0 {
			want = oracle(net.JoinHostPort(host, "22"), remote, key) // the library does not match names without a port for all ports
		}
		if got := found.Check(key); (got == nil) != (want == nil) {
			t.Fatalf("%s of %s: %v, want %v\n%s", ssh.FingerprintSHA256(key), to, got, want, text.String())
		}
	})
}

// TestLongLineOfKnownHosts checks that lines of any length and the lines after them are read. A lost line could be a
// revocation.
func TestLongLineOfKnownHosts(t *testing.T) {
	key, err := ssh.NewPublicKey(ed25519.NewKeyFromSeed([]byte(strings.Repeat("a", 32))).Public())
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSuffix(string(ssh.MarshalAuthorizedKey(key)), "\n")
	names := strings.Repeat("other.example,", 10_000) + "web1"
	for name, c := range map[string]struct {
		text    string
		refused string // a part of the refusal; "" if the key is accepted
	}{
		"names":               {names + " " + text + "\n", ""},
		"names, no newline":   {names + " " + text, ""},
		"comment":             {"# " + strings.Repeat("x", 140_000) + "\nweb1 " + text + "\n", ""},
		"before a revocation": {names + " " + text + "\n@revoked * " + text + "\n", "known_hosts:2"},
		"of a revocation":     {"web1 " + text + "\n@revoked * " + text + strings.Repeat(" x", 70_000) + "\n", "known_hosts:2"},
		"unreadable":          {"web1 " + text + "\n@revoked * ssh-ed25519 " + strings.Repeat("A", 140_000) + "\n", "known_hosts:2"},
	} {
		path := filepath.Join(t.TempDir(), "known_hosts")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		known, err := new(KnownHostsCache).Read([]string{path}, sshconfig.NewReader(nil, nil))
		if err == nil {
			if e := known.Find("web1:22", false).Check(key); e != nil {
				err = e
			}
		}
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}

package remote_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/remote"
	"holdfast/engine/remote/sshconfig"
	"holdfast/engine/remote/sshtest"
)

// TestConfig checks that values of ssh_config are used, and that values of the
// target override them.
func TestConfig(t *testing.T) {
	s := sshtest.Start(t, sshtest.Config{})
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`
Host web? !web9
  HostName 127.0.0.1
  Port %d
  User core
  IdentityFile "%s"
  UserKnownHostsFile %s
Match host local.*
  HostName 127.0.0.1
Host tokens
  HostName 127.0.0.1
  IdentityFile %%d/keys/%%r-%%n
  UserKnownHostsFile ${SSHTEST_DIR}/known_hosts
Match all
  Port %d
  User core
`, s.Port(), s.Identity, s.KnownHosts, s.Port())
	if err := os.WriteFile(filepath.Join(home, ".ssh/config"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSHTEST_DIR", s.Dir)
	if err := os.Mkdir(filepath.Join(home, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(s.Identity, filepath.Join(home, "keys/core-tokens")); err != nil {
		t.Fatal(err)
	}
	d := newDialer(t, remote.Options{Home: home})
	dialTarget(t, d, sshconfig.Target{Name: "first", Address: "web1"})
	dialTarget(t, d, sshconfig.Target{Name: "web1"})
	dialTarget(t, d, sshconfig.Target{Address: "tokens"})
	dialTarget(t, d, sshconfig.Target{Address: "local.host", Identities: []string{s.Identity}, KnownHosts: []string{s.KnownHosts}})
	dialRefused(t, d, sshconfig.Target{Address: "web9"}, remote.Resolve, "web9")
	dialRefused(t, d, sshconfig.Target{Name: "first", Address: "web1", User: "nobody"}, remote.Auth, "first: log in as nobody@127.0.0.1:")
	dialRefused(t, d, sshconfig.Target{Address: "web1", Config: "none"}, remote.Resolve)
}

func TestConfigRefused(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	included := writeFile(t, "included", "Match user ann\n  Port 1\n")
	for _, c := range []struct{ name, text, words string }{
		{"Match exec", "Match exec \"true\"\n  User x\n", "config:1: Match exec"},
		{"Match with two criteria", "Host a\n\nMatch host b user c\n  Port 1\n", "config:3:"},
		{"Match with a list", "Match host a,b\n  Port 1\n", "config:1:"},
		{"Match after a long line", "# " + strings.Repeat("x", 70_000) + "\nMatch host a,b\n  Port 1\n", "config:2: Match host a,b"},
		{"Match included", "Include " + included + "\n", "included:1:"},
		{"ProxyCommand", "Host *\n  ProxyCommand nc %h %p\n", "use ProxyJump"},
		{"port", "Host *\n  Port ssh\n", "Port ssh"},
		{"timeout", "Host *\n  ConnectTimeout soon\n", "ConnectTimeout soon"},
		{"token", "Host *\n  IdentityFile ~/%L\n", "%L"},
		{"jump", "Host *\n  ProxyJump a:b:c\n", "ProxyJump"},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := targetOf(s)
			to.Config = writeFile(t, "config", c.text)
			if c.name == "port" {
				to.Port = 0
			}
			if c.name == "token" {
				to.Identities = nil
			}
			dialRefused(t, newDialer(t, remote.Options{}), to, remote.Config, "h1: ", c.words)
		})
	}
	to := targetOf(s)
	to.Config = "/no/such/config"
	dialRefused(t, newDialer(t, remote.Options{}), to, remote.Config, "/no/such/config")
	to.Config = writeFile(t, "config", "Host *\n ProxyCommand none\n ConnectTimeout 1m\n ServerAliveInterval 5\n ServerAliveCountMax 2\n StrictHostKeyChecking no\n")
	dialTarget(t, newDialer(t, remote.Options{}), to)
}

package remote_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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
	included := writeFile(t, "included", "\nMatch when ann\n  Port 1\n")
	for _, c := range []struct{ name, text, words string }{
		{"Match exec", "Match exec \"true\"\n  User x\n  Port 1\n", "config:3: port of 127.0.0.1 depends on Match exec of "},
		{"Match version", "Match version OpenSSH_9*\n  HostKeyAlias x\n", "hostkeyalias of 127.0.0.1 depends on Match version of "},
		{"criterion", "Host a\n\nMatch host b when c\n  Port 1\n", "config:3: Match host b when c: \"when\" is not a criterion"},
		{"no value", "Match host\n  Port 1\n", "config:1: Match host: the value of Match host is missing"},
		{"after a long line", "# " + strings.Repeat("x", 70_000) + "\nMatch all host a\n  Port 1\n", "config:2: Match all host a"},
		{"quote", "Host \"a\n", "config:1: Host \"a: a quotation mark is missing"},
		{"value", "Host *\n  Port\n", "config:2: Port: the value is missing"},
		{"byte order mark", "\ufeffHost *\n", "is not an option"},
		{"Match included", "Include " + included + "\n", "included:2:"},
		{"port", "Host *\n  Port ssh\n", "Port ssh"},
		{"timeout", "Host *\n  ConnectTimeout soon\n", "ConnectTimeout soon"},
		{"flag", "Host a\n  IdentitiesOnly maybe\n", "config:2: IdentitiesOnly maybe: the value must be true, false, yes or no"},
		{"address family", "Host *\n  AddressFamily ipv6\n", "config:2: AddressFamily ipv6: the value must be any, inet or inet6"},
		{"flag without effect here", "Host *\n  CheckHostIP ask\n", "config:2: CheckHostIP ask"},
		{"token of Include", "Host a\n  Include conf.d/%h\n", "config:2: expand conf.d/%h: only %% %L %d %i %l %u are understood"},
		{"token of User", "Host *\n  User a-%r\n", "config:2: expand a-%r: only %% %L %d %h %i %k %l %n %p %u are understood"},
		{"token", "Host *\n  IdentityFile ~/%z\n", "%z"},
		{"jump", "Host *\n  ProxyJump a:b:c\n", "ProxyJump"},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := targetOf(s)
			to.Config = writeFile(t, "config", c.text)
			switch c.name {
			case "port":
				to.Port = 0
			case "token of User":
				to.User = ""
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

// TestConfigTokens checks that the tokens of User and Include are replaced.
func TestConfigTokens(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	id := strconv.Itoa(os.Getuid())
	if err := os.WriteFile(filepath.Join(home, "d", "100%-"+id), []byte("Host *\n HostName 127.0.0.1\n Port 2201\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSHTEST_TEAM", "ops")
	path := writeFile(t, "config", "Include %d/d/100%%-%i\nHost *\n User ${SSHTEST_TEAM}-%n-%p-%i\n")
	config, err := sshconfig.Read(path, home, true, sshconfig.NewReader(nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]string{"": "ops-web1-2201-" + id, "%n": "%n"} { // that of the inventory has no tokens
		r := sshconfig.Resolver{Config: config, Alias: "web1", Home: home, Warn: func(string) {}}
		e, err := r.Resolve(sshconfig.Target{Name: "web1", User: user})
		if err != nil || e.UserAndAddress() != want+"@127.0.0.1:2201" {
			t.Errorf("%s, %v", e.UserAndAddress(), err)
		}
	}
}

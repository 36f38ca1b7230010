package sshconfig_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/remote/sshconfig"
)

// readings are files of ssh_config that ssh and holdfast must understand alike.
var readings = map[string]string{
	"first value wins":            "Host web*\n Port 2201\nHost *\n Port 2202\n User ann\n",
	"negated pattern":             "Host * !web1\n Port 2201\nHost web1\n Port 2202\n",
	"quotes, equals":              "Host=web1 \"web 2\"\n\tHostName = \"10.0.0.1\"\n\tIdentityFile '~/my keys/a'\n Port=2203 # why\n",
	"host list":                   "Match host a,web*,!web2\n Port 2201\n",
	"host and user":               "Match host web1 user ann\n Port 2201\nMatch host web1 !user ann\n Port 2202\n",
	"user of the file":            "Host web1\n User ann\nMatch user ann\n Port 2201\n",
	"host by HostName":            "Host web1\n HostName %h.example\nMatch host web1.example\n Port 2201\nMatch host web1\n Port 2202\n",
	"originalhost":                "Host web1\n HostName x.example\nMatch originalhost web1\n Port 2201\n",
	"tagged":                      "Host web1\n Tag blue\nMatch tagged blue\n Port 2201\nMatch tagged red\n User x\n",
	"localuser":                   "Match localuser *\n Port 2201\nMatch localuser nobody-here\n User x\n",
	"exec":                        "Match host web1 exec \"test %h = web1\"\n Port 2201\nMatch host web1 exec \"exit 1\"\n User x\n",
	"exec, not":                   "Match !exec \"exit 1\"\n Port 2201\n",
	"exec, tokens":                "Host web1\n HostName y.example\n User ann\nMatch exec \"test %h,%n,%p,%r = y.example,web1,22,ann\"\n Port 2201\n",
	"final":                       "Match final\n Port 2201\n IdentityFile ~/b\nHost *\n Port 2202\n IdentityFile ~/a\n",
	"final host":                  "Match final host z.example\n User late\nHost web1\n HostName z.example\n",
	"final, Host by HostName":     "Host web1\n HostName 10.0.0.5\nHost 10.0.0.*\n ProxyJump gate\n User final\nMatch final\n ServerAliveInterval 5\n",
	"final, HostName in capitals": "Host web1\n HostName Web1.Example\nHost web1.example\n User x\nMatch final\n Port 2201\n",
	"final, originalhost":         "Host web1\n HostName 10.0.0.5\nMatch final originalhost web1 host 10.0.0.5\n Port 2201\n",
	"final, late HostName":        "Match final\n HostName late\n User x\n",
	"final where nothing applies": "Host other\n Include final\nHost web1\n HostName 10.0.0.5\nHost 10.0.0.*\n User x\n",
	"canonical":                   "Match canonical all\n Port 2201\nHost *\n Port 2202\n",
	"all":                         "Host a\n Port 2201\nMatch all\n Port 2202\n",
	"include":                     "Include conf.d/*\nHost *\n Port 2209\n",
	"include in host":             "Host other\n Include conf.d/*\nHost *\n Port 2209\n",
	"include in match":            "Match host web1\n Include conf.d/*\nHost *\n User last\n",
	"include nothing":             "Include no/such/file\nHost *\n Port 2209\n",
	"keys add up":                 "Host web1\n IdentityFile ~/a\nHost *\n IdentityFile ~/b\n IdentityFile ~/a\n",
	"no keys":                     "Host web1\n IdentityFile none\n",
	"no keys but one":             "Host web1\n IdentityFile none\n IdentityFile ~/a\n",
	"jump":                        "Host web1\n ProxyJump ann@gate:2222,inner\n",
	"long comment":                "# " + strings.Repeat("x", 3000) + "\nHost web1\n Port 2201\n",
	"ignored options":             "Host *\n ForwardAgent yes\n ControlMaster auto\n ControlPath ~/.ssh/%C\n SendEnv LANG LC_*\n LogLevel ERROR\n",
	"unknown, ignored":            "IgnoreUnknown UseKeychains,Foo*\nHost *\n UseKeychains yes\n FooBar x\n Port 2201\n",
	"equals in a match":           "Match host=web1\n Port 2201\n",
	"nested":                      "Host web*\n Include nested\nHost *\n Port 2209\n",
	"line end":                    "Host web1\r\n  Port 2201\r\n",
}

// TestReadsAsOpenSSH compares with `ssh -G`.
func TestReadsAsOpenSSH(t *testing.T) {
	program, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip("there is no ssh")
	}
	home := t.TempDir()
	for name, text := range map[string]string{
		"conf.d/1": "Host web1\n Port 2207\n", "conf.d/2": "User two\n", "nested": "Host web1\n Include deeper\n", "deeper": "Match host web1\n Port 2208\n", "final": "Match final\n",
	} {
		writeBelow(t, filepath.Join(home, ".ssh", name), text)
	}
	for name, text := range readings {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config")
			// ssh finds included files through the home directory of the account, not through $HOME.
			writeBelow(t, path, strings.NewReplacer("Include ", "Include "+home+"/.ssh/").Replace(text))
			for name, text := range map[string]string{"nested": "Host web1\n Include " + home + "/.ssh/deeper\n"} {
				writeBelow(t, filepath.Join(home, ".ssh", name), text)
			}
			for _, alias := range []string{"web1", "web2"} {
				out, err := exec.Command(program, "-G", "-F", path, alias).CombinedOutput()
				if err != nil {
					if strings.Contains(string(out), "nsupported") || strings.Contains(string(out), "Bad configuration option") {
						t.Skipf("this ssh is too old: %s", out)
					}
					t.Fatalf("ssh refuses it: %s", out)
				}
				compareReading(t, alias, string(out), resolve(t, path, home, alias))
			}
		})
	}
}

func compareReading(t *testing.T, alias, out string, got sshconfig.Endpoint) {
	t.Helper()
	options := map[string][]string{}
	for l := range strings.Lines(out) {
		key, v, _ := strings.Cut(strings.TrimSpace(l), " ")
		options[key] = append(options[key], v)
	}
	want := options["user"][0] + "@" + net.JoinHostPort(options["hostname"][0], options["port"][0])
	if got.UserAndAddress() != want {
		t.Errorf("%s: %s, but ssh connects to %s", alias, got.UserAndAddress(), want)
	}
	if got.IdentitiesNamed || slices.Contains(options["identityfile"], "none") {
		var names []string
		for _, f := range got.Identities {
			names = append(names, filepath.Base(f))
		}
		var wanted []string
		for _, f := range options["identityfile"] {
			if f != "none" {
				wanted = append(wanted, filepath.Base(f))
			}
		}
		if !slices.Equal(names, wanted) {
			t.Errorf("%s: keys %q, but ssh has %q", alias, names, wanted)
		}
	}
	if jump := options["proxyjump"]; len(jump) > 0 != (len(got.Jump) > 0) {
		t.Errorf("%s: jump hosts %v, but ssh has %q", alias, got.Jump, jump)
	}
}

func resolve(t *testing.T, path, home, alias string) sshconfig.Endpoint {
	t.Helper()
	c, err := sshconfig.Read(path, home, true, sshconfig.NewReader(nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	r := sshconfig.Resolver{Config: c, Alias: alias, Home: home, Warn: func(string) {}, Run: func(command string) (bool, error) {
		return exec.Command("sh", "-c", command).Run() == nil, nil
	}}
	e, err := r.Resolve(sshconfig.Target{Name: alias})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func writeBelow(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestUnknownOptions: an option that ssh does not know is refused with its position, in each block, unless
// IgnoreUnknown names it first.
func TestUnknownOptions(t *testing.T) {
	program, noProgram := exec.LookPath("ssh")
	for text, want := range map[string]string{
		"Host *\n HostNmae 10.0.0.1\n":                       `config:2: "hostnmae" is not an option of ssh_config; did you mean hostname?`,
		"Host other\n Frobnicate yes\n":                      `config:2: "frobnicate" is not an option of ssh_config; correct it, or name it in an IgnoreUnknown above`,
		"Frobnicate yes\nIgnoreUnknown frobnicate\n":         `config:1: "frobnicate" is not an option`,
		"IgnoreUnknown Frob*,x\nFROBNICATE yes\nX=1\n":       "",
		"RSAAuthentication yes\nUseRsh no\nObscureKey yes\n": `config:3: "obscurekey" is not an option`,
	} {
		path := filepath.Join(t.TempDir(), "config")
		writeBelow(t, path, text)
		_, err := sshconfig.Read(path, "/", true, sshconfig.NewReader(nil, nil))
		if got := fmt.Sprint(err); (err != nil) != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if noProgram == nil {
			out, refused := exec.Command(program, "-G", "-F", path, "web1").CombinedOutput()
			if (refused != nil) != (want != "") {
				t.Errorf("%q: ssh: %v %s", text, refused, out)
			}
		}
	}
}

// TestDoubtfulMatch checks that a Match block whose result is not known stops only hosts that it may concern.
func TestDoubtfulMatch(t *testing.T) {
	for _, c := range []struct{ name, text, alias, refused string }{
		{"another host", "Match host web1 exec \"x\"\n Port 1\n", "web2", ""},
		{"this host", "Match host web1 exec \"x\"\n Port 1\n", "web1", "config:2: port of web1 depends on Match exec of "},
		{"set before", "Host *\n Port 2\nMatch exec \"x\"\n Port 1\n", "web1", ""},
		{"without effect", "Match exec \"x\"\n ForwardAgent yes\n", "web1", ""},
		{"version", "Match version *\n User x\n", "web1", "depends on Match version"},
		{"fails anyhow", "Match version * host a\n User x\n", "web1", ""},
		{"the block ends", "Match exec \"x\"\nHost web1\n User x\n", "web1", ""},
	} {
		path := filepath.Join(t.TempDir(), "config")
		writeBelow(t, path, c.text)
		config, err := sshconfig.Read(path, "/", true, sshconfig.NewReader(nil, nil))
		if err != nil {
			t.Fatal(err)
		}
		r := sshconfig.Resolver{Config: config, Alias: c.alias, Home: "/", Warn: func(string) {}}
		_, err = r.Resolve(sshconfig.Target{Name: c.alias})
		if got := fmt.Sprint(err); (err != nil) != (c.refused != "") || !strings.Contains(got, c.refused) {
			t.Errorf("%s: %v, want %q", c.name, err, c.refused)
		}
	}
}

// TestNothingMatchesEmpty checks that a host without a tag, and a run without a command, match only an empty pattern, as from
// OpenSSH 10 on.
func TestNothingMatchesEmpty(t *testing.T) {
	for criterion, user := range map[string]string{
		"tagged *": "none", `tagged ""`: "some", "!tagged *": "some", "tagged=": "some", "command *": "none", `command ""`: "some", "!command x": "some",
	} {
		path := filepath.Join(t.TempDir(), "config")
		writeBelow(t, path, "Match "+criterion+"\n User some\nMatch all\n User none\n")
		if e := resolve(t, path, "/", "web1"); e.User != user {
			t.Errorf("%s: user %s, want %s", criterion, e.User, user)
		}
	}
}

// TestNotFinal checks that a Match line that excludes the second reading does not ask for it, as from OpenSSH 10 on.
func TestNotFinal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	writeBelow(t, path, "Match !final\n Port 2201\nHost web1\n HostName 10.0.0.5\n User first\nHost 10.0.0.*\n ProxyJump gate\n")
	if e := resolve(t, path, "/", "web1"); e.UserAndAddress() != "first@10.0.0.5:2201" || len(e.Jump) > 0 {
		t.Errorf("%s through %v", e.UserAndAddress(), e.Jump)
	}
}

// TestJumpOfCommand checks that a ProxyCommand that only runs ssh -W is a jump host, and that others are run.
func TestJumpOfCommand(t *testing.T) {
	for command, want := range map[string]string{
		"ssh -W %h:%p gate":                        "[{ gate 0}]",
		"ssh -q gate -W [%h]:%p":                   "[{ gate 0}]",
		"/usr/bin/ssh -l ann -p 2222 gate -W%h:%p": "[{ann gate 2222}]",
		"ssh -p 2222 -W %h:%p fd00::5":             "[{ fd00::5 2222}]",
		"ssh -W %h:%p ann@fd00::5 -p 2222":         "[{ann fd00::5 2222}]",
		"ssh -W %h:%p fd00::5":                     "[{ fd00::5 0}]",
		"ssh -l ann -p 1 -W %h:%p bob@gate -p 2":   "[{ann gate 1}]",
		"ssh -W %h:%p bob@gate -l ann":             "[{bob gate 0}]",
		"ssh -W %h:%p ssh://ann@gate:2222":         "[{ann gate 2222}]",
		"ssh -W %h:%p gate:2222":                   "[] ssh -W web1:22 gate:2222", // for ssh a name
		"ssh -p 2 -W %h:%p [fd00::5]":              "[] ssh -p 2 -W web1:22 [fd00::5]",
		"ssh -W %h:%p %r@gate":                     "[] ssh -W web1:22 ann@gate", // only the command knows the user
		"ssh -l %r -W %h:%p gate":                  "[] ssh -l ann -W web1:22 gate",
		"ssh -p $PORT -W %h:%p gate":               "[] ssh -p $PORT -W web1:22 gate",
		"ssh gate nc %h %p":                        "[] ssh gate nc web1 22",
		"ssh -W %h:22 gate":                        "[] ssh -W web1:22 gate",
		"ssh -i key -W %h:%p gate":                 "[] ssh -i key -W web1:22 gate",
		"ssh -W %h:%p":                             "[] ssh -W web1:22",
		"nc -X 5 '%n' %p %r":                       "[] nc -X 5 'web1' 22 ann",
		"nc %h %q":                                 "expand nc %h %q",
	} {
		path := filepath.Join(t.TempDir(), "config")
		writeBelow(t, path, "Host *\n ProxyCommand "+command+"\n")
		config, err := sshconfig.Read(path, "/", true, sshconfig.NewReader(nil, nil))
		if err != nil {
			t.Fatal(err)
		}
		r := sshconfig.Resolver{Config: config, Alias: "web1", Home: "/", Warn: func(string) {}}
		e, err := r.Resolve(sshconfig.Target{Name: "web1", User: "ann"})
		got := fmt.Sprint(e.Jump, " ", e.ProxyCommand.Text)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

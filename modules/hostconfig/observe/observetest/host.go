package observetest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/pathtest"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/observe"
	"holdfast/modules/hostconfig/record"
	"holdfast/modules/moduletest"
)

// Host is a tree that probes read like a host, with its own tools.
type Host struct {
	T    testing.TB
	Root string // the directory of the tree
}

// probeTools are fake tools. They answer from files in the tree: states/UNIT,
// passwd, group, shadow, sshd.conf.
var probeTools = map[string]string{
	"systemctl": `[ "$1 $2" = "is-enabled --" ] || exit 64
shift 2
[ ! -e "$BOX/bus" ] || { cat "$BOX/bus" >&2; exit 1; }
for u; do
	if [ -e "$BOX/states/$u" ]; then cat "$BOX/states/$u"
	elif [ -e "$BOX/old" ]; then echo "Failed to get unit file state for $u: No such file or directory" >&2; exit 1
	else echo not-found; fi
done
exit 1`,
	"sshd": `cat "$BOX/sshd.conf"`,
	"id":   `cat "$BOX/ids/$3"`,
	"getent": `file=$1 code=0; shift 2
for name; do grep "^$name:" "$BOX/$file" || code=2; done
exit $code`,
}

// NewHost returns an empty tree.
func NewHost(tb testing.TB) Host {
	s := Host{T: tb, Root: tb.TempDir()}
	for name, text := range probeTools {
		s.WriteFile("/fake/"+name, "#!/bin/sh\n"+text+"\n", 0o755)
	}
	for _, name := range []string{"/fake/passwd", "/fake/group", "/fake/shadow", "/fake/sshd.conf"} {
		s.WriteFile(name, "", 0o644)
	}
	return s
}

// Check fails the test if there is an error.
func (s Host) Check(err error) {
	s.T.Helper()
	if err != nil {
		s.T.Fatal(err)
	}
}

// WriteFile writes a file and its parents.
func (s Host) WriteFile(path, text string, mode os.FileMode) {
	s.T.Helper()
	s.Check(os.MkdirAll(filepath.Dir(s.Root+path), 0o755))
	s.Check(os.WriteFile(s.Root+path, []byte(text), mode))
	s.Check(os.Chmod(s.Root+path, mode))
}

// WriteRecord writes the record of an applied configuration.
func (s Host) WriteRecord(a resource.Record) {
	s.T.Helper()
	s.WriteFile(record.Path, string(record.Encode(a)), 0o600)
}

// Probe runs the probes of a desired state, and returns their output.
func (s Host) Probe(d engine.Desired) engine.Outputs {
	s.T.Helper()
	commands := observe.Probe(d)
	text := hostscript.ProbeScript(commands, "b05e21")
	text = strings.ReplaceAll(text, engine.StateDir, s.Root+engine.StateDir)
	text = strings.Replace(text, "\nroot=''\n", "\nroot="+hostscript.Quote(s.Root)+"\n", 1)
	cmd := exec.Command(pathtest.Shell())
	cmd.Stdin = strings.NewReader(text)
	cmd.Env = []string{"PATH=" + s.Root + "/fake:" + pathtest.Tools(), "BOX=" + s.Root + "/fake"}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	s.Check(cmd.Run())
	outputs, err := hostscript.ReadOutputs(commands, "b05e21", stdout.String(), stderr.String())
	s.Check(err)
	return outputs
}

// Read returns the facts for a configuration.
func (s Host) Read(c resource.Config) *resource.ConfigFacts {
	s.T.Helper()
	d := engine.Desired{Config: &c}
	return observe.Read(d, s.Probe(d), engine.Facts{}).Config
}

// MustRead returns the facts, which must have no problem.
func (s Host) MustRead(c resource.Config) *resource.ConfigFacts {
	s.T.Helper()
	f := s.Read(c)
	if f.Problem != "" {
		s.T.Fatal(f.Problem)
	}
	return f
}

// GatherFacts returns all facts for a desired state.
func (s Host) GatherFacts(d engine.Desired) engine.Facts {
	s.T.Helper()
	return observe.Read(d, s.Probe(d), engine.Facts{BootID: moduletest.Boot})
}

// Link creates a symbolic link and its parents.
func (s Host) Link(path, target string) {
	s.T.Helper()
	s.Check(os.MkdirAll(filepath.Dir(s.Root+path), 0o755))
	s.Check(os.Symlink(target, s.Root+path))
}

// EmptyFile returns a desired file without contents.
func EmptyFile(path string) resource.File {
	return resource.File{Path: path, Digest: resource.Digest(nil)}
}

// HostWithAccounts returns a tree with users, groups, passwords and SSH keys.
func HostWithAccounts(tb testing.TB) Host {
	s := NewHost(tb)
	s.WriteFile("/fake/passwd", "core:x:1000:1001:Core, a b:/home/core:/bin/bash\ndbus:x:81:81::/:/sbin/nologin\nold:x:7:7::/home/old:/bin/sh\n", 0o644)
	s.WriteFile("/fake/group", "wheel:x:10:core\n", 0o644)
	s.WriteFile("/fake/shadow", "core:"+ShadowHash+":19000:0:99999:7:::\nold:*:1::::::\n", 0o644)
	s.WriteFile("/fake/ids/core", "coregroup wheel sudo\n", 0o644)
	s.WriteFile("/fake/ids/old", "7\n", 0o644)
	s.WriteFile("/home/core/.ssh/authorized_keys", "ssh-rsa own\n# BEGIN holdfast\nssh-ed25519 managed a b\n\n# END holdfast\nssh-rsa other\n", 0o600)
	s.WriteFile("/home/core/.ssh/authorized_keys.d/ignition", "ssh-ed25519 ignition\n#x\nssh-ed25519 second", 0o600)
	return s
}

// AccountConfig returns a configuration about accounts of HostWithAccounts.
func AccountConfig() resource.Config {
	return resource.Config{
		Users:  []resource.User{{Name: "core", Account: resource.Account{Groups: []string{"wheel"}, PrimaryGroup: "1001"}}, {Name: "nobody-yet"}},
		Groups: []resource.Group{{Name: "missing"}},
		Files:  []resource.File{{Path: "/etc/x", Digest: resource.Digest(nil), Owner: resource.Owner{User: "dbus", Group: "0"}}},
	}
}

// ShadowHash is the password hash of user core.
const ShadowHash = "$y$j9T$aaaaaaaa$bbbbbbbbbbbbbbbb"

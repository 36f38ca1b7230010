package scenario

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/vincent-petithory/dataurl"

	"holdfast/engine/hostscript"
)

// cmdIgnite applies an Ignition config to a host like a first boot. It handles
// the parts of a config that holdfast render uses. Ignition must accept the
// config.
func cmdIgnite(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "ignite HOST FILE")
	c, report, err := v3_6.ParseCompatibleVersion([]byte(ts.ReadFile(args[1])))
	if err != nil {
		ts.Fatalf("Ignition does not take %s: %v\n%s", args[1], err, report.String())
	}
	i := &ignition{}
	for _, step := range []func(types.Config) error{i.addAccounts, i.addResources, i.addUnits} {
		ts.Check(step(c))
	}
	i.addKernelArguments(c)
	s := stageOf(ts)
	ts.Check(s.asRoot(s.findHost(ts, args[0]), i.script.String()))
}

func cmdScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: script FILE HOST…")
	}
	s := stageOf(ts)
	for _, name := range args[1:] {
		ts.Check(s.asRoot(s.findHost(ts, name), ts.ReadFile(args[0])))
	}
}

// ignition collects the lines of a shell script.
type ignition struct{ script strings.Builder }

func (i *ignition) addLine(format string, args ...any) {
	for n, a := range args {
		if text, ok := a.(string); ok {
			args[n] = hostscript.Quote(text)
		}
	}
	fmt.Fprintf(&i.script, format+"\n", args...)
}

// addAccounts adds the commands that make groups and users. Like Ignition on
// Fedora CoreOS, they write SSH keys to a separate file.
func (i *ignition) addAccounts(c types.Config) error {
	for _, g := range c.Passwd.Groups {
		i.addLine("getent group %s >/dev/null || groupadd %s", g.Name, g.Name)
	}
	for _, u := range c.Passwd.Users {
		i.addLine("getent passwd %s >/dev/null || useradd -m -p '*' %s", u.Name, u.Name)
		if u.PasswordHash != nil {
			i.addLine("usermod -p %s %s", *u.PasswordHash, u.Name)
		}
		var keys strings.Builder
		for _, k := range u.SSHAuthorizedKeys {
			keys.WriteString(string(k) + "\n")
		}
		if keys.Len() > 0 {
			i.addLine("home=$(getent passwd %s | cut -d: -f6); dir=$home/.ssh/authorized_keys.d", u.Name)
			i.addLine("mkdir -p \"$dir\"; printf %%s %s >\"$dir/ignition\"; chmod 0600 \"$dir/ignition\"", keys.String())
			i.addLine("chmod 0700 \"$home/.ssh\" \"$dir\"; chown -R %s: \"$home/.ssh\"", u.Name)
		}
	}
	return nil
}

func (i *ignition) addResources(c types.Config) error {
	for _, d := range c.Storage.Directories {
		i.addLine("mkdir -p %s", d.Path)
		i.setOwnerAndMode(d.Node, d.Mode, 0o755)
	}
	for _, f := range c.Storage.Files {
		data, err := decodeContents(f.Contents)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		i.addLine("mkdir -p %s", path.Dir(f.Path))
		if f.Contents.Source == nil {
			i.addLine("[ -e %s ] || : >%s", f.Path, f.Path)
		} else {
			i.addLine("base64 -d >%s <<'END'\n%s\nEND", f.Path, unquoted(base64.StdEncoding.EncodeToString(data)))
		}
		for _, a := range f.Append {
			data, err := decodeContents(a)
			if err != nil {
				return fmt.Errorf("%s: %w", f.Path, err)
			}
			i.addLine("base64 -d >>%s <<'END'\n%s\nEND", f.Path, unquoted(base64.StdEncoding.EncodeToString(data)))
		}
		i.setOwnerAndMode(f.Node, f.Mode, 0o644)
	}
	for _, l := range c.Storage.Links {
		flag := unquoted("-s")
		if l.Hard != nil && *l.Hard {
			flag = "-P"
		}
		i.addLine("mkdir -p %s; ln -f %s -T %s %s", path.Dir(l.Path), flag, *l.Target, l.Path)
	}
	return nil
}

// unquoted is text that the script contains without quotes.
type unquoted string

func (i *ignition) setOwnerAndMode(n types.Node, mode *int, otherwise int) {
	if mode == nil {
		mode = &otherwise
	}
	i.addLine("chown %s %s; chmod %o %s", nameOrID(n.User.Name, n.User.ID)+":"+nameOrID(n.Group.Name, n.Group.ID), n.Path, *mode, n.Path)
}

func nameOrID(name *string, id *int) string {
	switch {
	case name != nil && *name != "":
		return *name
	case id != nil:
		return strconv.Itoa(*id)
	}
	return "0"
}

func (i *ignition) addUnits(c types.Config) error {
	for _, u := range c.Systemd.Units {
		file := "/etc/systemd/system/" + u.Name
		if u.Contents != nil && *u.Contents != "" {
			i.addLine("printf %%s %s >%s", *u.Contents, file)
		}
		if u.Mask != nil && *u.Mask {
			i.addLine("ln -sfT /dev/null %s", file)
		}
		for _, d := range u.Dropins {
			if d.Contents != nil && *d.Contents != "" {
				i.addLine("mkdir -p %s; printf %%s %s >%s", file+".d", *d.Contents, file+".d/"+d.Name)
			}
		}
		if u.Enabled != nil {
			verb := map[bool]string{true: "enable", false: "disable"}[*u.Enabled]
			i.addLine("systemctl %s %s", verb, u.Name)
			i.addLine("mkdir -p %[1]s; echo %[2]s >>%[1]s/20-ignition.preset", "/etc/systemd/system-preset", verb+" "+u.Name)
		}
	}
	return nil
}

// addKernelArguments adds the commands that change the kernel arguments of the
// next boot. They edit the boot entry, because ostree would add an entry with
// another name, which the lab's boot loader does not prefer.
func (i *ignition) addKernelArguments(c types.Config) {
	for _, a := range c.KernelArguments.ShouldExist {
		i.addLine("sed -i %s /boot/loader/entries/*.conf; sync", "/^options /s|$| "+string(a)+"|")
	}
}

func decodeContents(r types.Resource) ([]byte, error) {
	if r.Source == nil || *r.Source == "" {
		return nil, nil
	}
	u, err := dataurl.DecodeString(*r.Source)
	if err != nil {
		return nil, err
	}
	if r.Compression == nil || *r.Compression != "gzip" {
		return u.Data, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(u.Data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

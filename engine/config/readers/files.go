package readers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// File is a file whose whole contents are in the documents.
type File struct {
	Path     string
	Contents []byte
	Mode     int
	OfRoot   bool // the owner is root
}

// Finding is one thing that the reader of a file does not accept.
type Finding struct {
	Field   string // contents, mode, path, user or enabled
	Ignored bool   // the reader goes on without the file; otherwise, it fails
	Text    string // cause and next step
}

// folders are folders in which a program reads only files with certain names.
var folders = []struct {
	dir, program string
	ends         []string
}{
	{"/etc/sysctl.d", "systemd-sysctl", []string{".conf"}},
	{"/etc/modules-load.d", "systemd-modules-load", []string{".conf"}},
	{"/etc/modprobe.d", "modprobe", []string{".conf"}},
	{"/etc/tmpfiles.d", "systemd-tmpfiles", []string{".conf"}},
	{"/etc/sysusers.d", "systemd-sysusers", []string{".conf"}},
	{"/etc/binfmt.d", "systemd-binfmt", []string{".conf"}},
	{"/etc/udev/rules.d", "udev", []string{".rules"}},
	{"/etc/udev/hwdb.d", "udev", []string{".hwdb"}},
	{"/etc/polkit-1/rules.d", "polkit", []string{".rules"}},
	{"/etc/audit/rules.d", "auditd", []string{".rules"}},
	{"/etc/security/limits.d", "pam_limits", []string{".conf"}},
	{"/etc/systemd/system-preset", "systemd", []string{".preset"}},
	{"/etc/systemd/network", "systemd-networkd", []string{".network", ".netdev", ".link"}},
	{"/etc/NetworkManager/conf.d", "NetworkManager", []string{".conf"}},
	{"/etc/ssh/sshd_config.d", "sshd", []string{".conf"}},
	{"/etc/ssh/ssh_config.d", "ssh", []string{".conf"}},
	{"/etc/containers/registries.conf.d", "containers/image", []string{".conf"}},
	{"/etc/containers/registries.d", "containers/image", []string{".yaml"}},
	{"/etc/yum.repos.d", "dnf", []string{".repo"}},
	{"/etc/dracut.conf.d", "dracut", []string{".conf"}},
	{"/etc/profile.d", "the shell", []string{".sh", ".csh"}},
}

// unitSuffixes are the kinds of unit files that systemd reads in /etc/systemd/system.
var unitSuffixes = []string{".service", ".socket", ".device", ".mount", ".automount", ".swap", ".target", ".path", ".timer", ".slice", ".scope"}

// CheckFile returns the problems for which the reader of a file would refuse or ignore it. It
// reports only problems that are certain without the host.
func CheckFile(f File) []Finding {
	dir, name := path.Dir(f.Path), path.Base(f.Path)
	var list []Finding
	add := func(field string, ignored bool, format string, args ...any) {
		list = append(list, Finding{field, ignored, fmt.Sprintf(format, args...)})
	}
	if name[0] != '.' && !strings.EqualFold(strings.TrimSuffix(name, path.Ext(name)), "readme") {
		for _, r := range folders {
			if dir == r.dir && !slices.Contains(r.ends, path.Ext(name)) {
				add("path", true, "is ignored by %s, which reads only names that end with %s there; rename it", r.program, strings.Join(r.ends, ", "))
			}
		}
		if strings.HasPrefix(dir, "/etc/systemd/") && strings.HasSuffix(dir, ".d") && path.Ext(name) != ".conf" {
			add("path", true, "is ignored by systemd, whose drop-ins end with .conf; rename it")
		}
		if dir == "/etc/systemd/system" && !slices.Contains(unitSuffixes, path.Ext(name)) {
			add("path", true, "is ignored by systemd, because it is not the name of a unit; end it with .service or another type, or move it elsewhere")
		}
	}
	checkAccess(f, dir, name, add)
	checkText(f, dir, name, add)
	return list
}

type adder func(field string, ignored bool, format string, args ...any)

func checkAccess(f File, dir, name string, add adder) {
	switch {
	case dir == "/etc/NetworkManager/system-connections" && f.Mode&0o077 != 0:
		add("mode", true, "is %04o, and NetworkManager ignores profiles that others can read; set 0600", f.Mode)
	case dir == "/etc/NetworkManager/system-connections" && !f.OfRoot:
		add("user", true, "is not root, and NetworkManager ignores such profiles; leave it out")
	case dir == "/etc/NetworkManager/dispatcher.d" && (f.Mode&0o100 == 0 || f.Mode&0o022 != 0 || !f.OfRoot):
		add("mode", true, "is %04o; NetworkManager runs only scripts of root that are executable and that nobody else can write; set 0755", f.Mode)
	case dir == "/etc/sudoers.d" && (strings.Contains(name, ".") || strings.HasSuffix(name, "~")):
		add("path", true, "is ignored by sudo, which skips names with a dot or with ~ at the end; rename it")
	case (dir == "/etc/sudoers.d" || f.Path == "/etc/sudoers") && (f.Mode&0o002 != 0 || !f.OfRoot):
		add("mode", false, "is %04o; sudo refuses files that others than root own or that everybody can write; set 0440 and no owner", f.Mode)
	case dir == "/etc/cron.d" && (f.Mode&0o022 != 0 || !f.OfRoot):
		add("mode", true, "is %04o, and cron ignores files that others than root own or can write; set 0644 and no owner", f.Mode)
	case dir == "/etc/ssh" && strings.HasPrefix(name, "ssh_host_") && strings.HasSuffix(name, "_key") && f.Mode&0o007 != 0:
		add("mode", true, "is %04o, and sshd ignores host keys that everybody can read; set 0600", f.Mode)
	case strings.HasPrefix(f.Path, "/usr/") && !strings.HasPrefix(f.Path, "/usr/local/"):
		add("path", true, "is in /usr, which is read-only on ostree hosts; use /etc or /usr/local, or put it into the OS image")
	}
}

func checkText(f File, dir, name string, add adder) {
	text := string(f.Contents)
	switch {
	case f.Path == "/etc/containers/policy.json":
		if problem := policyProblem(f.Contents); problem != "" {
			add("contents", false, "%s", problem)
		}
	case dir == "/etc/sysctl.d" && path.Ext(name) == ".conf":
		if n := badLine(text, func(line string) bool { return strings.Contains(line, "=") || line[0] == '-' }); n > 0 {
			add("contents", true, "has in line %d no NAME = VALUE, and systemd-sysctl ignores the line; correct it", n)
		}
	case dir == "/etc/systemd/system" && slices.Contains(unitSuffixes, path.Ext(name)) && strings.TrimSpace(text) != "":
		list := CheckUnit(Unit{Name: name, Contents: text})
		for _, problem := range list {
			add(problem.Field, problem.Ignored, "%s", problem.Text)
		}
	case isQuadlet(dir) && path.Ext(name) == ".container":
		if s := parseUnit(text); !s.hasAny("Container", "Image", "Rootfs") {
			add("contents", true, "has no Image= and no Rootfs= in [Container], and podman makes no service of it; add one")
		}
	case isQuadlet(dir) && path.Ext(name) == ".kube":
		if s := parseUnit(text); !s.hasAny("Kube", "Yaml") {
			add("contents", true, "has no Yaml= in [Kube], and podman makes no service of it; add it")
		}
	case dir == "/etc/NetworkManager/system-connections":
		if s := parseUnit(text); !s.hasPrefix("connection.") {
			add("contents", true, "has no section [connection], and NetworkManager ignores such a profile; add it")
		}
	}
}

func isQuadlet(dir string) bool {
	return dir == "/etc/containers/systemd" || strings.HasPrefix(dir, "/etc/containers/systemd/")
}

// badLine returns the number of the first line that is neither empty nor a comment
// and not good; 0: there is none.
func badLine(text string, good func(string) bool) int {
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' && line[0] != ';' && !good(line) {
			return n
		}
	}
	return 0
}

// policyProblem returns why containers/image refuses a policy.json, and with it all
// images.
func policyProblem(contents []byte) string {
	var policy struct {
		Default []json.RawMessage `json:"default"`
	}
	d := json.NewDecoder(bytes.NewReader(contents))
	if err := d.Decode(&policy); err != nil || d.More() {
		return "is not a JSON object with a list default, and no image could be pulled with it; correct it"
	}
	if len(policy.Default) == 0 {
		return `has no requirements in "default", and no image could be pulled with it; add {"type":"insecureAcceptAnything"} or another one`
	}
	return ""
}

package readers

import (
	"path"
	"slices"
	"strings"
)

// settings are the assignments of a unit by section and name, without those that
// an empty assignment has reset.
type settings map[string][]string

func parseUnit(texts ...string) settings {
	s := settings{}
	for _, text := range texts {
		section, pending := "", ""
		for line := range strings.SplitSeq(text, "\n") {
			line = strings.TrimSpace(line)
			if line != "" && (line[0] == '#' || line[0] == ';') {
				continue
			}
			if start, more := strings.CutSuffix(line, "\\"); more {
				pending += start + " "
				continue
			}
			line, pending = strings.TrimSpace(pending+line), ""
			if strings.HasPrefix(line, "[") {
				section = strings.Trim(line, "[]")
				continue
			}
			if name, value, ok := strings.Cut(line, "="); ok {
				s.assignValue(section+"."+strings.TrimSpace(name), strings.TrimSpace(value))
			}
		}
	}
	return s
}

func (s settings) assignValue(name, value string) {
	if value == "" {
		delete(s, name)
		return
	}
	s[name] = append(s[name], value)
}

func (s settings) lastValue(name string) string {
	if list := s[name]; len(list) > 0 {
		return list[len(list)-1]
	}
	return ""
}

func (s settings) hasAny(section string, names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return len(s[section+"."+n]) > 0 })
}

func (s settings) hasPrefix(prefix string) bool {
	for name := range s {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Unit is a unit whose whole file is in the documents.
type Unit struct {
	Name     string
	Contents string
	Dropins  []string // contents, in the order in which systemd reads them
	Enabled  bool
}

// CheckUnit returns the lines of a unit that systemd would refuse or ignore. It
// reports only problems that are certain without the host. A unit that systemd refuses fails at
// boot if it is enabled. Otherwise nobody may ever start it, so that it counts as
// ignored.
func CheckUnit(u Unit) []Finding {
	s := parseUnit(append([]string{u.Contents}, u.Dropins...)...)
	var list []Finding
	if problem := unitProblem(u.Name, s); problem != "" {
		list = append(list, Finding{Field: "contents", Ignored: !u.Enabled, Text: problem})
	}
	if u.Enabled && !s.hasPrefix("Install.") {
		list = append(list, Finding{Field: "enabled", Ignored: true, Text: "is true, and the unit has no [Install] section, so that systemd does not start it at boot; add one, such as WantedBy=multi-user.target"})
	}
	return list
}

func unitProblem(name string, s settings) string {
	switch path.Ext(name) {
	case ".service":
		return serviceProblem(s)
	case ".socket":
		if !s.hasPrefix("Socket.Listen") {
			return "has no Listen… setting in [Socket], and systemd refuses such a socket; add one"
		}
	case ".timer":
		if !s.hasPrefix("Timer.On") {
			return "has no On… setting in [Timer], and systemd refuses such a timer; add one, such as OnCalendar=daily"
		}
	case ".path":
		if !s.hasAny("Path", "PathExists", "PathExistsGlob", "PathChanged", "PathModified", "DirectoryNotEmpty") {
			return "has no path in [Path], and systemd refuses such a unit; add one, such as PathChanged=/etc/app"
		}
	case ".mount":
		return whereProblem(name, s.lastValue("Mount.Where"))
	case ".automount":
		return whereProblem(name, s.lastValue("Automount.Where"))
	}
	return ""
}

func serviceProblem(s settings) string {
	kind, starts := s.lastValue("Service.Type"), s["Service.ExecStart"]
	restart := s.lastValue("Service.Restart")
	switch {
	case len(starts) == 0 && !s.hasAny("Service", "ExecStop") && !s.hasAny("Unit", "SuccessAction"):
		return "has no ExecStart= in [Service], and systemd refuses such a service; add it"
	case len(starts) > 1 && kind != "oneshot":
		return "has more than one ExecStart= in [Service], which systemd accepts only of Type=oneshot; set it, or join the commands"
	case kind == "oneshot" && (restart == "always" || restart == "on-success"):
		return "has Restart=" + restart + " and Type=oneshot, and systemd refuses such a service; set Restart=on-failure, or another type"
	}
	return ""
}

// whereProblem compares a mount point with the name of its unit, which systemd
// requires to be the same.
func whereProblem(name, where string) string {
	if !strings.HasPrefix(where, "/") || strings.ContainsAny(where, "%\"'") || strings.Contains(name, "@") {
		return ""
	}
	if want := EscapePath(where) + path.Ext(name); want != name {
		return "mounts " + path.Clean(where) + ", and systemd requires the name " + want + " for that; rename the unit"
	}
	return ""
}

// EscapePath returns a path as a part of the name of a unit (systemd-escape --path).
func EscapePath(p string) string {
	p = strings.Trim(path.Clean(p), "/")
	if p == "" {
		return "-"
	}
	const hex = "0123456789abcdef"
	var b strings.Builder
	for i := range len(p) {
		switch c := p[i]; {
		case c == '/':
			b.WriteByte('-')
		case c == '.' && i == 0, !strings.ContainsRune(":_.", rune(c)) && !isAlphanumeric(c):
			b.WriteString(`\x` + string(hex[c>>4]) + string(hex[c&15]))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

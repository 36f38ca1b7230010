package modules

import "strings"

// unitNames reads the first column of systemctl's lists.
func unitNames(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		// Without --plain, and with it on some versions, a failed unit is
		// preceded by a mark.
		line = strings.TrimLeft(line, "●*x \t")
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.Contains(name, ".") {
			names = append(names, name)
		}
	}
	return names
}

// enabledOf gives the running services that are enabled, themselves or by
// their template: those that also run after a reboot. Users' managers and
// sessions come and go with people.
func enabledOf(running, enabled []string) []string {
	is := make(map[string]bool, len(enabled))
	for _, name := range enabled {
		is[name] = true
	}
	var both []string
	for _, name := range running {
		if strings.HasPrefix(name, "user@") || strings.HasPrefix(name, "session-") {
			continue
		}
		if is[name] || is[template(name)] {
			both = append(both, name)
		}
	}
	return both
}

// template gives getty@.service for getty@tty1.service, and "" for a unit that
// is not an instance.
func template(name string) string {
	prefix, instance, ok := strings.Cut(name, "@")
	dot := strings.LastIndexByte(instance, '.')
	if !ok || dot < 0 {
		return ""
	}
	return prefix + "@" + instance[dot:]
}

// properties reads what systemctl show prints.
func properties(text string) map[string]string {
	values := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[name] = value
		}
	}
	return values
}

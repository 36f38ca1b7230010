package modules

import (
	"slices"
	"strings"
)

// unitNames reads the unit of each line of systemctl's lists. It is the first
// column, or the second where some versions put the mark of a failed unit in
// front, with --plain too. A unit's name has a dot, a mark has none.
func unitNames(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		columns := strings.Fields(line)
		columns = columns[:min(2, len(columns))]
		if i := slices.IndexFunc(columns, isUnitName); i >= 0 {
			names = append(names, columns[i])
		}
	}
	return names
}

// isUnitName reports whether a word has the form NAME.TYPE.
func isUnitName(word string) bool {
	dot := strings.LastIndexByte(word, '.')
	return dot > 0 && dot < len(word)-1
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

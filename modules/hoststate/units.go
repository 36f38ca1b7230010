package hoststate

import (
	"slices"
	"strings"
)

// unitNames returns the unit name on each line of systemctl list-units. The name
// is in the first column. Some versions of systemd print a mark before a failed
// unit, even with --plain. Then the name is in the second column. A mark has no
// dot, and every name has one.
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

func isUnitName(word string) bool {
	dot := strings.LastIndexByte(word, '.')
	return dot > 0 && dot < len(word)-1
}

// enabledServices returns the running services that are enabled, and so run again
// after a reboot. It reads the output of systemctl show, which has a paragraph
// for each service. It accepts enabled-runtime, because generators of systemd
// create such links at each boot, for serial consoles for example. It omits user
// managers and sessions, which start and stop with logins.
func enabledServices(text string) []string {
	var names []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		unit := parseProperties(paragraph)
		name := unit["Id"]
		switch {
		case unit["SubState"] != "running" || unit["UnitFileState"] != "enabled" && unit["UnitFileState"] != "enabled-runtime":
		case !strings.HasSuffix(name, ".service") || strings.HasPrefix(name, "user@") || strings.HasPrefix(name, "session-"):
		default:
			names = append(names, name)
		}
	}
	return names
}

func parseProperties(text string) map[string]string {
	values := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[name] = value
		}
	}
	return values
}

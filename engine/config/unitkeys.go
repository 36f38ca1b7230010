package config

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"holdfast/engine/textutil"
)

//go:embed unitkeys.txt
var unitKeysText string

// unitKeys returns the settings of each section of unit files that systemd knows.
var unitKeys = sync.OnceValue(func() map[string]map[string]bool {
	known, sections := map[string]map[string]bool{}, []string(nil)
	for line := range strings.SplitSeq(unitKeysText, "\n") {
		names, isHead := strings.CutSuffix(line, ":")
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case isHead:
			sections = strings.Fields(names)
			continue
		}
		for _, section := range sections {
			if known[section] == nil {
				known[section] = map[string]bool{}
			}
			for _, key := range strings.Fields(line) {
				known[section][key] = true
			}
		}
	}
	return known
})

// unitKeyProblem returns the problem of a setting that systemd ignores with a
// message in the journal, or "". isSlip means that the setting differs from a
// known one by one typing error: then it is an error. Other unknown settings
// may be those of a newer systemd.
func unitKeyProblem(section, key string) (problem string, isSlip bool) {
	known := unitKeys()[section]
	if known == nil || known[key] || strings.HasPrefix(key, "X-") {
		return "", false
	}
	for _, other := range append([]string{"Unit", "Install", "Service"}, slices.Sorted(maps.Keys(unitKeys()))...) {
		if unitKeys()[other][key] {
			return fmt.Sprintf("a setting of [%s] in [%s], where systemd ignores it; move it there", other, section), false
		}
	}
	near := textutil.Nearest(key, slices.Sorted(maps.Keys(known)))
	if near == "" {
		return fmt.Sprintf("a setting that [%s] does not have; systemd ignores it unless it is newer than holdfast: correct it, or begin it with X-", section), false
	}
	return fmt.Sprintf("a setting that [%s] does not have, so that systemd ignores it; did you mean %s=?", section, near), isOneSlip(key, near)
}

// isOneSlip reports whether two words differ in case only, in one letter, or in
// two neighbouring letters that changed places.
func isOneSlip(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return max(len(a), len(b)) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}

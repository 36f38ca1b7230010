package sshconfig

import (
	"strconv"
	"testing"
)

// TestOmittedAliases checks that each name and pattern is listed, also after the limit.
func TestOmittedAliases(t *testing.T) {
	l := aliasLister{seen: map[string]bool{}}
	for i := range MaxAliases + 2 {
		l.readHost(line{at: "config:1", words: []string{"h" + strconv.Itoa(i)}})
	}
	l.readHost(line{at: "config:2", words: []string{"h1", "h" + strconv.Itoa(MaxAliases), "*.example"}})
	if len(l.Named) != MaxAliases || len(l.Omitted) != 2 || l.Omitted[0].Name != "h"+strconv.Itoa(MaxAliases) || len(l.Patterns) != 1 {
		t.Errorf("%d names, omitted %v, patterns %v", len(l.Named), l.Omitted, l.Patterns)
	}
}

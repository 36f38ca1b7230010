package sshconfig

import "testing"

func TestWildcard(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true},
		{"*", "", true},
		{"", "a", false},
		{"a*c", "abbc", true},
		{"a*c", "abcb", false},
		{"*b*", "abc", true},
		{"?", "", false},
		{"?", "a", true},
		{"a?", "a", false},
		{"**a", "bba", true},
		{"*ab*ab", "abab", true},
		{"*a*b", "aab", true},
	} {
		if got := MatchesWildcard(c.pattern, c.s); got != c.want {
			t.Errorf("%q matches %q: %t", c.pattern, c.s, got)
		}
	}
}

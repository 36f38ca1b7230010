package config

import (
	"regexp"
	"strings"
	"unicode"
)

var (
	userName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,30}\$?$`)
	unitName  = regexp.MustCompile(`^[A-Za-z0-9:_.\\@-]{1,255}$`)
	plain     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)
	cryptHash = regexp.MustCompile(`^(!{0,2}\$[0-9A-Za-z]+\$[^:\s]+|!{1,2}|\*)$`)
)

func plainWord(s string) bool { return plain.MatchString(s) }

// plainImage reports whether s can be the name of an image. "" is none.
func plainImage(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) })
}

// controls reports whether s has characters that no path or argument needs.
func controls(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar })
}

// badArgument says what is wrong with a kernel argument; "" is nothing.
func badArgument(s string) string {
	switch {
	case strings.TrimSpace(s) == "":
		return "is empty; name a kernel argument"
	case controls(s):
		return "has control characters; write it on one line"
	case strings.Count(s, `"`)%2 != 0:
		return `has a " without its pair; close it`
	}
	return ""
}

// arguments takes apart what may be several kernel arguments in one string, as
// the kernel does: at spaces outside double quotes.
func arguments(s string) []string {
	quoted := false
	return strings.FieldsFunc(s, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return !quoted && unicode.IsSpace(r)
	})
}

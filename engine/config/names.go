package config

import (
	"regexp"
	"strings"
	"unicode"
)

var (
	accountPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,30}\$?$`)
	unitPattern    = regexp.MustCompile(`^[A-Za-z0-9:_.\\@-]+$`)
	plainPattern   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)
	// hashPattern matches a password field of shadow(5): a hash, with a leading ! or !! if the password is locked, or a
	// field that no password matches (!, !!, *).
	hashPattern = regexp.MustCompile(`^(!{0,2}\$[0-9A-Za-z]+\$[^:\s]+|!{1,2}|\*)$`)
)

// isUnitName checks the length itself: {1,255} in the pattern would take a millisecond to compile at each start.
func isUnitName(s string) bool { return len(s) <= 255 && unitPattern.MatchString(s) }

func isPlainWord(s string) bool { return plainPattern.MatchString(s) }

func isImageName(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) })
}

func hasControlCharacters(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar })
}

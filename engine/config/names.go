package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"holdfast/engine/resource"
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

func argumentProblem(s string) string {
	switch {
	case strings.TrimSpace(s) == "":
		return "is empty; name a kernel argument"
	case hasControlCharacters(s):
		return "has a control character, or a character that is not valid in UTF-8; remove it"
	case strings.Count(s, `"`)%2 != 0:
		return `has a " without its pair; close it`
	}
	return splitProblem(s)
}

// splitProblem refuses characters that look like a space, although the kernel splits elsewhere or not at all. It also
// refuses characters that the kernel would split in two.
func splitProblem(s string) string {
	quoted, n := false, 0
	for _, r := range s {
		n++
		switch {
		case r == '"':
			quoted = !quoted
		case r == ' ':
		case unicode.IsSpace(r):
			return fmt.Sprintf("has %U in place of a space, at character %d; type a plain space", r, n)
		case !quoted && !slices.Equal(resource.SplitKernelArgs(string(r)), []string{string(r)}):
			return fmt.Sprintf(`has "%c" outside of double quotes, where the kernel takes a byte of it for a space; quote the value`, r)
		}
	}
	return ""
}

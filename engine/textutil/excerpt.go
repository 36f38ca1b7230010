package textutil

import "strings"

// FirstLine returns the first line of a text that is not blank.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// CutText returns a text of at most so many bytes, or its beginning and "…". It cuts no character in two.
func CutText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

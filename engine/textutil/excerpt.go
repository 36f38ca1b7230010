package textutil

import "strings"

// FirstLine returns the first line of a text that is not blank.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

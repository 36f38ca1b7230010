package modules

import (
	"fmt"
	"strings"

	"holdfast/engine"
)

// commandOutput returns what a command printed, or a problem if it failed or was
// not run.
func commandOutput(o engine.Outputs, name string) (text, problem string) {
	out, ok := o[name]
	switch {
	case !ok:
		return "", name + ": not observed"
	case out.Code != 0:
		return "", fmt.Sprintf("%s: exit status %d: %s", name, out.Code, lastLine(out.Stderr))
	}
	return out.Stdout, ""
}

// lastLine returns the last line of a message.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// appendProblem appends to a copy, because other facts may share the list.
func appendProblem(problems []string, s string) []string {
	return append(problems[:len(problems):len(problems)], s)
}

// isHexadecimal reports whether s has n lower-case hexadecimal digits and nothing
// else.
func isHexadecimal(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

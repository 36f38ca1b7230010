package shell

import (
	"fmt"
	"strings"

	"holdfast/engine"
)

// Output returns the standard output of a command, or a problem if the command
// failed or did not run.
func Output(o engine.Outputs, name string) (text, problem string) {
	out, ok := o[name]
	switch {
	case !ok:
		return "", name + ": not observed"
	case out.Code != 0:
		return "", fmt.Sprintf("%s: exit status %d: %s", name, out.Code, LastLine(out.Stderr))
	}
	return out.Stdout, ""
}

// LastLine returns the last line of a message.
func LastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// AppendProblem returns a copy of the list with s. It never changes the list,
// which other facts may share.
func AppendProblem(problems []string, s string) []string {
	return append(problems[:len(problems):len(problems)], s)
}

// IsHexadecimal reports whether s consists of n lower-case hexadecimal digits.
func IsHexadecimal(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

package gate

import (
	"strings"
	"unicode"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

type answer struct {
	problem string // "": the answer is good
	detail  string // untrusted text of the answer
	command string // command or request of the question
	stderr  string
	final   bool // the same question would always get the same answer
	lost    bool // the host is unreachable
}

func (a answer) isGood() bool { return a.problem == "" }

func (a answer) problemLine() string {
	if detail := firstPrintableLine(a.detail); detail != "" {
		return textutil.Printable(a.problem) + ": " + detail
	}
	return textutil.Printable(a.problem)
}

// comparisonKey ignores numbers in details, because counts and local ports differ each time.
func (a answer) comparisonKey() string {
	return a.problem + "\n" + strings.Join(strings.FieldsFunc(firstPrintableLine(a.detail), unicode.IsDigit), "#")
}

func (a answer) toFailure(cause string) *engine.Failure {
	f := &engine.Failure{Cause: cause, Command: a.command, Stderr: textutil.Printable(a.stderr)}
	if a.lost {
		f.Kind = engine.UnreachableFailure
	}
	return f
}

// mostStderr is the number of bytes of standard error that a failure keeps.
const mostStderr = 4096

// longDetail is the number of characters of an untrusted text that fit into a
// line.
const longDetail = 200

// firstPrintableLine returns "" for a web page, whose first line has no information.
func firstPrintableLine(text string) string {
	line := textutil.Printable(textutil.FirstLine(text[:min(len(text), 4*longDetail)]))
	if strings.HasPrefix(line, "<") {
		return ""
	}
	if letters := []rune(line); len(letters) > longDetail {
		return string(letters[:longDetail]) + "…"
	}
	return line
}

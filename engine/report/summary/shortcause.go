package summary

import (
	"regexp"
	"strings"

	"holdfast/engine"
	"holdfast/engine/report/termtext"
)

var exitStatus = regexp.MustCompile(`exit status \d+$`)

// shortCause returns the cause of a failure in one short line. It adds the last line of standard error to a
// bare exit status, because programs report their error there.
func shortCause(f engine.Failure) string {
	if lines := StderrLines(f); len(lines) > 0 && exitStatus.MatchString(f.Cause) {
		return termtext.ShortenText(f.Cause + ": " + lines[len(lines)-1])
	}
	return termtext.ShortenText(f.Cause)
}

// StderrLines returns the standard error of a failure without the lines that its cause repeats.
func StderrLines(f engine.Failure) []string {
	var lines []string
	for _, l := range strings.Split(f.Stderr, "\n") {
		if l = strings.TrimSpace(strings.TrimSuffix(l, `\r`)); l != "" && !strings.HasSuffix(l, f.Cause) && !strings.HasSuffix(f.Cause, ": "+l) {
			lines = append(lines, l)
		}
	}
	return lines
}

package report

import (
	"regexp"
	"strings"

	"holdfast/engine"
)

// maxCause is how long a cause may be, in bytes, where it is told in short.
const maxCause = 200

var exitStatus = regexp.MustCompile(`exit status \d+$`)

// shortCause is the cause of a failure in one line that is not too long. A bare exit
// status says nothing, so that the last that was said on standard error follows,
// which is where programs say what went wrong.
func shortCause(f engine.Failure) string {
	if !exitStatus.MatchString(f.Cause) {
		return shortenText(f.Cause)
	}
	lines := stderrLines(f)
	if len(lines) == 0 {
		return shortenText(f.Cause)
	}
	return shortenText(f.Cause + ": " + lines[len(lines)-1])
}

// shortenText is the first line of a text, or the beginning of it.
func shortenText(text string) string {
	line, more, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if len(line) > maxCause {
		line, more = strings.ToValidUTF8(line[:maxCause], ""), "more"
	}
	if strings.TrimSpace(more) == "" {
		return line
	}
	return strings.TrimSpace(line) + " …"
}

// stderrLines is what a failure has on standard error, but for what its cause says.
func stderrLines(f engine.Failure) []string {
	var lines []string
	for _, l := range strings.Split(f.Stderr, "\n") {
		if l = strings.TrimSpace(strings.TrimSuffix(l, `\r`)); l != "" && !strings.HasSuffix(l, f.Cause) && !strings.HasSuffix(f.Cause, ": "+l) {
			lines = append(lines, l)
		}
	}
	return lines
}

// shortReason is why a run ended, with the causes of failures in short: they stand
// whole where they happened. Where that is still too long it is cut.
func (s *summary) shortReason(end engine.RunEnd) (text string, cut bool) {
	text = end.Reason
	for _, f := range s.allFailures() {
		if cause := shortenText(f.Cause); cause != f.Cause {
			text = strings.ReplaceAll(text, f.Cause, cause)
		}
	}
	if len(text) > maxReason {
		return cutReason(text) + " … (the journal has all of it)", true
	}
	return text, false
}

// cutReason is as many whole words of a text as make a long reason.
func cutReason(text string) string {
	text = strings.ToValidUTF8(text[:maxReason], "")
	if words := strings.LastIndexByte(text, ' '); words > maxReason/2 {
		text = text[:words]
	}
	return strings.TrimRight(text, " ,;:(")
}

// allFailures are those of hosts, and of steps of none.
func (s *summary) allFailures() []engine.Failure {
	var list []engine.Failure
	for _, name := range sortedKeys(s.hosts) {
		if f := s.hosts[name].failure; f != nil {
			list = append(list, *f)
		}
	}
	for _, e := range s.others {
		list = append(list, *e.Failure)
	}
	return list
}

package report

import (
	"regexp"
	"strings"

	"holdfast/engine"
)

// maxCause is the longest cause of a failure in a summary, in bytes.
const maxCause = 200

var exitStatus = regexp.MustCompile(`exit status \d+$`)

// shortCause returns the cause of a failure in one short line. It adds the last line of standard error to a
// bare exit status, because programs report their error there.
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

// shortenText returns the first line of a text, cut at maxCause.
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

func stderrLines(f engine.Failure) []string {
	var lines []string
	for _, l := range strings.Split(f.Stderr, "\n") {
		if l = strings.TrimSpace(strings.TrimSuffix(l, `\r`)); l != "" && !strings.HasSuffix(l, f.Cause) && !strings.HasSuffix(f.Cause, ": "+l) {
			lines = append(lines, l)
		}
	}
	return lines
}

// shortReason returns the reason why a run ended, with shortened causes: the lines of the failures have them
// whole. It cuts a reason that is still too long.
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

func cutReason(text string) string {
	text = strings.ToValidUTF8(text[:maxReason], "")
	if words := strings.LastIndexByte(text, ' '); words > maxReason/2 {
		text = text[:words]
	}
	return strings.TrimRight(text, " ,;:(")
}

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

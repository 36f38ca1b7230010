package summary

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/termtext"
)

var exitStatus = regexp.MustCompile(`exit status \d+$`)

// shortCause returns the cause of a failure in one short line. It adds the last line of standard error to a
// bare exit status, because programs report their error there.
func shortCause(f engine.Failure) (text string, added bool) {
	if !exitStatus.MatchString(f.Cause) {
		return termtext.ShortenText(f.Cause), false
	}
	lines := StderrLines(f)
	if len(lines) == 0 {
		return termtext.ShortenText(f.Cause), false
	}
	return termtext.ShortenText(f.Cause + ": " + lines[len(lines)-1]), true
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

// ShortReason returns the reason why a run ended, with shortened causes,
// because the lines of the failures have the complete causes. It cuts a reason
// that is still too long.
func (s *Summary) ShortReason(end event.RunEnd) (text string, cut bool) {
	text = end.Reason
	for _, f := range s.allFailures() {
		if cause := termtext.ShortenText(f.Cause); cause != f.Cause {
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

func (s *Summary) allFailures() []engine.Failure {
	var list []engine.Failure
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		if f := s.hosts[name].failure; f != nil {
			list = append(list, *f)
		}
	}
	for _, e := range s.others {
		list = append(list, *e.Failure)
	}
	return list
}

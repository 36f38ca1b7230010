package report

import (
	"regexp"
	"strings"

	"holdfast/engine"
)

// gistLength is how long a cause may be, in bytes, where it is told in short.
const gistLength = 200

var status = regexp.MustCompile(`exit status \d+$`)

// gist is the cause of a failure in one line that is not too long. A bare exit
// status says nothing, so that the last that was said on standard error follows,
// which is where programs say what went wrong.
func gist(f engine.Failure) string {
	if !status.MatchString(f.Cause) {
		return shortened(f.Cause)
	}
	lines := stderr(f)
	if len(lines) == 0 {
		return shortened(f.Cause)
	}
	return shortened(f.Cause + ": " + lines[len(lines)-1])
}

// shortened is the first line of a text, or the beginning of it.
func shortened(text string) string {
	line, more, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if len(line) > gistLength {
		line, more = strings.ToValidUTF8(line[:gistLength], ""), "more"
	}
	if strings.TrimSpace(more) == "" {
		return line
	}
	return strings.TrimSpace(line) + " …"
}

// stderr is what a failure has on standard error, but for what its cause says.
func stderr(f engine.Failure) []string {
	var lines []string
	for _, l := range strings.Split(f.Stderr, "\n") {
		if l = strings.TrimSpace(strings.TrimSuffix(l, `\r`)); l != "" && !strings.HasSuffix(l, f.Cause) && !strings.HasSuffix(f.Cause, ": "+l) {
			lines = append(lines, l)
		}
	}
	return lines
}

// reason is why a run ended, with the causes of failures in short: they stand
// whole where they happened. Where that is still too long it is cut.
func (s *summary) reason(end engine.RunEnd) (text string, cut bool) {
	text = end.Reason
	for _, f := range s.allFailures() {
		if cause := shortened(f.Cause); cause != f.Cause {
			text = strings.ReplaceAll(text, f.Cause, cause)
		}
	}
	if len(text) > longReason {
		return beginning(text) + " … (the journal has all of it)", true
	}
	return text, false
}

// beginning is as many whole words of a text as make a long reason.
func beginning(text string) string {
	text = strings.ToValidUTF8(text[:longReason], "")
	if words := strings.LastIndexByte(text, ' '); words > longReason/2 {
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

package lines

import (
	"fmt"
	"strings"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/summary"
)

func failureDetails(host, became string, f engine.Failure) []string {
	var lines []string
	if became != "" {
		lines = append(lines, "    "+host+": "+became)
	}
	if f.Command != "" {
		lines = append(lines, "    command: "+commandName(f.Command))
	}
	for _, l := range summary.StderrLines(f) {
		lines = append(lines, "    stderr: "+l)
	}
	if f.Hint != "" {
		lines = append(lines, "    hint: "+f.Hint)
	}
	return lines
}

func (p *Writer) failureText(e event.Event) string {
	if e.Failure.Kind == engine.StoppedFailure {
		return fullFailure(p.Style.Yellow("  "+e.Host)+" stopped at "+e.Failure.Step, e, *e.Failure)
	}
	return fullFailure(p.Style.Red("  "+e.Host+" failed")+" at "+e.Failure.Step, e, *e.Failure)
}

func fullFailure(what string, e event.Event, f engine.Failure) string {
	lines := []string{what + ": " + f.Cause}
	for _, l := range failureDetails(e.Host, e.Message, f) {
		lines = append(lines, "  "+l)
	}
	return strings.Join(lines, "\n")
}

func commandName(s string) string {
	s = strings.TrimSpace(s)
	if n := strings.Count(s, "\n"); n > 0 {
		return fmt.Sprintf("a script of %d lines, in the journal", n+1)
	}
	return s
}

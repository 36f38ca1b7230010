package lines

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

// endText returns the end of a run: its summary, everything that is left, and in
// the last line the outcome, its numbers and the next command to type.
func (p *Writer) endText(e event.Event) string {
	end := *e.End
	var b strings.Builder
	b.WriteString(p.sum.Format())
	for _, part := range []struct {
		label string
		names []string
	}{{"not updated", textutil.FoldNames(end.Untouched)}, {"plays not begun", end.NotBegun}} {
		if len(part.names) > 0 {
			b.WriteString(p.wrapLine("  ", part.label+": "+strings.Join(part.names, ", ")))
		}
	}
	b.WriteString(p.sum.Completeness(end, p.Style))
	steps, command := p.sum.NextSteps(end)
	if len(steps) > 0 {
		b.WriteString(p.Style.Bold("What to do") + "\n")
	}
	for _, step := range steps {
		text := strings.TrimLeft(step, " ")
		b.WriteString(p.wrapLine("  "+step[:len(step)-len(text)], text))
	}
	return b.String() + p.withTime(e, p.lastLine(end, command))
}

func (p *Writer) wrapLine(indent, text string) string {
	if p.Style.Columns == 0 {
		return indent + text + "\n"
	}
	return termtext.Hang(p.Style.Columns, indent, text)
}

// lastLine breaks a line that is too long for the terminal before its command.
func (p *Writer) lastLine(end event.RunEnd, command string) string {
	paint := p.Style.Red
	switch end.Exit {
	case engine.ExitOK:
		paint = p.Style.Green
	case engine.ExitWork:
		paint = p.Style.Yellow
	default: // red, as for a failure
	}
	outcome := fmt.Sprintf("exit %d: %s", end.Exit, report.EndText(end))
	if command == "" {
		return paint(outcome)
	}
	next := "next: " + command
	if time := "00:00:00 "; p.Style.Columns > 0 && ansi.StringWidth(time+outcome+"; "+next) > p.Style.Columns {
		return paint(outcome) + "\n" + next
	}
	return paint(outcome) + "; " + next
}

package summary

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report"
	"holdfast/engine/report/tables"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

// EndText returns the end of a run for people: its summary and everything that is left, and the last line,
// which has the outcome, its numbers and the next command to type.
func (s *Summary) EndText() (above, last string) {
	var b strings.Builder
	b.WriteString(s.Format())
	for _, part := range []struct {
		label string
		names []string
	}{{"not updated", textutil.FoldNames(s.end.Untouched)}, {"plays not begun", s.end.NotBegun}} {
		if len(part.names) > 0 {
			b.WriteString(termtext.Hang(s.Style.Columns, "  ", part.label+": "+strings.Join(part.names, ", ")))
		}
	}
	b.WriteString(s.Completeness(s.end))
	steps, command := s.NextSteps(s.end)
	if len(steps) > 0 {
		b.WriteString(s.Style.Bold("What to do") + "\n")
	}
	for _, step := range steps {
		text := strings.TrimLeft(step, " ")
		b.WriteString(termtext.Hang(s.Style.Columns, "  "+step[:len(step)-len(text)], text))
	}
	return b.String(), s.lastLine(command)
}

// lastLine breaks a line that is too long for the terminal before its command.
func (s *Summary) lastLine(command string) string {
	paint := s.Style.Red
	switch s.end.Exit {
	case engine.ExitOK:
		paint = s.Style.Green
	case engine.ExitWork:
		paint = s.Style.Yellow
	default: // red, as for a failure
	}
	outcome := fmt.Sprintf("exit %d: %s", s.end.Exit, report.EndText(s.end))
	if command == "" {
		return paint(outcome)
	}
	next := "next: " + command
	if time := "00:00:00 "; s.Style.Columns > 0 && ansi.StringWidth(time+outcome+"; "+next) > s.Style.Columns {
		return paint(outcome) + "\n" + next
	}
	return paint(outcome) + "; " + next
}

// mostNamed is the number of incomplete pools that are listed one by one.
const mostNamed = 20

// Completeness returns how many hosts are updated at the end of a run, by pool.
func (s *Summary) Completeness(end event.RunEnd) string {
	if len(end.Pools) == 0 && end.Exit == engine.ExitStopped && s.touched {
		return "pool status was not refreshed; run holdfast status\n"
	}
	if len(end.Pools) == 0 {
		return ""
	}
	open := slices.DeleteFunc(slices.Clone(end.Pools), func(p engine.PoolStatus) bool { return p.Complete })
	if end.Complete {
		total := 0
		for _, pool := range end.Pools {
			total += pool.Total
		}
		return s.Style.Green(fmt.Sprintf("complete: %d of %s", total, termtext.FormatCount(total, "host", "hosts"))) + "\n"
	}
	if len(open) == 0 {
		return s.Style.Yellow("not complete: "+tables.CountUpdated(end.Pools)+"; "+incompleteReason(end)) + "\n"
	}
	var rows [][]string
	for _, pool := range open[:min(mostNamed, len(open))] {
		rows = append(rows, []string{"  " + pool.Name, fmt.Sprintf("%d of %d updated", pool.Counts[engine.Updated], pool.Total), countNotUpdated(pool)})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", s.Style.Yellow("not complete: "+tables.CountUpdated(end.Pools)))
	_ = termtext.WriteTable(&b, rows) // writing to a strings.Builder never fails
	if more := len(open) - len(rows); more > 0 {
		fmt.Fprintf(&b, "  and %s more that are not complete\n", termtext.FormatCount(more, "pool", "pools"))
	}
	if n := len(end.Pools) - len(open); n > 0 {
		fmt.Fprintf(&b, "  %s complete\n", termtext.FormatCount(n, "pool is", "pools are"))
	}
	return b.String()
}

func incompleteReason(end event.RunEnd) string {
	switch v := end.Verdict; {
	case len(v.UnhealthyClusters) > 0:
		return termtext.FormatCount(len(v.UnhealthyClusters), "etcd cluster is", "etcd clusters are") + " not healthy"
	case end.Exit == engine.ExitStopped:
		return "the run was stopped before it had done all"
	case end.Exit == engine.ExitOK:
		return "an etcd cluster that the run is not about is not healthy; holdfast status tells which"
	}
	return "the run did not do all that it was to do"
}

func countNotUpdated(p engine.PoolStatus) string {
	var parts []string
	for _, state := range engine.HostStates() {
		if n := p.Counts[state]; n > 0 && state != engine.Updated {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(parts, ", ")
}

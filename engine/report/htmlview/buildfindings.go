package htmlview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

type failureRow struct {
	Hosts                                                        []string
	Subject, Step, Cause, Became, Hint, At, Command, CommandNote string
	Outputs                                                      []failureOutput
	RolledBackEarlier                                            bool
}

func (v *View) addFailures(p *page, s scale) {
	if v.end != nil {
		v.failures.addVerdict(v.end.Verdict, v.last)
	}
	for _, g := range v.failures.list {
		row := failureRow{
			Hosts: textutil.FoldNames(g.hosts), Subject: g.subject, Step: g.step, Cause: g.cause, Became: g.became, Hint: g.hint,
			At: s.clock(g.at), Outputs: g.outputs, RolledBackEarlier: g.rolledBackEarlier,
		}
		if command := strings.TrimSpace(g.command); strings.Contains(command, "\n") {
			row.CommandNote = fmt.Sprintf("a script of %d lines, in the journal", strings.Count(command, "\n")+1)
		} else {
			row.Command = command
		}
		p.Failures = append(p.Failures, row)
	}
	p.More.Failures = v.failures.more
}

type waitRow struct {
	Step, About, Result, Bad, Times, From, Until, Longest string
	Failed                                                bool
}

func (v *View) listWaits(s scale) []waitRow {
	var open []*wait
	for _, w := range v.waits.open {
		open = append(open, w)
	}
	slices.SortFunc(open, func(a, b *wait) int { return cmp.Or(a.began.Compare(b.began), cmp.Compare(a.step, b.step)) })
	var rows []waitRow
	for _, w := range slices.Concat(v.waits.ended, open) {
		row := waitRow{Step: w.step, About: w.about, Result: cmp.Or(w.result, "not over"), Bad: w.bad, Times: fmt.Sprint(max(w.times, 1)), From: s.clock(w.began), Until: s.clock(w.last), Failed: w.failed}
		if w.longest > 0 {
			row.Longest = termtext.FormatDuration(w.longest)
		}
		rows = append(rows, row)
	}
	return rows
}

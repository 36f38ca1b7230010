package tables

import (
	"fmt"
	"io"
	"time"

	"holdfast/engine"
	"holdfast/engine/journal"
	"holdfast/engine/report"
	"holdfast/engine/report/termtext"
)

// WriteRuns writes a table of runs.
func WriteRuns(w io.Writer, runs []journal.Run) error {
	if len(runs) == 0 {
		_, err := fmt.Fprintln(w, "no runs")
		return err
	}
	rows := [][]string{{"RUN", "SITE", "BY", "STARTED", "TOOK", "EXIT", "UPDATED", "FAILED", "OUTCOME"}}
	for _, r := range runs {
		exit, outcome := "-", "did not end; it was killed"
		if r.UnderWay {
			outcome = "still under way"
		}
		if r.End != nil {
			exit, outcome = fmt.Sprint(int(r.End.Exit)), report.EndText(*r.End)
		}
		if r.Problem != "" {
			outcome = r.Problem
		}
		updated, failed := fmt.Sprint(len(r.Updated)), fmt.Sprint(len(r.Failed))
		if r.Maintenance != "" {
			updated, failed = "-", "-"
		}
		rows = append(rows, []string{
			r.ID, r.Site, r.Holder, r.Started.UTC().Format(timeLayout), termtext.FormatDuration(engine.Duration(r.Last.Sub(r.Started).Round(time.Second))),
			exit, updated, failed, outcome,
		})
	}
	return termtext.WriteLongTable(w, rows)
}

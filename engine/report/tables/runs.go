package tables

import (
	"fmt"
	"io"
	"time"

	"holdfast/engine"
	"holdfast/engine/journal"
	"holdfast/engine/report"
	"holdfast/engine/report/membersview"
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
		exit, updated, failed := "-", fmt.Sprint(len(r.Updated)), fmt.Sprint(len(r.Failed))
		if r.End != nil {
			exit = fmt.Sprint(int(r.End.Exit))
		}
		if r.Maintenance != "" || r.Cluster != "" {
			updated, failed = "-", "-"
		}
		rows = append(rows, []string{
			r.ID, r.Site, r.Holder, r.Started.UTC().Format(timeLayout), termtext.FormatDuration(engine.Duration(r.Last.Sub(r.Started).Round(time.Second))),
			exit, updated, failed, outcomeText(r),
		})
	}
	return termtext.WriteLongTable(w, rows)
}

func outcomeText(r journal.Run) string {
	switch {
	case r.Problem != "":
		return r.Problem
	case r.End != nil && r.Cluster != "":
		return membersview.EndText(r.Cluster, r.End.Verdict)
	case r.End != nil:
		return report.EndText(*r.End)
	case r.UnderWay:
		return "still under way"
	}
	return "did not end; it was killed"
}

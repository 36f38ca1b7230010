package lines

import (
	"fmt"
	"time"

	"holdfast/engine/event"
	"holdfast/engine/report/termtext"
)

// waitLine returns "" for steps of hosts, which have other lines.
func waitLine(e event.Event) string {
	if e.Host != "" || e.Until.IsZero() {
		return ""
	}
	where := e.Cluster
	if where == "" {
		where = e.Pool
	}
	if where != "" {
		where += ": "
	}
	return fmt.Sprintf("  %s%s until %s", where, e.Step, formatTime(e.Until, e.Time))
}

func longStepLine(where string, e event.Event) string {
	line := "  "
	if where != "" {
		line += where + ": "
	}
	line += fmt.Sprintf("%s goes on, %s by now", e.Step, time.Duration(e.Took).Round(time.Second))
	if e.Limit > 0 {
		line += fmt.Sprintf(" of at most %s", e.Limit.Trimmed())
	}
	if e.Message != "" {
		line += ": " + termtext.ShortenText(termtext.ShortHashes(e.Message))
	}
	return line
}

func formatTime(t, now time.Time) string {
	if t.Sub(now) < 24*time.Hour {
		return t.UTC().Format("15:04:05 MST")
	}
	return t.UTC().Format("Mon 2006-01-02 15:04:05 MST")
}

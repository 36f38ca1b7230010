package report

import (
	"fmt"
	"time"

	"holdfast/engine"
)

// waitLine is the line of a step that only waits, when it begins: hosts have
// others that say more.
func waitLine(e engine.Event) string {
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

// longStepLine is the line of a step that takes long: for how long by now, and what it
// waits for.
func longStepLine(where string, e engine.Event) string {
	line := "  "
	if where != "" {
		line += where + ": "
	}
	line += fmt.Sprintf("%s goes on, %s by now", e.Step, time.Duration(e.Took).Round(time.Second))
	if e.Message != "" {
		line += ": " + shortenText(shortHashes(e.Message))
	}
	return line
}

// formatTime is a time as a person reads it now: with the day, where the time alone
// would be taken for another day's.
func formatTime(t, now time.Time) string {
	if t.Sub(now) < 24*time.Hour {
		return t.UTC().Format("15:04:05 MST")
	}
	return t.UTC().Format("Mon 2006-01-02 15:04:05 MST")
}

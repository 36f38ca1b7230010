package report

import (
	"fmt"
	"strings"
	"time"

	"holdfast/engine"
)

// untilOf is when a step ends that only waits, which its start says: "until "
// and a time, as in RFC 3339, or of the same or the next day in UTC. It is zero
// for other steps.
func untilOf(e engine.Event) time.Time {
	text, ok := strings.CutPrefix(e.Message, "until ")
	if !ok {
		return time.Time{}
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t
	}
	clock, err := time.Parse("15:04:05 UTC", text)
	if err != nil {
		return time.Time{}
	}
	day := e.Time.UTC().Truncate(24 * time.Hour)
	t := day.Add(time.Duration(clock.Hour())*time.Hour + time.Duration(clock.Minute())*time.Minute + time.Duration(clock.Second())*time.Second)
	if t.Before(e.Time.Truncate(time.Second)) {
		t = t.AddDate(0, 0, 1)
	}
	return t
}

// waits is the line of a step that only waits, when it begins: hosts have
// others that say more.
func waits(e engine.Event) string {
	if e.Host != "" || untilOf(e).IsZero() {
		return ""
	}
	where := e.Cluster
	if where == "" {
		where = e.Pool
	}
	if where != "" {
		where += ": "
	}
	return fmt.Sprintf("  %s%s %s", where, e.Step, e.Message)
}

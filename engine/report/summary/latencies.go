package summary

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/termtext"
)

// writeLatencies writes two rows for each member, or only the slowest members if there are many.
func writeLatencies(b *strings.Builder, columns int, members []event.MemberLatency) {
	switch {
	case len(members) == 0:
		return
	case len(members) > MaxHostRows:
		writeSlowest(b, members)
		return
	}
	rows := [][]string{{"  ETCD", "P99 OF", "IDLE", "STAGING", "AT WORST"}}
	for _, m := range members {
		rows = append(rows,
			[]string{"  " + m.Host, "WAL fsync", WALText(m.Idle), WALText(m.Staging), withTime(WALText(m.Worst), m.WorstAt)},
			[]string{"", "backend commit", CommitText(m.Idle), CommitText(m.Staging), CommitText(m.Worst)})
	}
	_ = termtext.WriteTable(termtext.Sized(b, columns), dropUnknown(rows)) // writing to a strings.Builder never fails
}

func dropUnknown(rows [][]string) [][]string {
	for column := len(rows[0]) - 2; column > 1; column-- {
		if slices.ContainsFunc(rows[1:], func(r []string) bool { return r[column] != "-" }) {
			continue
		}
		for i := range rows {
			rows[i] = slices.Delete(rows[i], column, column+1)
		}
	}
	return rows
}

func writeSlowest(b *strings.Builder, members []event.MemberLatency) {
	for _, metric := range []struct {
		name string
		of   func(*engine.LatencyPoint) float64
		text func(*engine.LatencyPoint) string
	}{
		{"WAL fsync", func(p *engine.LatencyPoint) float64 { return p.WALFsyncP99Seconds }, WALText},
		{"backend commit", func(p *engine.LatencyPoint) float64 { return p.BackendCommitP99Seconds }, CommitText},
	} {
		slowest := slices.MaxFunc(members, func(x, y event.MemberLatency) int {
			switch a, b := metric.of(x.Worst), metric.of(y.Worst); {
			case a < b:
				return -1
			case a > b:
				return 1
			}
			return 0
		})
		fmt.Fprintf(b, "  etcd p99 of %s: at worst %s on %s, of %d members\n", metric.name, metric.text(slowest.Worst), slowest.Host, len(members))
	}
}

// WALText formats the p99 of WAL fsync of a window, or returns "-".
func WALText(p *engine.LatencyPoint) string {
	if p == nil {
		return "-"
	}
	return latencyText(p.WALFsyncP99Seconds, p.WALFsyncBucket, p.Window)
}

// CommitText formats the p99 of backend commit of a window, or returns "-".
func CommitText(p *engine.LatencyPoint) string {
	if p == nil {
		return "-"
	}
	return latencyText(p.BackendCommitP99Seconds, p.BackendCommitBucket, p.Window)
}

// latencyText returns a text such as "6.1 ms in 10 s". A latency in the last bucket is a lower bound.
func latencyText(seconds float64, bucket *engine.LatencyBucket, window engine.Duration) string {
	if seconds == 0 {
		return "-"
	}
	text := termtext.FormatLatency(seconds)
	if bucket != nil && bucket.HighSeconds == 0 {
		text = "> " + text
	}
	if window > 0 {
		text += " in " + termtext.FormatDuration(engine.Duration(time.Duration(window).Round(time.Second)))
	}
	return text
}

func withTime(text string, at time.Time) string {
	if text == "-" || at.IsZero() {
		return text
	}
	return text + ", " + at.UTC().Format("15:04:05 MST")
}

package summary

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/termtext"
	"holdfast/engine/report/voters"
	"holdfast/engine/textutil"
)

// EtcdTotals has the figures of one etcd cluster over a run.
type EtcdTotals struct {
	event.ClusterTotals

	Voters    int      // voters at the moment with the fewest healthy ones
	Least     int      // lowest number of healthy voters
	Quorum    int      // voters that must be healthy at that moment
	TakenDown []string // hosts whose member the run took down
	Unseen    []string // hosts whose member ran on during a reboot, while no sample could reach it
	Silence   voters.Silence
}

// Etcd returns the figures of the etcd clusters that were sampled.
func (s *Summary) Etcd() map[string]EtcdTotals {
	sampled := map[string]event.ClusterTotals{}
	for _, c := range s.end.Clusters {
		sampled[c.Cluster] = c
	}
	all := map[string]EtcdTotals{}
	for name, c := range s.clusters {
		t := EtcdTotals{ClusterTotals: sampled[name], Voters: c.voters, Least: c.least, Quorum: c.quorum}
		t.Cluster = name
		if t.Samples+t.Unanswered == 0 { // the run disrupts no member
			continue
		}
		if w := s.etcd[name]; w != nil {
			t.TakenDown, t.Unseen, t.Silence = w.TakenDown, w.Unseen, w.Silence
		}
		all[name] = t
	}
	return all
}

func (s *Summary) writeEtcdLines(b *strings.Builder) {
	totals := s.Etcd()
	for _, name := range slices.Sorted(maps.Keys(s.clusters)) {
		b.WriteString(s.clusters[name].governed.Format(name))
		t, sampled := totals[name]
		if !sampled {
			continue
		}
		if t.Samples == 0 {
			fmt.Fprintf(b, "  etcd %s: its health is not known: %s, none answered\n", name, termtext.FormatCount(t.Unanswered, "sample", "samples"))
			continue
		}
		fmt.Fprintf(b, "  etcd %s: %d of %d voters healthy at the least%s (quorum %d, %s%s", name, t.Least, t.Voters, t.WhileAnswered(), t.Quorum,
			termtext.FormatCount(t.Samples, "sample", "samples"), t.UnansweredText(func(at time.Time) string { return at.UTC().Format(time.TimeOnly) }, " UTC"))
		if len(t.TakenDown) > 0 {
			fmt.Fprintf(b, "; taken down: %s", strings.Join(textutil.FoldNames(t.TakenDown), ", "))
		}
		if len(t.Unseen) > 0 {
			fmt.Fprintf(b, "; not seen during a soft reboot: %s", strings.Join(textutil.FoldNames(t.Unseen), ", "))
		}
		b.WriteString(")\n")
	}
}

// WhileAnswered limits a figure to the times that are known.
func (t EtcdTotals) WhileAnswered() string {
	if t.Silence.Samples == 0 {
		return ""
	}
	return " while a member answered"
}

// UnansweredText returns the number of samples that no member answered, with their times unless the run had taken down all
// members, or "".
func (t EtcdTotals) UnansweredText(format func(time.Time) string, zone string) string {
	text := ""
	if t.Unanswered > 0 {
		text = fmt.Sprintf(", %d more unanswered", t.Unanswered)
	}
	if n := t.Silence.Samples; n > 0 {
		if n < t.Unanswered {
			text += fmt.Sprintf(", %d of them", n)
		}
		text += " " + t.Silence.FormatSpan(format) + zone
	}
	return text
}

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

package summary

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

// MaxHostRows is the number of hosts that have a row each. More hosts are
// folded.
const MaxHostRows = 12

// Format formats the summary of a run that has ended, for people. It returns "" if the run touched no host.
func (s *Summary) Format() string {
	touched := s.listTouched()
	if len(touched) == 0 {
		return ""
	}
	var b strings.Builder
	if len(touched) <= MaxHostRows {
		writeHostRows(termtext.Sized(&b, s.Columns), touched)
	} else {
		writeFoldedRows(termtext.Sized(&b, s.Columns), touched)
		writeExtremes(&b, touched)
	}
	writeFallbacks(&b, touched)
	s.writeEtcdLines(&b)
	writeLatencies(&b, s.Columns, s.end.Latency)
	s.writeTotals(&b, touched)
	return b.String()
}

func writeHostRows(b io.Writer, hosts []touchedHost) {
	rows := [][]string{{"  HOST", "FETCHED", "STAGED IN", "DOWN FOR", "HELD FOR", "OUTCOME", "CHANGES"}}
	for _, h := range hosts {
		away, held := durationOrDash(h.Down), durationOrDash(h.heldFor)
		if h.NotBack {
			away = "not back"
		}
		if h.stillHeld() {
			held = "still held"
		}
		fetched := "-"
		if h.FetchedBytes > 0 {
			fetched = termtext.FormatBytes(h.FetchedBytes)
		}
		rows = append(rows, []string{"  " + h.name, fetched, durationOrDash(h.staged), away, held, h.outcomeText(), h.workText()})
	}
	_ = termtext.WriteLongTable(b, dropEmptyColumns(rows)) // writing to a strings.Builder never fails
}

func dropEmptyColumns(rows [][]string) [][]string {
	var out [][]string
	for range rows {
		out = append(out, nil)
	}
	for col := range rows[0] {
		if !slices.ContainsFunc(rows[1:], func(r []string) bool { return r[col] != "-" }) {
			continue
		}
		for i, r := range rows {
			out[i] = append(out[i], r[col])
		}
	}
	return out
}

func writeFoldedRows(b io.Writer, hosts []touchedHost) {
	type key struct{ result, held, did string }
	var groups textutil.Groups[key, string]
	for _, h := range hosts {
		k := key{result: h.outcomeText(), did: h.workText()}
		if h.stillHeld() {
			k.held = ", still held"
		}
		groups.Add(k, h.name)
	}
	order := groups.Keys()
	slices.SortStableFunc(order, func(x, y key) int { return cmp.Compare(len(groups.Of(x)), len(groups.Of(y))) })
	rows := [][]string{{"  HOSTS", "OUTCOME", "CHANGES"}}
	for _, k := range order {
		rows = append(rows, []string{"  " + termtext.FoldHosts(groups.Of(k)), k.result + k.held, k.did})
	}
	_ = termtext.WriteLongTable(b, rows) // writing to a strings.Builder never fails
}

func writeExtremes(b *strings.Builder, hosts []touchedHost) {
	for _, column := range []struct {
		name string
		of   func(touchedHost) engine.Duration
	}{
		{"staged in", func(h touchedHost) engine.Duration { return h.staged }},
		{"down for", func(h touchedHost) engine.Duration { return h.Down }},
		{"held for", func(h touchedHost) engine.Duration { return h.heldFor }},
	} {
		with := slices.DeleteFunc(slices.Clone(hosts), func(h touchedHost) bool { return column.of(h) <= 0 })
		if len(with) == 0 {
			continue
		}
		slices.SortStableFunc(with, func(x, y touchedHost) int { return cmp.Compare(column.of(x), column.of(y)) })
		slowest := with[len(with)-1]
		fmt.Fprintf(b, "  %s: %s, median %s, longest %s (%s)\n", column.name, termtext.FormatCount(len(with), "host", "hosts"),
			termtext.FormatDuration(column.of(with[(len(with)-1)/2])), termtext.FormatDuration(column.of(slowest)), slowest.name)
	}
}

func writeFallbacks(b *strings.Builder, hosts []touchedHost) {
	var groups textutil.Groups[string, string]
	for _, h := range hosts {
		if f := h.failedAction; f != nil {
			groups.Add(f.Step+": "+shortCause(*f), h.name)
		}
	}
	for cause, names := range groups.All() {
		fmt.Fprintf(b, "  an action failed, so a reboot was due: %s: %s\n", termtext.FoldHosts(names), cause)
	}
}

func (s *Summary) writeEtcdLines(b *strings.Builder) {
	sampledClusters := map[string]event.ClusterTotals{}
	for _, c := range s.end.Clusters {
		sampledClusters[c.Cluster] = c
	}
	for _, name := range slices.Sorted(maps.Keys(s.clusters)) {
		c := s.clusters[name]
		b.WriteString(c.governed.Format(name))
		sampled := sampledClusters[name]
		if sampled.Samples+sampled.Unanswered == 0 { // the run disrupts no member
			continue
		}
		if sampled.Samples == 0 {
			fmt.Fprintf(b, "  etcd %s: its health is not known: %s, none answered\n", name, termtext.FormatCount(sampled.Unanswered, "sample", "samples"))
			continue
		}
		fmt.Fprintf(b, "  etcd %s: %d of %d voters healthy at the least (quorum %d, %s", name, c.least, c.voters, c.quorum, termtext.FormatCount(sampled.Samples, "sample", "samples"))
		if sampled.Unanswered > 0 {
			fmt.Fprintf(b, ", %d more unanswered", sampled.Unanswered)
		}
		if w := s.etcd[name]; w != nil && len(w.TakenDown) > 0 {
			fmt.Fprintf(b, "; taken down: %s", strings.Join(textutil.FoldNames(w.TakenDown), ", "))
		}
		if w := s.etcd[name]; w != nil && len(w.Unseen) > 0 {
			fmt.Fprintf(b, "; not seen during a soft reboot: %s", strings.Join(textutil.FoldNames(w.Unseen), ", "))
		}
		b.WriteString(")\n")
	}
}

func (s *Summary) writeTotals(b *strings.Builder, touched []touchedHost) {
	t := s.sumTotals(touched)
	if t.Fetching > 0 {
		fmt.Fprintf(b, "  from the bastion: %s to %s%s\n", termtext.FormatBytes(t.Fetched), termtext.FormatCount(t.Fetching, "host", "hosts"), termtext.FormatAgain(t.FetchedAgain))
	}
	b.WriteString("  in all: " + t.String() + "\n")
}

// String returns the totals in a line: "2 hosts touched, 1 updated, 1 still held, in 11m0s".
func (t Totals) String() string {
	text := fmt.Sprintf("%s touched, %d updated", termtext.FormatCount(t.Touched, "host", "hosts"), t.Updated)
	if t.NonDisruptive > 0 {
		text += fmt.Sprintf(" (%d without disruption)", t.NonDisruptive)
	}
	if t.Held > 0 {
		text += fmt.Sprintf(", %d still held", t.Held)
	}
	return text + ", in " + termtext.FormatDuration(t.Took)
}

func durationOrDash(d engine.Duration) string {
	if d <= 0 {
		return "-"
	}
	return termtext.FormatDuration(d)
}
